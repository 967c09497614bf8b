import type { DispatcherApp } from '../../bus/app.ts';
import { digestOfProposal, type Decisions } from '../../bus/decisions.ts';
import type { Publisher } from '../../bus/publisher.ts';
import { reasonOf } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { cancelMessage } from '../../protocol/cancel.ts';
import type { Judged, Proposal } from '../../protocol/decision/judge.ts';
import type { Message } from '../../protocol/message.ts';
import { outgoing } from '../../protocol/outgoing.ts';
import { saidSecrets } from '../../protocol/text/secrets.ts';
import { parsed, unreadable, type Parsed } from '../../protocol/text/result.ts';
import { OpenPermissions, type OpenPermission } from '../../state/permissions/open-permissions.ts';
import type { Marked } from '../../protocol/decision/permission.ts';

/** A question that waits for a person. */
export interface OpenQuestion extends Proposal {
  record: OpenPermission;
  message: Message;
  /** Milliseconds. */
  timeout: number;
}

/** Outcome of a question. */
export type Outcome =
  | { kind: 'approved' }
  | { kind: 'denied'; note: string }
  /** Nobody decided in time. */
  | { kind: 'unanswered' }
  /** Nobody needs the answer any more. */
  | { kind: 'ended' };

/** Most ignored decisions that are named in the log: anybody can push any number. */
const MOST_SAID = 1000;
/** Most messages of a run that are stored beside its question. */
const MOST_MESSAGES = 100;
/** Text of a denial for which no note was given. */
const NO_NOTE = 'Denied.';
/** The most characters of a note that go to a model. */
const MAX_NOTE = 4000;

/**
 * Questions for permission that wait for a person (work.md, "A person in the loop"), on a whole machine. They live in
 * memory: an answer to a question of a run that is gone finds nobody, and permits nothing.
 *
 * Crash order: a file that a question is open → the question in the outbox → a decision, or the message that takes
 * the question back in the outbox → the file is removed → the run receives the decision. A start takes back each
 * question that has a file.
 */
export class Permissions {
  readonly #app: DispatcherApp;
  readonly #store: OpenPermissions;
  readonly #publisher: Publisher;
  readonly #decisions: Decisions;
  readonly #waiting = new Map<OpenQuestion, (outcome: Outcome) => void>();
  readonly #ignored = new Set<string>();
  #looking: Promise<void> = Promise.resolve();
  #hasBegun = false;

  constructor(app: DispatcherApp, publisher: Publisher, decisions: Decisions) {
    this.#app = app;
    this.#store = new OpenPermissions(app.paths.root);
    this.#publisher = publisher;
    this.#decisions = decisions;
  }

  get log(): Log {
    return this.#app.log;
  }

  get now(): () => Date {
    return this.#app.now;
  }

  /**
   * Takes back the questions that a dead dispatcher has left open, once; called before the first run. Of questions
   * that an older state had open, and that are over since, only the file is removed.
   *
   * @param tip the commit scanned last
   */
  async begin(tip: string): Promise<void> {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    for (const record of await this.#store.all())
      try {
        if (await this.#decisions.isOver(tip, record)) await this.#store.remove(record.id);
        else
          await this.#takeBack(
            record,
            'the dispatcher was started anew, and the task is tried again',
          );
      } catch (error) {
        // As on a full disk. Its file stays, for the next start.
        this.log('internal_error', { error: `taking back ${record.relPath}: ${reasonOf(error)}` });
      }
  }

  /**
   * Puts a question on record and on its way.
   *
   * @returns why nobody can be asked
   */
  async open(run: AskingRun, message: Message, mark: string): Promise<Parsed<OpenQuestion>> {
    const { outbox, screen, newId, suffix, log } = this.#app;
    const { id, actor, host, channel, messages, approver, timeout } = run;
    const { relPath, commit } = outgoing(message, channel, host, suffix());
    const [{ content } = { content: '' }] = commit.files;
    const entry = { id: newId(), commits: [commit] };
    const found = await screen.look(entry);
    const tool = message.permission?.tool ?? '';
    const facts = { id, actor, channel, message: relPath, tool, mark, approver };
    if (found.length > 0) {
      log('permission_denied', { ...facts, reason: 'secret' });
      return unreadable(
        `the question would carry a secret (${saidSecrets(found)}), and nobody is asked; do it without`,
      );
    }
    const since = this.#app.now();
    const digest = digestOfProposal({ channel, relPath }, content);
    const record: OpenPermission = {
      ...{ id: entry.id, run: id, actor, host, channel, relPath, approver, tool, mark },
      messages: messages.slice(-MOST_MESSAGES),
      since: since.toISOString(),
      until: new Date(since.getTime() + timeout).toISOString(),
      digest,
    };
    await this.#store.put(record);
    await outbox.put(entry);
    log('permission_asked', facts);
    void this.#publisher.publish(entry.id).catch((error: unknown) => {
      log('push_failed', { kind: 'other', reason: reasonOf(error) });
    });
    return parsed({ channel, relPath, digest, approver, record, message, timeout });
  }

  /**
   * Waits for the outcome of a question, and puts it on record.
   *
   * @param ends aborted when nobody needs the answer any more
   */
  async outcome(question: OpenQuestion, timeout: number, ends: AbortSignal): Promise<Outcome> {
    const outcome = await this.#decided(question, timeout, ends);
    const { record } = question;
    const { run: id, actor, channel, relPath: message, tool } = record;
    this.log('permission_answered', { id, actor, channel, message, tool, outcome: outcome.kind });
    if (outcome.kind === 'unanswered')
      await this.#takeBack(record, 'nobody answered, so it counts as denied');
    else if (outcome.kind === 'ended')
      await this.#takeBack(record, 'the run has ended, or does not wait for it any more');
    else await this.#store.remove(record.id);
    return outcome;
  }

  /**
   * Looks for decisions on open questions; costs nothing if there are none.
   *
   * @param tip the commit scanned last
   */
  look(tip: string): Promise<void> {
    if (this.#waiting.size === 0) return Promise.resolve();
    this.#looking = this.#looking.then(() => this.#look(tip));
    return this.#looking;
  }

  #decided(question: OpenQuestion, timeout: number, ends: AbortSignal): Promise<Outcome> {
    return new Promise((resolve) => {
      const done = (outcome: Outcome): void => {
        clearTimeout(timer);
        ends.removeEventListener('abort', end);
        this.#waiting.delete(question);
        resolve(outcome);
      };
      const end = (): void => {
        done({ kind: 'ended' });
      };
      const timer = setTimeout(() => {
        done({ kind: 'unanswered' });
      }, timeout);
      ends.addEventListener('abort', end);
      this.#waiting.set(question, done);
      if (ends.aborted) end();
    });
  }

  async #look(tip: string): Promise<void> {
    for (const [question, done] of [...this.#waiting]) {
      try {
        const { decided, ignored } = await this.#decisions.judge(tip, question);
        this.#sayIgnored(question, ignored);
        if (decided === undefined) continue;
        const { channel } = question;
        const said = await this.#app.reader.message(tip, channel, decided.relPath);
        const body = (said?.body ?? '').trim();
        const note = body === NO_NOTE ? '' : body.slice(0, MAX_NOTE);
        done(decided.decision === 'approve' ? { kind: 'approved' } : { kind: 'denied', note });
      } catch (error) {
        // Nobody can say what was decided; the next look tries again, until the time is over.
        this.log('internal_error', { error: `judging ${question.relPath}: ${reasonOf(error)}` });
      }
    }
  }

  #sayIgnored({ channel, relPath }: OpenQuestion, ignored: Judged['ignored']): void {
    for (const { relPath: message, from, reason } of ignored) {
      if (this.#ignored.has(message) || this.#ignored.size >= MOST_SAID) continue;
      this.#ignored.add(message);
      this.log('decision_ignored', { channel, message, proposal: relPath, from, reason });
    }
  }

  /** Notifies the approver, on record, that a question need not be answered. */
  async #takeBack(record: OpenPermission, why: string): Promise<void> {
    const { outbox, now, suffix, log } = this.#app;
    const { id, actor, host, channel, relPath, approver } = record;
    const target = { relPath, message: { to: [{ name: approver }] } };
    const writer = { actor, host, at: now() };
    const message = cancelMessage(target, `No longer needed: ${why}.\n`, writer, { only: false });
    // The entry is the same, however often a start that is killed runs again.
    const entry = {
      id: `${id}-over`,
      commits: [outgoing(message, channel, host, suffix()).commit],
    };
    await outbox.put(entry);
    await this.#store.remove(id);
    void this.#publisher.publish(entry.id).catch((error: unknown) => {
      log('push_failed', { kind: 'other', reason: reasonOf(error) });
    });
  }
}

/** The run that asks, as its dispatcher knows it. */
export interface AskingRun {
  id: string;
  actor: string;
  host: string;
  channel: string;
  /** The messages that it was given. */
  messages: readonly string[];
  /** Those of them, or behind them, that its questions name. */
  re: readonly string[];
  /** Address of the person who decides. */
  approver: string;
  /** Milliseconds for which a question waits. */
  timeout: number;
  /** Returns how dangerous a tool call seems. */
  markOf: (tool: string, input: Readonly<Record<string, unknown>>) => Marked;
  /** Writes one line for people who watch the run. */
  tell: (text: string) => void;
}
