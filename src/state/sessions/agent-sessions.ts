import { createHash } from 'node:crypto';
import type { Usage } from '../../protocol/usage.ts';
import { Rows } from '../../store/rows.ts';
import { isAlive, type ProcessIdentity } from '../process-identity.ts';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { bury, clearGraveyard } from '../removal.ts';
import { GONE, stageBatch, makeRunDirectory, runDirectory, SEALED } from '../run-directory.ts';
import { makeFolder } from '../../folder.ts';

/** The owner of a session: no two actors and no two threads ever share one. */
export interface SessionOwner {
  actor: string;
  /** The id of the channel of the thread's first message. */
  channel: string;
  /** The relPath of that message. */
  root: string;
}

/** A session of an agent CLI, which the next run of an actor in a thread can continue. */
export interface AgentSession extends SessionOwner {
  /** The CLI, and the id of the session there. */
  agent: string;
  session: string;
  tier: string;
  /** A digest of everything that a run depends on; a different one ends the session. */
  made: string;
  /** Number of its runs. */
  turns: number;
  /** The messages that it was shown or has written, each as `<channel id>/<relPath>`. */
  known: string[];
  /** The last message that it received, as one of these. */
  last: string;
  /** Digests of its other inputs, by their kind. */
  told: Record<string, string>;
  /** Total usage of its runs, if its CLI reports only that. */
  total?: Usage;
  /** Use of its context, in tokens, if it reports that. */
  context?: { used: number; size: number };
  /** End of its last run, ISO 8601 UTC. */
  used: string;
  /**
   * The run that is active in it, or during which a dispatcher died: the present knowledge of the session
   * is unknown then.
   */
  under?: string;
}

type Stored = AgentSession & { id: string };

/**
 * The sessions of agent CLIs (warm.md). Their ids come only from here. A session belongs to one run at a
 * time.
 *
 * Crash order: before a run continues a session, the record names the run (`under`); once the outcome of
 * the run is on disk, the record lists what the session knows now. A record that still names a run
 * belongs to a dispatcher that died in between, and its session is never continued.
 */
export class AgentSessions {
  readonly #records: Rows<Stored>;
  readonly #busy = new Set<string>();

  /** @param root the state directory */
  constructor(root: string) {
    this.#records = new Rows(root, 'agent-session');
  }

  /** Claims an owner's session until {@link leave}; false while a run of it is active. */
  claim(owner: SessionOwner): boolean {
    const id = idOf(owner);
    if (this.#busy.has(id)) return false;
    this.#busy.add(id);
    return true;
  }

  leave(owner: SessionOwner): void {
    this.#busy.delete(idOf(owner));
  }

  /** Returns the session of an owner, if there is one that can be continued. */
  async of(owner: SessionOwner): Promise<AgentSession | undefined> {
    const found = await this.#records.get(idOf(owner));
    if (found === undefined || found.under !== undefined) return undefined;
    const { actor, channel, root } = found;
    const isIts = actor === owner.actor && channel === owner.channel && root === owner.root;
    return isIts ? found : undefined;
  }

  /** Stores the present state of a session. */
  async put(session: AgentSession): Promise<void> {
    await this.#records.put({ ...session, id: idOf(session) });
  }

  /** Ends the session of an owner. */
  async end(owner: SessionOwner): Promise<void> {
    await this.#records.remove(idOf(owner));
  }

  /** Lists all sessions that can be continued. */
  async all(): Promise<AgentSession[]> {
    return (await this.#records.all()).filter(({ under }) => under === undefined);
  }

  /** Ends the sessions that no run has continued since a time. */
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

/** Names that stay in the directory of a session between its turns: its network socket, and its MCP servers. */
const STAYS = /^(?:n|mcp-.*\.sh)$/;

/**
 * Prepares the directory of a session for a turn, like that of a run; the first turn creates it.
 *
 * @param isOpen whether it exists
 */
export async function makeTurnDirectory(
  folder: string,
  { id, isOpen }: { id: string; isOpen: boolean },
  batch: readonly { name: string; content: string }[],
): Promise<string> {
  if (!isOpen) return makeRunDirectory(folder, id, batch);
  const dir = runDirectory(folder, id);
  await clearSessionDirectory(dir);
  await moveWhole(dir, ['drop', 'batch'], (making) => stageBatch(making, batch));
  return dir;
}

/**
 * Clears the directory of a session after a turn: everything that the turn has put there is removed. The
 * folder itself stays the same one, as a sandbox would not see another.
 */
export async function clearSessionDirectory(dir: string): Promise<void> {
  const gone = `${dir}${GONE}`;
  for (const name of await readdir(dir)) if (!STAYS.test(name)) await bury(join(dir, name), gone);
  await clearGraveyard(`${dir}${SEALED}`);
  await clearGraveyard(gone);
}

/** Suffix of the folder in which folders are made that are moved to a run's directory. */
const MAKING = '.making';

/**
 * Makes folders out of the reach of runs, and moves them as a whole into the directory of a run or
 * session. The process of a session is alive by then: if we wrote there by paths, it could put a symlink
 * in the place of a folder, and so have files written that its sandbox does not let it write. A move
 * follows no symlink.
 *
 * @param names the folders that `make` creates in the folder that it receives
 * @throws the system's error, `ENOTEMPTY` or `ENOTDIR` when something is there already
 */
export async function moveWhole(
  dir: string,
  names: readonly string[],
  make: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = `${dir}${MAKING}`;
  try {
    await makeFolder(folder, 0o700);
    await make(folder);
    for (const name of names) await rename(join(folder, name), join(dir, name));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
