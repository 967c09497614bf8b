import { appendFile, readFile, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../errors.ts';
import { ROOM_OF_RUN } from './place/room.ts';
import { makeFolder } from '../folder.ts';
import type { MessageRef } from '../protocol/message-ref.ts';
import { formatMessage, parseMessage, type Located } from '../protocol/message.ts';
import type { CountedFor } from '../protocol/automation/counted-for.ts';
import type { SessionKind } from '../protocol/files/tier-session.ts';
import type { Steered } from '../protocol/talk.ts';
import type { Handed, Usage } from '../protocol/usage.ts';
import { Rows } from '../store/rows.ts';
import { identify, isAlive, type ProcessIdentity } from './process-identity.ts';
import { statePaths } from './state-paths.ts';

/** A CLI run under way, so that a dispatcher that starts after a crash can end what is left of it. */
export interface RunRecord extends CountedFor {
  /** The dispatch id, a ULID. */
  id: string;
  actor: string;
  /** The host's alias; absent in what 6.0 has written. */
  host?: string;
  channel: string;
  messages: string[];
  /** The commit the messages were read at; absent in what earlier versions have written. */
  tip?: string;
  /** The folder in which it works; absent in what 6.0 has written. */
  workdir?: string;
  /** What its line in the ledger needs; absent in what earlier versions have written. */
  tier?: string;
  /** The known agent CLI whose output is read for its usage. */
  agent?: string;
  /** The first message of the thread. */
  thread?: MessageRef;
  /** The time of its start, in ISO form. */
  since?: string;
  /** Whether it goes on with a session; absent where its tier keeps none. */
  session?: SessionKind;
  /** What its session used before, if its CLI states only what it used in all. */
  before?: Usage;
  /** The session whose directory it works with, where its process is kept. */
  desk?: string;
  /** Which of its messages it was given while it was under way. */
  steered?: Steered[];
  /** What it may use at most; absent where no budget was in force. */
  handed?: Handed;
  /** The leader of the CLI's process group. */
  process: ProcessIdentity;
}

const RUN_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

/** The runs of one machine, and the messages each has sent so far. */
export class Runs {
  readonly #folder: string;
  readonly #records: Rows<RunRecord>;

  /** @param root the state directory; what runs print and send is in a folder of it */
  constructor(root: string) {
    this.#folder = statePaths(root).runs;
    this.#records = new Rows(root, 'run');
  }

  /**
   * Records a run before its CLI gets to work.
   *
   * @param pid the pid of the leader of its process group
   * @returns that process
   * @throws Error when the disk would not take what the CLI is going to say: it would be paid in
   *   vain
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

  /** Notes which messages a run has now, and which it was given while it was under way; none that has no record. */
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

  /** The run whose directory has this name; see {@link runDirectory}. */
  async ofDirectory(name: string): Promise<RunRecord | undefined> {
    const runs = await this.#records.all();
    return runs.find(({ id }) => id.endsWith(name)) ?? runs.find((run) => run.desk?.endsWith(name));
  }

  /** Whether a run is on record: it is under way, or its dispatcher died. */
  has(id: string): Promise<boolean> {
    return this.#records.has(id);
  }

  /** Runs that a dead dispatcher left behind, and whether their process still goes on. */
  async leftovers(): Promise<(RunRecord & { alive: boolean })[]> {
    const runs = await this.#records.all();
    return Promise.all(runs.map(async (run) => ({ ...run, alive: await isAlive(run.process) })));
  }

  /** Notes that a message was written during a run; called by `send` before it is published. */
  async noteSent(id: string, channel: string, { relPath, message }: Located): Promise<void> {
    if (!RUN_ID.test(id)) return;
    await makeFolder(this.#folder, 0o700);
    const header = formatMessage({ ...message, body: '' });
    const line = JSON.stringify({ channel, relPath, header });
    await appendFile(this.#sentPath(id), `${line}\n`, { mode: 0o600 });
  }

  /** What was sent during a run, without text: the channels' ids and the messages. */
  async sent(id: string): Promise<[channel: string, located: Located][]> {
    try {
      const text = await readFile(this.#sentPath(id), 'utf8');
      return [...new Set(text.split('\n'))].flatMap(sentIn);
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    }
  }

  /** Where the raw output of a run is kept until its outcome is on record. */
  outputPath(id: string): string {
    return join(this.#folder, `${id}.out`);
  }

  #sentPath(id: string): string {
    return join(this.#folder, `${id}.sent`);
  }
}

/** A line that a power cut left incomplete is left out. */
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
