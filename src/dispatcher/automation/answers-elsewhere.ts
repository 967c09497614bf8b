import type { MessageReader } from '../../bus/message-reader.ts';
import type { SubscriptionFiles } from '../../bus/automation/subscriptions.ts';
import { passed } from '../../crash-points.ts';
import { isSystemError, reasonOf } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Commit } from '../../protocol/outgoing.ts';
import { placeOf } from '../../protocol/layout.ts';
import type { Outbox } from '../../state/outbox.ts';
import type { Looked, SubscriptionRecord } from '../../state/automation/schedules.ts';
import type { Transport } from '../../transport/transport.ts';
import { sayFired, type Answered, type Subscriptions } from './subscriptions.ts';
import { channelNamed } from '../../protocol/automation/fields.ts';
import type { Channel } from '../../protocol/files/channel.ts';
import { shown } from '../../protocol/text/result.ts';

export interface ElsewhereApp {
  files: Pick<SubscriptionFiles, 'at'>;
  subscriptions: Pick<Subscriptions, 'following'>;
  transport: Pick<Transport, 'changes'>;
  reader: Pick<MessageReader, 'channels' | 'messages'>;
  record: SubscriptionRecord;
  outbox: Pick<Outbox, 'put'>;
  /** Starts to push an entry of the outbox, and waits for nothing. */
  publish: (id: string) => void;
  newId: () => string;
  log: Log;
}

/** Number of attempts at an answer from which no task can be made, unless the system refused something. */
const TRIES = 5;
/** Most tasks, and bytes of them, that one look produces: anybody who can push can forge any number of answers. */
const MOST_TASKS = 1000;
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * Subscriptions that name this host fire here on answers from any host. Those of our own runs have their tasks beside
 * them already; the others are found as they arrive.
 *
 * Crash order: the tasks in the outbox → the record says up to which commit was looked → pushed. The path of a task
 * is made from the answer, and it is published only if nothing is there: doing it twice gives one task. A
 * subscription applies to answers that arrive after it.
 */
export class AnswersElsewhere {
  readonly #app: ElsewhereApp;
  #tip: string | undefined;
  #looked: Looked | undefined;
  #tries = 0;
  #problems: readonly SubscriptionProblem[] = [];

  constructor(app: ElsewhereApp) {
    this.#app = app;
  }

  /** The files that cannot be followed at the newest commit, and how many were passed over. */
  get problems(): readonly SubscriptionProblem[] {
    return this.#problems;
  }

  /** Looks at the answers that arrived up to a commit; reads and writes nothing if no subscription asks for it. */
  async follow(alias: string, tip: string): Promise<void> {
    if (this.#tip === tip) return;
    const { record, publish } = this.#app;
    const found = await this.#app.files.at(tip);
    this.#problems = await problemsOf(found, () => this.#app.reader.channels(tip));
    const names = found.files.flatMap(({ name, result }) =>
      result.ok && result.value.source.kind === 'answer' && result.value.host === alias
        ? [name]
        : [],
    );
    if (names.length > 0 || this.#looked !== undefined) {
      const before = this.#looked ?? (await record.get());
      const entries = before === undefined ? [] : await this.#queue(alias, tip, before);
      const looked = { until: tip, names };
      await record.set(looked);
      passed('subscription_recorded');
      this.#looked = names.length > 0 ? looked : undefined;
      for (const id of entries) publish(id);
    }
    this.#tip = tip;
    this.#tries = 0;
  }

  /** Puts the tasks into the outbox, those of each answer as an entry; returns the ids of the entries. */
  async #queue(alias: string, tip: string, { until, names }: Looked): Promise<string[]> {
    const { subscriptions, outbox, newId, log } = this.#app;
    const fires = (one: { name: string; host?: string }): boolean =>
      one.host === alias && names.includes(one.name);
    const ids: string[] = [];
    let [given, bytes] = [0, 0];
    if (until === tip) return ids;
    for await (const answer of this.#arrived(until, tip)) {
      if (answer.message.host === alias) continue;
      const following = subscriptions.following(alias, tip, [answer], fires);
      const tasks = await following.catch(this.#orGiveUp(answer));
      if (tasks.length === 0) continue;
      given += tasks.length;
      bytes += tasks.reduce((sum, { commit }) => sum + sizeOf(commit), 0);
      if (given > MOST_TASKS || bytes > MOST_BYTES) {
        log('subscription_invalid', {
          reason: `too many answers came at a time: nothing follows on ${answer.channel}/${answer.relPath} and those after it`,
        });
        break;
      }
      // Made once more after a crash, it may say something else by now; then the first one counts.
      const commits = tasks.map(({ commit }) => ({ ...commit, optional: true as const }));
      const id = newId();
      await outbox.put({ id, commits });
      passed('subscription_queued');
      ids.push(id);
      for (const task of tasks) sayFired(log, task);
    }
    return ids;
  }

  /** Throws an error, but not for ever: one answer must not keep tasks from following on all others. */
  #orGiveUp({ channel, relPath }: Answered): (error: unknown) => [] {
    return (error) => {
      if (isSystemError(error) || ++this.#tries < TRIES) throw error;
      const reason = `nothing follows on ${channel}/${relPath}: ${reasonOf(error)}`;
      this.#app.log('subscription_invalid', { reason });
      return [];
    };
  }

  /** The messages with answers that were added between two commits. */
  async *#arrived(from: string, to: string): AsyncGenerator<Answered> {
    const { transport, reader, log } = this.#app;
    const added = new Map<string, string[]>();
    try {
      for await (const changes of transport.changes(from, to))
        for (const { path, status } of changes) {
          const place = placeOf(path);
          if (place.kind !== 'message' || status !== 'A') continue;
          added.set(place.channel, [...(added.get(place.channel) ?? []), place.relPath]);
        }
    } catch (error) {
      // History was rewritten: commits that were there before are not looked at again.
      log('subscription_invalid', { reason: `the commit ${from} is gone: ${String(error)}` });
      return;
    }
    for (const [channel, relPaths] of added)
      for (const located of await reader.messages(to, channel, relPaths.sort()))
        if (located.message.re.length > 0) yield { ...located, channel };
  }
}

function sizeOf({ files }: Commit): number {
  return files.reduce((sum, { content }) => sum + content.length, 0);
}

/** A subscription that cannot be followed as it stands, for people. */
interface SubscriptionProblem {
  /** Empty for a problem that is not about a single subscription. */
  subscription: string;
  problem: string;
}

/**
 * Returns the problems of a commit's subscriptions: files that cannot be read, channels that are not there, and files
 * beyond the limit.
 *
 * @param channels of the same commit; asked for only where a subscription names one
 */
async function problemsOf(
  { files, beyond }: Awaited<ReturnType<SubscriptionFiles['at']>>,
  channels: () => Promise<Channel[]>,
): Promise<SubscriptionProblem[]> {
  const found: SubscriptionProblem[] = [];
  let there: Channel[] | undefined;
  for (const { name, path, result } of files) {
    const note = (problem: string): void => {
      found.push({ subscription: name, problem: `${shown(path).slice(1, -1)}: ${problem}` });
    };
    if (!result.ok) note(result.problems.join('; '));
    else if (result.value.channel !== undefined && result.value.enabled) {
      const named = channelNamed((there ??= await channels()), result.value.channel);
      if ('problem' in named) note(named.problem);
    }
  }
  const problem = `${String(beyond)} files of local/subscriptions were passed over: there are too many`;
  // First, as only some of many are shown.
  return beyond === 0 ? found : [{ subscription: '', problem }, ...found];
}
