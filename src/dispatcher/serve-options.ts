export interface ServeOptions {
  socket: string;
  heartbeat: string;
  version: string;
  /** Milliseconds between polls while nothing happens; undefined to find them out. */
  interval: number | undefined;
  /** Returns the dispatchers of this user on this machine. */
  serving: () => Promise<number>;
  /** Milliseconds that runs are given to finish when the dispatcher stops. */
  grace: number;
  once: boolean;
  /** Carries out a `send` that a command passed on; undefined when it is not for this transport. */
  send: (request: unknown) => Promise<unknown>;
  /** Throws where this dispatcher may no longer be the only one. */
  checkPlace: () => void;
  /** Whether another process has changed the database since this was asked last. */
  isChanged: () => Promise<boolean>;
  /** Stops the dispatcher cleanly. */
  stop: AbortSignal;
  /** Ends the remaining work without waiting. */
  hurry: AbortSignal;
  /** Returns the version that this dispatcher should be replaced by, if there is one. */
  successor?: () => Promise<string | undefined>;
}

/**
 * Result of a dispatcher: `problem` is what kept a `--once` pass from doing its work; `successor` is the version that
 * it ended for.
 */
export interface ServeResult {
  problem?: string;
  successor?: string;
}
