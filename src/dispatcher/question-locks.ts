import { messageFile, messageKey } from '../protocol/layout.ts';
import { isCaused, type QueuedFile, questionsOf } from '../protocol/outgoing.ts';
import type { Outbox, OutboxEntry } from '../state/outbox.ts';
import type { Transport } from '../transport/transport.ts';

/** Answers of peers that lead to open questions, for which a run would start. */
export interface QuestionSet {
  actor: string;
  /** The open questions, in any channel, as `<channel id>/<relPath>`. */
  questions: string[];
}

/** The number of questions whose last answers are remembered. */
const MAX_SAID = 10_000;
/** The tasks of an actor that are remembered: they are pushed in order, so the last ones matter. */
const MAX_TASKS = 100;

/**
 * Allows one run at a time for the answers of peers to a question, in any channel. The next run starts when the
 * answer of the previous one is visible at the commit that it reads, because an actor that does not see its own
 * answer gives it again; and when all tasks are visible that the actor has delegated, because an actor that does not
 * see one sums up without it.
 */
export class QuestionLocks {
  readonly #outbox: Outbox;
  readonly #transport: Transport;
  /** By actor and question, the commit that the run reads. */
  readonly #running = new Map<string, string>();
  /** By actor and question, the commit that the last run read which gave an answer. */
  readonly #answered = new Map<string, string>();
  /**
   * By actor and question, the files of answers that were recorded here and not yet seen on the
   * bus: answers of runs that ended, and answers that are published again after the branch was set
   * back.
   */
  readonly #said = new Map<string, readonly string[]>();
  /** By actor, the files of the tasks that it has delegated and that were not yet seen on the bus. */
  readonly #given = new Map<string, readonly string[]>();

  constructor({ outbox, transport }: { outbox: Outbox; transport: Transport }) {
    this.#outbox = outbox;
    this.#transport = transport;
    outbox.events.on('seen', (entry) => {
      this.#note(entry);
    });
  }

  /** @param tip the commit that the run reads */
  begin(fanIn: QuestionSet | undefined, tip: string): void {
    for (const key of keysOf(fanIn)) this.#running.set(key, tip);
  }

  /** @param files the files of the run's answer, if it gave one */
  end(fanIn: QuestionSet | undefined, files: readonly string[] = []): void {
    for (const key of keysOf(fanIn)) {
      const tip = this.#running.get(key);
      this.#running.delete(key);
      if (files.length === 0) continue;
      this.#say(key, files);
      if (tip !== undefined) remember(this.#answered, key, tip);
    }
  }

  /**
   * Whether a run that has given an answer to the questions has read these messages, in its thread:
   * answers of peers in several channels are several batches, and the first run sums all of them up.
   */
  async hasRead(
    fanIn: QuestionSet | undefined,
    { channel, messages }: { channel: string; messages: readonly string[] },
  ): Promise<boolean> {
    const files = messages.map((relPath) => messageFile(channel, relPath));
    const tips = new Set(keysOf(fanIn).map((key) => this.#answered.get(key)));
    if (tips.size === 0) return false;
    for (const tip of tips)
      if (tip === undefined || (await this.#transport.standing(tip, files)).size < files.length)
        return false;
    return true;
  }

  /**
   * Remembers the answer of an outbox entry: it may leave the outbox before the next look at the
   * scanned tip.
   */
  #note(entry: OutboxEntry): void {
    const { delivery, commits } = entry;
    for (const name of new Set(commits.map(({ author }) => author.name))) {
      const given = [...(this.#given.get(name) ?? []), ...tasksIn(entry, name)];
      if (given.length > 0) this.#given.set(name, given.slice(-MAX_TASKS));
    }
    if (delivery === undefined) return;
    for (const file of commits.flatMap(({ files }) => files))
      for (const { channel, relPath } of questionsOf(file))
        this.#say(`${delivery.actor} ${channel}/${relPath}`, [file.path]);
  }

  #say(key: string, files: readonly string[]): void {
    remember(this.#said, key, [...new Set([...(this.#said.get(key) ?? []), ...files])]);
  }

  /** Whether a run that reads the bus at `tip` may start. */
  async mayBegin(fanIn: QuestionSet | undefined, tip: string): Promise<boolean> {
    if (fanIn === undefined) return true;
    const keys = keysOf(fanIn);
    if (keys.some((key) => this.#running.has(key)) || (await this.#isQueued(fanIn))) return false;
    const given = this.#given.get(fanIn.actor) ?? [];
    const files = [...new Set([...given, ...keys.flatMap((key) => this.#said.get(key) ?? [])])];
    if (files.length === 0) return true;
    const standing = await this.#transport.standing(tip, files);
    // A file that is neither queued nor at the newest tip was set aside or lost, so do not wait for
    // it.
    if (standing.size < files.length && (await this.#transport.tip()) !== tip) return false;
    for (const key of keys) this.#said.delete(key);
    this.#given.delete(fanIn.actor);
    return true;
  }

  /** Whether an answer or a task waits to be pushed, including those of a dispatcher that died. */
  async #isQueued({ actor, questions }: QuestionSet): Promise<boolean> {
    const entries = await this.#outbox.all();
    return entries.some(
      (entry) =>
        tasksIn(entry, actor).length > 0 ||
        (entry.delivery?.actor === actor &&
          entry.commits.some(({ files }) => files.some((file) => answersOne(file, questions)))),
    );
  }
}

/** Sets a value, and forgets the oldest ones where there are too many. */
function remember<T>(values: Map<string, T>, key: string, value: T): void {
  values.set(key, value);
  for (const oldest of values.keys()) {
    if (values.size <= MAX_SAID) break;
    values.delete(oldest);
  }
}

/** Returns the files of the tasks that an actor delegates in an entry; an answer of its runs is not a task. */
function tasksIn({ delivery, commits }: OutboxEntry, actor: string): string[] {
  if (delivery !== undefined) return [];
  return commits
    .filter(({ author }) => author.name === actor)
    .flatMap(({ files }) => files.filter((file) => isCaused(file, actor)).map(({ path }) => path));
}

/** Whether a file is a message that answers one of the questions. */
function answersOne(file: QueuedFile, questions: readonly string[]): boolean {
  return questionsOf(file).some(({ channel, relPath }) =>
    questions.includes(messageKey({ channel, relPath })),
  );
}

function keysOf(fanIn: QuestionSet | undefined): string[] {
  return fanIn?.questions.map((question) => `${fanIn.actor} ${question}`) ?? [];
}
