import { Rows } from '../../store/rows.ts';
import { isAlive, type ProcessIdentity } from '../process-identity.ts';
import type { SessionOwner } from './agent-sessions.ts';

/** A process of an agent CLI that is kept between the turns of a session. */
export interface KeptProcess extends SessionOwner {
  /** The id of the session, a ULID; its directory has its name. */
  id: string;
  /** The CLI. */
  agent: string;
  tier: string;
  /** The leader of its process group. */
  process: ProcessIdentity;
  /** When it was started, ISO 8601 UTC. */
  since: string;
  /** When its last turn ended, or it was started. */
  used: string;
  /** How many turns it has had. */
  turns: number;
  /** How full its context is, in tokens, if it says that. */
  context?: { used: number; size: number };
}

/**
 * The processes that a dispatcher keeps, those that have ended included (warm.md).
 *
 * Crash order: a process is on record before it may begin; the record is removed once the process has ended. So
 * whatever a dispatcher that died has kept is found by the next start, which ends it.
 */
export class KeptProcesses extends Rows<KeptProcess> {
  /** @param root the state directory */
  constructor(root: string) {
    super(root, 'kept-process');
  }

  /** Those that are alive. */
  async alive(): Promise<KeptProcess[]> {
    const found = await this.all();
    const live = await Promise.all(found.map(({ process }) => isAlive(process)));
    return found.filter((_, at) => live[at]);
  }
}
