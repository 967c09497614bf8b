import { appendFile, readFile, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../errors.ts';
import { ROOM_OF_RUN } from './place/below.ts';
import { makeFolder } from '../folder.ts';
import type { MessageRef } from '../protocol/layout.ts';
import { formatMessage, parseMessage, type Located } from '../protocol/message.ts';
import type { CountedFor } from '../protocol/automation/fields.ts';
import type { SessionKind } from '../protocol/files/tier-options.ts';
import type { Steered } from '../protocol/talk.ts';
import type { Handed, Usage } from '../protocol/usage.ts';
import { Rows } from '../store/rows.ts';
import { identify, isAlive, type ProcessIdentity } from './process-identity.ts';
import { statePaths } from './state-paths.ts';

/** A running CLI, recorded so that a dispatcher that starts after a crash can end its remains. */
export interface RunRecord extends CountedFor {
  /** The dispatch id, a ULID. */
  id: string;
  actor: string;
  /** The host's alias; absent in records of 6.0. */
  host?: string;
  channel: string;
  messages: string[];
  /** The commit at which the messages were read; absent in records of earlier versions. */
  tip?: string;
  /** The folder in which it works; absent in records of 6.0. */
  workdir?: string;
  /** The tier, for its line in the ledger; absent in records of earlier versions. */
  tier?: string;
  /** The known agent CLI whose output is read for its usage. */
  agent?: string;
  /** The first message of the thread. */
  thread?: MessageRef;
  /** Time of its start, ISO 8601 UTC. */
  since?: string;
  /** Whether it continues a session; absent when its tier keeps none. */
  session?: SessionKind;
  /** Earlier usage of its session, if its CLI reports only the total. */
  before?: Usage;
  /** The session whose directory it uses, when its process is kept. */
  desk?: string;
  /** Those of its messages that it received while it was running. */
  steered?: Steered[];
  /** The amount reserved for it; absent when no budget was in force. */
  handed?: Handed;
  /** The leader of the CLI's process group. */
  process: ProcessIdentity;
}

const RUN_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

/** The runs of one machine, and the messages that each has sent so far. */
export class Runs {
  readonly #folder: string;
  readonly #records: Rows<RunRecord>;

  /** @param root the state directory; a folder of it holds the output and the sent messages of runs */
  constructor(root: string) {
    this.#folder = statePaths(root).runs;
    this.#records = new Rows(root, 'run');
  }

  /**
   * Records a run before its CLI starts working.
   *
   * @param pid the pid of the leader of its process group
   * @returns that process
   * @throws Error when the disk has no room for the CLI's output, which would be paid for in vain
   */
  async begin(run: Omit<RunRecord, 'process'>, pid: number): Promise<ProcessIdentity> {
    await makeFolder(this.#folder, 0o700);
    const { bavail, bsize } = await statfs(this.#folder);
    if (bavail * bsize < ROOM_OF_RUN) {
      throw new Error(`ENOSPC: less than 8 MiB is free at ${this.#folder}; make room`);
    }
    const process = await identify(pid);
    await this.#records.put({ ...run, process });
    return process;
  }

  /**
   * Updates the messages of a run, and those that it received while it was running; does nothing for a
   * run without a record.
   */
  async note(
    { id, messages, tip }: Pick<RunRecord, 'id' | 'messages'> & { tip: string },
    steered: readonly Steered[],
  ): Promise<void> {
    const more = steered.length > 0 && { steered: [...steered] };
    await this.#records.write((items) => {
      const run = items.get(id);
      if (run !== undefined) items.put({ ...run, messages: [...messages], tip, ...more });
    });
  }

  async end(id: string): Promise<void> {
    await this.#records.remove(id);
    await rm(this.#sentPath(id), { force: true });
    await rm(this.outputPath(id), { force: true });
  }

  /** Returns the run whose directory has this name; see {@link runDirectory}. */
  async ofDirectory(name: string): Promise<RunRecord | undefined> {
    const runs = await this.#records.all();
    return runs.find(({ id }) => id.endsWith(name)) ?? runs.find((run) => run.desk?.endsWith(name));
  }

  /** Whether a run is on record: it is running, or its dispatcher died. */
  has(id: string): Promise<boolean> {
    return this.#records.has(id);
  }

  /** Lists the runs that a dead dispatcher left behind, and whether their process still runs. */
  async leftovers(): Promise<(RunRecord & { alive: boolean })[]> {
    const runs = await this.#records.all();
    return Promise.all(runs.map(async (run) => ({ ...run, alive: await isAlive(run.process) })));
  }

  /** Records a message that was written during a run; called by `send` before it is published. */
  async noteSent(id: string, channel: string, { relPath, message }: Located): Promise<void> {
    if (!RUN_ID.test(id)) return;
    await makeFolder(this.#folder, 0o700);
    const header = formatMessage({ ...message, body: '' });
    const line = JSON.stringify({ channel, relPath, header });
    await appendFile(this.#sentPath(id), `${line}\n`, { mode: 0o600 });
  }

  /** Returns the messages sent during a run, without text, with the ids of their channels. */
  async sent(id: string): Promise<[channel: string, located: Located][]> {
    try {
      const text = await readFile(this.#sentPath(id), 'utf8');
      return [...new Set(text.split('\n'))].flatMap(sentIn);
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    }
  }

  /** Returns the file with the raw output of a run, which is kept until its outcome is on record. */
  outputPath(id: string): string {
    return join(this.#folder, `${id}.out`);
  }

  #sentPath(id: string): string {
    return join(this.#folder, `${id}.sent`);
  }
}

/** Parses a line; skips one that a power failure left incomplete. */
function sentIn(line: string): [channel: string, located: Located][] {
  try {
    const { channel, relPath, header } = JSON.parse(line) as Record<string, unknown>;
    const message = parseMessage(Buffer.from(String(header)));
    if (!message.ok || typeof channel !== 'string' || typeof relPath !== 'string') return [];
    return [[channel, { relPath, message: message.value }]];
  } catch {
    return [];
  }
}
