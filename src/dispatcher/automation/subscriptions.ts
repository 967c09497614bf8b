import { setTimeout as sleep } from 'node:timers/promises';
import { onceMarker, onceOnly } from '../../bus/automation/happened.ts';
import type { MessageReader } from '../../bus/message-reader.ts';
import {
  matched,
  type Subscribed,
  type SubscriptionFiles,
} from '../../bus/automation/subscriptions.ts';
import { reasonOf } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { channelNamed } from '../../protocol/automation/fields.ts';
import {
  allowanceBehind,
  firedBehind,
  isFinalAnswer,
  shareOf,
  taskOf,
} from '../../protocol/automation/follow-up.ts';
import { type Commit, outgoing } from '../../protocol/outgoing.ts';
import type { Located } from '../../protocol/message.ts';

export interface SubscriptionsApp {
  files: Pick<SubscriptionFiles, 'at'>;
  reader: Pick<MessageReader, 'chain' | 'channels' | 'text'>;
  /**
   * Returns the suffix of the name of a task, derived from its cause: the same whenever it is made on this machine,
   * and nobody else can take the name before.
   */
  suffixOf: (cause: string) => string;
  log: Log;
}

/** An answer, and the id of the channel in which it stands. */
export interface Answered extends Located {
  channel: string;
}

/** A task that follows on an answer. */
export interface FollowUp {
  subscription: string;
  /** The answer, as `<channel id>/<relPath>`. */
  cause: string;
  channel: string;
  relPath: string;
  commit: Commit;
}

/** Most tasks that one answer may produce: anybody who can push can write any number of subscriptions. */
const MOST = 50;
const TRIES = 10;
const WAIT_MS = 500;

/**
 * The tasks that follow on answers (automation.md, "Subscriptions and events"). It writes nothing: the
 * tasks go into the outbox entry of the answer.
 */
export class Subscriptions {
  readonly #app: SubscriptionsApp;
  readonly #said = new Set<string>();

  constructor(app: SubscriptionsApp) {
    this.#app = app;
  }

  /**
   * Returns the tasks that follow on the answers of a run that has ended on this host. The answer must not be lost
   * because of them: an unreadable file is tried for a while, and then reported.
   *
   * @param tip the commit at which the run read the messages that it answered
   */
  async after(
    host: string,
    tip: string,
    answers: readonly Answered[],
    signal: AbortSignal,
  ): Promise<FollowUp[]> {
    for (let tries = 1; ; tries++) {
      try {
        const here = (one: Subscribed): boolean => one.host === undefined || one.host === host;
        return await this.following(host, tip, answers, here);
      } catch (error) {
        const reason = reasonOf(error);
        this.#app.log('internal_error', { error: `subscriptions: ${reason}` });
        if (tries === TRIES || signal.aborted) return [];
        await sleep(WAIT_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** @param fires of a subscription whose source is the writer of an answer: whether this host fires it */
  async following(
    host: string,
    tip: string,
    answers: readonly Answered[],
    fires: (subscription: Subscribed) => boolean,
  ): Promise<FollowUp[]> {
    const wanted = (await this.#inForce(tip)).filter(
      ({ source, enabled }) => source.kind === 'answer' && enabled,
    );
    const found: FollowUp[] = [];
    for (const answer of answers) {
      const { channel, message } = answer;
      const left = wanted.filter(
        ({ name, source }) =>
          source.name === message.from && !found.some(({ subscription }) => subscription === name),
      );
      if (!left.some(fires)) continue;
      const lookup = await this.#app.reader.chain(tip, channel, [answer]);
      if (!isFinalAnswer(message, lookup)) continue;
      const fired = firedBehind(answer, lookup);
      const matching = await matched(
        left.filter(({ name }) => !fired.has(name)),
        message.body,
      );
      // Subscriptions that fire on other hosts share the limit, on whichever host a task is counted.
      const allowance = allowanceBehind(answer, lookup);
      const given = matching.slice(0, Math.min(MOST, allowance));
      const share = shareOf(given.length, allowance);
      for (const one of given.filter(fires))
        found.push(...(await this.#followUp(host, tip, one, { answer, allowance: share })));
    }
    return found.slice(0, MOST);
  }

  /** Which subscriptions can be followed at a commit; each that cannot is logged once. */
  async #inForce(tip: string): Promise<Subscribed[]> {
    const { files, beyond } = await this.#app.files.at(tip);
    if (beyond > 0)
      this.#say('beyond', {
        reason: `${String(beyond)} files of local/subscriptions were passed over: there are too many`,
      });
    return files.flatMap(({ name, path, oid, result }) => {
      if (result.ok) return [result.value];
      const reason = result.problems.join('; ');
      this.#say(`${path} ${oid}`, { subscription: name, path, reason });
      return [];
    });
  }

  async #followUp(
    host: string,
    tip: string,
    subscription: Subscribed,
    { answer, allowance }: { answer: Answered; allowance: number },
  ): Promise<FollowUp[]> {
    const { name, channel: wanted, once } = subscription;
    const marker = once ? onceMarker(subscription) : undefined;
    if (marker !== undefined && (await this.#app.reader.text(tip, marker)) !== undefined) return [];
    const { channel: home, relPath: answered, message: said } = answer;
    const target =
      wanted === undefined
        ? { id: home }
        : channelNamed(await this.#app.reader.channels(tip), wanted);
    if ('problem' in target) {
      this.#say(`${name} ${target.problem}`, { subscription: name, reason: target.problem });
      return [];
    }
    const at = momentAfter(said.timestamp);
    const happening = { kind: 'answer' as const, channel: home, answer };
    const task = taskOf(subscription, happening, { channel: target.id, at, host, allowance });
    const cause = `${home}/${answered}`;
    const suffix = this.#app.suffixOf(`${name} ${cause}`);
    const { relPath, commit } = outgoing(task, target.id, host, suffix);
    const marked = marker === undefined ? commit : onceOnly(commit, marker, `fired ${name}`);
    return [{ subscription: name, cause, channel: target.id, relPath, commit: marked }];
  }

  #say(what: string, facts: Record<string, unknown>): void {
    if (this.#said.has(what)) return;
    this.#said.add(what);
    this.#app.log('subscription_invalid', facts);
  }
}

/**
 * Returns the time of a task, which comes after its cause, in whichever order messages are looked at. The last moment
 * of the year 9999 has none after it that a path could name.
 */
function momentAfter(timestamp: string): Date {
  const at = Date.parse(timestamp);
  return new Date(Math.min(at + 1, Date.UTC(9999, 11, 31, 23, 59, 59, 999)));
}

/** Logs that a task was produced. */
export function sayFired(log: Log, { subscription, cause, channel, relPath }: FollowUp): void {
  log('subscription_fired', { subscription, cause, channel, message: relPath });
}
