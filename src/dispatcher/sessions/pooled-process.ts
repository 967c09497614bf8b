import type { AcpWay } from '../../agents/sessions/warm-of.ts';
import type { RunningCli } from '../../runner/runner.ts';
import type { ProcessIdentity } from '../../state/process-identity.ts';

/** Agent process at work, with the function that ends it and everything that was made for it. */
export interface AgentProcess {
  cli: RunningCli;
  /** Ends the process and everything that belongs to it. */
  close: () => Promise<void>;
}

/** Place of a CLI in a session whose process is pooled. */
export interface PooledProcess {
  /** The id of the session, a ULID: its directory and its variables name it. */
  id: string;
  /** Way to start the process. */
  way: AcpWay;
  /** The process at work; absent in its first turn. */
  seat?: AgentProcess;
  /**
   * Takes over a process that has not started: from then on the session ends it. The process is on record when this
   * returns.
   */
  take: (seat: AgentProcess, process: ProcessIdentity) => Promise<void>;
}
