import { createHash } from 'node:crypto';
import type { Usage } from '../../protocol/usage.ts';
import { Rows } from '../../store/rows.ts';

/** For whom a session is: no two actors and no two threads ever share one. */
export interface SessionOwner {
  actor: string;
  /** The id of the channel of the thread's first message. */
  channel: string;
  /** The relPath of that message. */
  root: string;
}

/** A session of an agent CLI, which the next run of an actor in a thread can go on with. */
export interface AgentSession extends SessionOwner {
  /** By which CLI, and the id that it has there. */
  agent: string;
  session: string;
  tier: string;
  /** A digest of what a run depends on; another one ends the session. */
  made: string;
  /** How many runs it has had. */
  turns: number;
  /** The messages that it was shown or has written, each as `<channel id>/<relPath>`. */
  known: string[];
  /** The last message that it was given, as one of these. */
  last: string;
  /** Digests of what else it was told, by what that is. */
  told: Record<string, string>;
  /** What all of its runs used, if its CLI states only that. */
  total?: Usage;
  /** How full its context is, in tokens, if it says that. */
  context?: { used: number; size: number };
  /** When its last run ended, ISO 8601 UTC. */
  used: string;
  /** The run that is under way in it, or in which a dispatcher died: what it knows by now is not known. */
  under?: string;
}

type Stored = AgentSession & { id: string };

/**
 * The sessions of agent CLIs (warm.md). Their ids come from here alone. A session
 * is one run's at a time.
 *
 * Crash order: before a run goes on with a session, the record says so (`under`); once the outcome of the run
 * is on disk, the record says what the session knows now. A record that still names a run is that of a
 * dispatcher that died meanwhile, and its session is never gone on with.
 */
export class AgentSessions {
  readonly #records: Rows<Stored>;
  readonly #busy = new Set<string>();

  /** @param root the state directory */
  constructor(root: string) {
    this.#records = new Rows(root, 'agent-session');
  }

  /** Takes the place of an owner until {@link leave}; false while a run of it is under way. */
  claim(owner: SessionOwner): boolean {
    const id = idOf(owner);
    if (this.#busy.has(id)) return false;
    this.#busy.add(id);
    return true;
  }

  leave(owner: SessionOwner): void {
    this.#busy.delete(idOf(owner));
  }

  /** The session of an owner, if there is one that can be gone on with. */
  async of(owner: SessionOwner): Promise<AgentSession | undefined> {
    const found = await this.#records.get(idOf(owner));
    if (found === undefined || found.under !== undefined) return undefined;
    const { actor, channel, root } = found;
    const isIts = actor === owner.actor && channel === owner.channel && root === owner.root;
    return isIts ? found : undefined;
  }

  /** Writes down a session as it is now. */
  async put(session: AgentSession): Promise<void> {
    await this.#records.put({ ...session, id: idOf(session) });
  }

  /** Ends the session of an owner. */
  async end(owner: SessionOwner): Promise<void> {
    await this.#records.remove(idOf(owner));
  }

  /** All sessions that can be gone on with. */
  async all(): Promise<AgentSession[]> {
    return (await this.#records.all()).filter(({ under }) => under === undefined);
  }

  /** Ends the sessions that no run has gone on with since a time. */
  async sweep(edge: Date): Promise<void> {
    for (const found of await this.#records.all()) {
      const isOld = Date.parse(found.used) < edge.getTime();
      if (isOld && !this.#busy.has(found.id)) await this.#records.remove(found.id);
    }
  }
}

function idOf({ actor, channel, root }: SessionOwner): string {
  return createHash('sha256').update([actor, channel, root].join('\0')).digest('hex').slice(0, 40);
}
