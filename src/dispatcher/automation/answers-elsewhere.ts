import type { MessageReader } from '../../bus/message-reader.ts';
import type { SubscriptionFiles } from '../../bus/automation/subscriptions.ts';
import { passed } from '../../crash-points.ts';
import type { Log } from '../../log.ts';
import { placeOf } from '../../protocol/layout.ts';
import type { Outbox } from '../../state/outbox.ts';
import type { Looked, SubscriptionRecord } from '../../state/automation/subscriptions.ts';
import type { Transport } from '../../transport/transport.ts';
import { sayFired, type Answered, type FollowUp, type Subscriptions } from './subscriptions.ts';

export interface AnswersElsewhereParts {
  files: Pick<SubscriptionFiles, 'at'>;
  subscriptions: Pick<Subscriptions, 'following'>;
  transport: Pick<Transport, 'changes'>;
  reader: Pick<MessageReader, 'messages'>;
  record: SubscriptionRecord;
  outbox: Pick<Outbox, 'put'>;
  /** Starts to push an entry of the outbox, and waits for nothing. */
  publish: (id: string) => void;
  newId: () => string;
  log: Log;
}

/**
 * Subscriptions that name this host fire here on answers from whatever host. Those of our own runs have
 * their tasks beside them already; the others are found as they arrive.
 *
 * Crash order: the tasks in the outbox → the record says up to where it was looked → pushed. The path of
 * a task is made from the answer, and it is published only if nothing is there: what is done twice is one
 * task. A subscription begins with what arrives after it.
 */
export class AnswersElsewhere {
  readonly #parts: AnswersElsewhereParts;
  #tip: string | undefined;
  #looked: Looked | undefined;

  constructor(parts: AnswersElsewhereParts) {
    this.#parts = parts;
  }

  /** Looks at what has arrived up to a commit; nothing is read or written where nothing asks for it. */
  async follow(alias: string, tip: string): Promise<void> {
    if (this.#tip === tip) return;
    const { files, record, outbox, newId, publish, log } = this.#parts;
    const names = (await files.at(tip)).files.flatMap(({ name, result }) =>
      result.ok && result.value.source.kind === 'answer' && result.value.host === alias
        ? [name]
        : [],
    );
    if (names.length > 0 || this.#looked !== undefined) {
      const before = this.#looked ?? (await record.load());
      const tasks = before === undefined ? [] : await this.#tasks(alias, tip, before);
      const id = newId();
      if (tasks.length > 0) {
        // Made once more after a crash, it may say something else by now; then the first one counts.
        const commits = tasks.map(({ commit }) => ({ ...commit, optional: true as const }));
        await outbox.put({ id, commits });
        passed('subscription_queued');
      }
      const looked = { until: tip, names };
      await record.save(looked);
      passed('subscription_recorded');
      this.#looked = names.length > 0 ? looked : undefined;
      for (const task of tasks) sayFired(log, task);
      if (tasks.length > 0) publish(id);
    }
    this.#tip = tip;
  }

  async #tasks(alias: string, tip: string, { until, names }: Looked): Promise<FollowUp[]> {
    const found: FollowUp[] = [];
    if (until === tip) return found;
    for await (const answer of this.#arrived(until, tip)) {
      if (answer.message.host === alias) continue;
      const fires = (one: { name: string; host?: string }): boolean =>
        one.host === alias && names.includes(one.name);
      found.push(...(await this.#parts.subscriptions.following(alias, tip, [answer], fires)));
    }
    return found;
  }

  /** The messages with answers that were added between two commits. */
  async *#arrived(from: string, to: string): AsyncGenerator<Answered> {
    const { transport, reader, log } = this.#parts;
    const added = new Map<string, string[]>();
    try {
      for await (const changes of transport.changes(from, to))
        for (const { path, status } of changes) {
          const place = placeOf(path);
          if (place.kind !== 'message' || status !== 'A') continue;
          added.set(place.channel, [...(added.get(place.channel) ?? []), place.relPath]);
        }
    } catch (error) {
      // History was rewritten: what was there before is not looked at again.
      log('subscription_invalid', { reason: `the commit ${from} is gone: ${String(error)}` });
      return;
    }
    for (const [channel, relPaths] of added)
      for (const located of await reader.messages(to, channel, relPaths.sort()))
        if (located.message.re.length > 0) yield { ...located, channel };
  }
}
