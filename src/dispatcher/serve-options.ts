export interface ServeOptions {
  /** The state directory, and in it the socket and the heartbeat. */
  root: string;
  socket: string;
  heartbeat: string;
  version: string;
  /** Milliseconds between polls when nothing happens. */
  interval: number;
  /** Milliseconds that runs get to finish on stopping. */
  grace: number;
  once: boolean;
  now: () => Date;
  /** From 0 to 1. */
  random: () => number;
  /** Does a `send` that a command handed over; undefined when it is not for this transport. */
  send: (request: unknown) => Promise<unknown>;
  /** Stops cleanly. */
  stop: AbortSignal;
  /** Ends what is left without waiting. */
  hurry: AbortSignal;
  /** The version this dispatcher is to make room for, if there is one. */
  successor?: () => Promise<string | undefined>;
}

/**
 * How a dispatcher ended: `problem` is what kept a `--once` pass from doing its work; `successor` the
 * version it made room for.
 */
export interface ServeResult {
  problem?: string;
  successor?: string;
}
