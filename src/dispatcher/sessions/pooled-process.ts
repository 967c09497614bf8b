import type { AcpWay } from '../../agents/sessions/warm-of.ts';
import type { RunningCli } from '../../runner/runner.ts';
import type { ProcessIdentity } from '../../state/process-identity.ts';

/** Where a CLI is at work: its process, and what ends it with everything that was made for it. */
export interface AgentProcess {
  cli: RunningCli;
  /** Ends the process and whatever belongs to it. */
  close: () => Promise<void>;
}

/** The place of a CLI in a session whose process is kept. */
export interface PooledProcess {
  /** The id of the session, a ULID: its directory and its variables name it. */
  id: string;
  /** How the process is begun. */
  way: AcpWay;
  /** Where it is at work; absent in its first turn. */
  seat?: AgentProcess;
  /**
   * Takes a seat over, whose process has not begun: from then on it is ended by whoever ends the session. The
   * process is on record when this returns.
   */
  take: (seat: AgentProcess, process: ProcessIdentity) => Promise<void>;
}
