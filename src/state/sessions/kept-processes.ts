import { Rows } from '../../store/rows.ts';
import { isAlive, type ProcessIdentity } from '../process-identity.ts';
import type { SessionOwner } from './agent-sessions.ts';

/** A process of an agent CLI that is kept between the turns of a session. */
export interface KeptProcess extends SessionOwner {
  /** The id of the session, a ULID, after which its directory is named. */
  id: string;
  /** The CLI. */
  agent: string;
  tier: string;
  /** The leader of its process group. */
  process: ProcessIdentity;
  /** Time of its start, ISO 8601 UTC. */
  since: string;
  /** End of its last turn, or its start. */
  used: string;
  /** Number of its turns. */
  turns: number;
  /** Use of its context, in tokens, if it reports that. */
  context?: { used: number; size: number };
}

/**
 * The processes that a dispatcher keeps, those that have ended included (warm.md).
 *
 * Crash order: a process is on record before it may start working; the record is removed once the process
 * has ended. So the next start finds all processes that a dead dispatcher has kept, and ends them.
 */
export class KeptProcesses extends Rows<KeptProcess> {
  /** @param root the state directory */
  constructor(root: string) {
    super(root, 'kept-process');
  }

  /** Lists the processes that are alive. */
  async alive(): Promise<KeptProcess[]> {
    const found = await this.all();
    const live = await Promise.all(found.map(({ process }) => isAlive(process)));
    return found.filter((_, at) => live[at]);
  }
}
