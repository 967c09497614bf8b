import { isPool } from '../../bus/claims.ts';
import { readHosts } from '../../bus/host.ts';
import { type Commit, authorOf } from '../../protocol/outgoing.ts';
import {
  formatHostReport,
  parseHostReport,
  reportedMail,
  saysTheSame,
  type HostAway,
  type HostState,
  type ReportedMail,
} from '../../protocol/files/host-report.ts';
import { hostReportFile, writtenAt } from '../../protocol/layout.ts';
import { type OutboxEntry, settledBy } from '../../state/outbox.ts';
import type { Running } from '../../dispatcher/jobs.ts';
import type { Guards } from '../../dispatcher/run/guards.ts';
import { endsByItself } from '../../protocol/text/words.ts';
import type { Deliveries } from '../../dispatcher/intake/deliveries.ts';
import { type Context, isOff } from '../context.ts';
import { type Expected } from '../../bus/expected.ts';
import type { ClaimQueue } from '../../dispatcher/pools/claim-queue.ts';
import { Publisher } from '../../bus/publisher.ts';
import { passed } from '../../crash-points.ts';
import { type Log } from '../../log.ts';
import { acquire } from '../../state/lock.ts';
import { publishing } from '../publishing.ts';

/** The host that is served, with its actors. */
interface Served {
  alias: string;
  actors: ReadonlyMap<string, unknown>;
}

/** Minimum time between two reports of a host, in milliseconds. */
const LEAST_MS = 10 * 60_000;

/**
 * Reports the state of this host to those who look at the transport elsewhere. A report is never pushed
 * alone: it accompanies a push that is made anyway, when it says something new, at most every ten
 * minutes, and only when the transport has another host. The last report is read from the bus, so a
 * restart changes nothing.
 */
export class HostReporting {
  readonly #context: Pick<Context, 'transport' | 'deadLetters' | 'now'>;
  readonly #deliveries: Pick<Deliveries, 'mailboxes'>;
  readonly #hosts: { readonly active: Served | undefined };
  readonly #running: () => readonly Running[];
  readonly #guards: Pick<Guards, 'deferrals' | 'paused'>;
  /** The time at which this process last checked whether there is something to report, in milliseconds. */
  #looked = -Infinity;

  /**
   * @param hosts the host that is served, if there is one
   * @param running the runs in progress
   * @param guards what keeps actors from running
   */
  constructor(
    context: Pick<Context, 'transport' | 'deadLetters' | 'now'>,
    deliveries: Pick<Deliveries, 'mailboxes'>,
    hosts: { readonly active: Served | undefined },
    running: () => readonly Running[],
    guards: Pick<Guards, 'deferrals' | 'paused'>,
  ) {
    this.#context = context;
    this.#deliveries = deliveries;
    this.#hosts = hosts;
    this.#running = running;
    this.#guards = guards;
  }

  /** Returns the report to push with some entries; undefined when none is due, or none can be made. */
  async beside(entries: readonly OutboxEntry[]): Promise<Commit | undefined> {
    const { transport, now } = this.#context;
    const alias = this.#hosts.active?.alias;
    const { origin, defaults } = transport;
    if (alias === undefined || origin === undefined || isOff(defaults.shareStatus))
      return undefined;
    if (isRecent(this.#looked, now())) return undefined;
    this.#looked = now().getTime();
    // Nothing waits for a report: an error that prevents it must not prevent anything else from being
    // pushed.
    return this.#report(alias, entries).catch(() => undefined);
  }

  async #report(alias: string, entries: readonly OutboxEntry[]): Promise<Commit | undefined> {
    const { transport, now } = this.#context;
    const tip = await transport.tip();
    if (tip === undefined || (await readHosts(transport, tip)).length < 2) return undefined;
    const path = hostReportFile(alias);
    const there = (await transport.objects.read(`${tip}:${path}`))?.content;
    const at = now().toISOString();
    const away = await this.#away(tip);
    const state = { ...(await this.#state(entries, at)), ...(away.length > 0 && { away }) };
    const said = there && parseHostReport(there);
    // A report with a time in the future, as from a wrong clock, is replaced.
    if (said !== undefined && Date.parse(said.at) <= Date.parse(at))
      if (isRecent(Date.parse(said.at), now()) || saysTheSame(said, state)) return undefined;
    return {
      author: authorOf(alias, alias),
      at,
      subject: `crosstalk: how ${alias} is`,
      files: [{ path, content: formatHostReport({ at, ...state }) }],
    };
  }

  /** Returns why this host cannot take the work of actors that it shares with others. */
  async #away(tip: string): Promise<HostAway[]> {
    const isPaused = await this.#guards.paused();
    const found = isPaused
      ? [...(this.#hosts.active?.actors.keys() ?? [])].map((actor) => ({ actor, reason: 'paused' }))
      : this.#guards.deferrals
          .filter(({ instead }) => instead === undefined)
          .map(({ actor, reason, until }) => {
            return { actor, reason, ...(endsByItself(reason) && { until }) };
          });
    const shared = new Map<string, boolean>();
    for (const { actor } of found)
      if (!shared.has(actor)) shared.set(actor, await isPool(this.#context.transport, tip, actor));
    const first = new Map<string, HostAway>();
    for (const one of found)
      if (shared.get(one.actor) === true && !first.has(one.actor)) first.set(one.actor, one);
    return [...first.values()];
  }

  /** Returns the state of this host once some entries are on the bus. */
  async #state(entries: readonly OutboxEntry[], now: string): Promise<HostState> {
    // The dead letter of a retried delivery disappears once its answer is on the bus.
    const retried = new Set(entries.map(({ delivery }) => delivery?.deadLetter));
    const letters = (await this.#context.deadLetters.all()).filter(
      ({ id, state }) => state !== 'cancelled' && !retried.has(id),
    );
    return {
      running: reportedMail(
        this.#running().flatMap(({ messages, ...run }) => firstOf(run, messages)),
      ),
      waiting: reportedMail(
        this.#deliveries.mailboxes
          .waiting()
          .flatMap(({ actor, channel, messages }) =>
            messages.map(({ relPath }) => {
              return { actor, channel, relPath, since: writtenAt(relPath) ?? now };
            }),
          )
          .sort((a, b) => (a.since < b.since ? -1 : 1)),
      ),
      failed: reportedMail(
        letters
          .flatMap(({ messages, last_failed_at: since, ...letter }) =>
            firstOf({ ...letter, since }, messages),
          )
          .reverse(),
      ),
    };
  }
}

/** Returns mail by its first message; none when there is no message. */
function firstOf(
  { actor, channel, since }: { actor: string; channel: string; since: string },
  [relPath]: readonly string[],
): ReportedMail[] {
  return relPath === undefined ? [] : [{ actor, channel, relPath, since }];
}

/** Whether less than {@link LEAST_MS} has passed since a time; a time in the future does not count. */
function isRecent(time: number, now: Date): boolean {
  const passed = now.getTime() - time;
  return passed >= 0 && passed < LEAST_MS;
}

const WRITER_WAIT_MS = 10_000;

/** Creates the part that empties the outbox and settles the deliveries that the published messages answer. */
export function publisherOf(
  context: Context,
  deliveries: Deliveries,
  expected: Expected,
  log: Log,
  { reporting, queue }: { reporting: Pick<HostReporting, 'beside'>; queue: ClaimQueue },
): Publisher {
  const { paths } = context;
  const publisher = new Publisher({
    outbox: queue,
    lookForSecrets: (entry) => context.screen.look(entry),
    expected,
    publish: publishing(context),
    beside: (entries) => reporting.beside(entries),
    mayPush: () => context.budget.push(),
    lock: (signal) => acquire(paths.root, 'writer', { wait: WRITER_WAIT_MS, signal }),
    now: context.now,
    onPublished: async ({ delivery }) => {
      if (delivery === undefined) return;
      for (const { actor, channel, messages } of settledBy(delivery))
        await deliveries.leave(actor, channel, messages);
      passed('settled');
    },
  });
  publisher.events.on('push', (result) => {
    if (result.ok) deliveries.reached(result.tip);
  });
  publisher.events.on('push', (result) => {
    const { attempts } = result;
    if (result.ok) log('push_done', { commits: result.commits, attempts });
    else {
      const { kind, reason } = result.failure;
      log('push_failed', { kind, reason, attempts });
    }
  });
  publisher.events.on('setAside', ({ id, commits }, reason) => {
    const files = commits.flatMap((commit) => commit.files.map(({ path }) => path));
    log('set_aside', { id, files: files.slice(0, 10), reason });
  });
  publisher.events.on('held', ({ id, delivery }, found) => {
    const { actor, channel, messages } = delivery ?? {};
    log('secret_held', { id, ...(delivery && { actor, channel, messages }), found });
  });
  return publisher;
}
