import type { DispatcherApp } from '../../bus/app.ts';
import { parseBeat, formatRings, parseRing } from '../../bell/beat.ts';
import { BellLine, type Kind } from '../../bell/line.ts';
import { parseBell, type BellConfig } from '../../bell/settings.ts';
import { withoutCredentials } from '../../credentials.ts';
import { reasonOf } from '../../errors.ts';
import { shownServers } from '../../protocol/text/bell-servers.ts';
import type { Deliveries } from '../intake/deliveries.ts';
import type { WakeUp, Answers } from '../socket/answers.ts';
import type { HeardMachine, Heartbeat } from '../../state/heartbeat.ts';
import type { OutboxEntry } from '../../state/outbox-entry.ts';
import type { Transport } from '../../transport/transport.ts';
import { Machines } from './machines.ts';
import { readHosts } from '../../bus/host.ts';
import { isFor } from '../../protocol/cancel.ts';
import { placeOf } from '../../protocol/layout.ts';
import { parseMessage, type Message } from '../../protocol/message.ts';

/** Dependencies of a bell between machines; `hosts` gives the host that is served, if one is. */
interface BellApp extends Pick<DispatcherApp, 'transport' | 'env' | 'log' | 'now' | 'random'> {
  hosts: {
    readonly active: { alias: string; actors: ReadonlyMap<string, unknown> } | undefined;
  };
  deliveries: Pick<Deliveries, 'mailboxes'>;
}

/** Characters of the reason for which a bell is down. */
const MAX_REASON = 500;

/** State of the bell, for `status`. */
export interface BellState {
  /** The servers, without credentials. */
  servers: string;
  /** Reason why nothing is received, and its start (ISO 8601 in UTC); absent while the line stands. */
  failing?: { since: string; reason: string };
  /** Reports of other machines about themselves. */
  machines: HeardMachine[];
}

/**
 * The bell between machines (docs/bell.md): after a push it notifies the hosts that have mail, and a named host
 * fetches at once. It is only a hint. Even if notifications are forged, lost or never sent, the messages come from
 * git, at the next poll at the latest.
 */
export class FarBell {
  readonly #app: BellApp;
  readonly #waits: Pick<Answers, 'awaited'>;
  readonly #fetches: RungFetches;
  #machines: Machines | undefined;
  /** The settings for which there is a line, as text. */
  #config = '';
  #line: BellLine | undefined;
  #state: Omit<BellState, 'machines'> | undefined;

  /**
   * @param bell ends the wait for the next poll
   * @param waits states which processes wait here for the bus to change
   */
  constructor(app: BellApp, bell: Pick<WakeUp, 'ring'>, waits: Pick<Answers, 'awaited'>) {
    this.#app = app;
    this.#waits = waits;
    const { deliveries, log } = app;
    this.#fetches = new RungFetches(
      (tip) => {
        if (tip !== undefined) log('bell_rung', { tip });
        bell.ring('fetch');
      },
      () => deliveries.mailboxes.scanned,
      () => performance.now(),
    );
  }

  /** Undefined without a bell. */
  get state(): BellState | undefined {
    return this.#state && { ...this.#state, machines: this.#machines?.all ?? [] };
  }

  /** Whether other machines can be heard. */
  get isUp(): boolean {
    return this.#line?.isUp === true;
  }

  /** Uses the settings in force; without any, nothing is opened and nothing loaded. */
  follow(): void {
    const { origin, defaults } = this.#app.transport;
    const config = origin === undefined ? undefined : defaults.bell;
    if (config === undefined && this.#line === undefined && this.#state === undefined) return;
    const text = config === undefined ? '' : JSON.stringify([config, origin]);
    if (text === this.#config) return;
    this.#config = text;
    void this.#line?.close();
    this.#line = undefined;
    this.#machines = undefined;
    this.#state = undefined;
    if (config !== undefined) this.#open(config, origin ?? '');
  }

  /** Records that a fetch starts. */
  begin(): void {
    if (this.#line !== undefined) this.#fetches.begin();
  }

  /** Records that a fetch is over. @param isNew whether it brought anything */
  end(isNew: boolean): void {
    if (this.#line !== undefined) this.#fetches.end(isNew);
  }

  /** Notifies the other machines of a push. @param tip a commit that contains the entries */
  tell(tip: string, entries: readonly OutboxEntry[]): void {
    const line = this.#line;
    if (line?.canSay !== true) return;
    const { transport, hosts: own, log } = this.#app;
    void namedHosts(transport, tip, entries, own.active?.alias).then(
      (hosts) => {
        for (const ring of formatRings({ tip, hosts })) line.say('ring', ring);
      },
      (error: unknown) => {
        log('internal_error', { error: `bell: ${reasonOf(error)}` });
      },
    );
  }

  /** Notifies the other machines of the state of this one. */
  beat(heartbeat: Heartbeat): void {
    if (this.#line?.canSay !== true) return;
    const actors = [...(this.#app.hosts.active?.actors.keys() ?? [])];
    const due = this.#machines?.due(heartbeat, actors, performance.now());
    if (due !== undefined) this.#line.say('beat', due);
  }

  async close(): Promise<void> {
    this.#fetches.stop();
    await this.#line?.close();
  }

  #open(config: BellConfig, origin: string): void {
    const { transport, now, random, env, log } = this.#app;
    const servers = shownServers(config.servers);
    const parsed = parseBell(config, origin, env['HOME']);
    if (!parsed.ok) {
      this.#fail(servers, parsed.problems.join('; '));
      return;
    }
    this.#state = { servers, failing: { since: now().toISOString(), reason: 'not connected yet' } };
    const line = new BellLine(parsed.value, random, () => performance.now());
    this.#line = line;
    this.#machines = new Machines(transport, now);
    line.events.on('up', () => {
      this.#state = { servers };
      log('bell_up', { servers });
      this.#machines?.again();
      // Messages sent before are not received any more.
      this.#fetches.rung();
    });
    line.events.on('down', (reason) => {
      this.#fail(servers, reason);
    });
    line.events.on('flooded', () => {
      const note = 'more is said there than can be of use; not heard for 10 s';
      this.#state = { servers, failing: { since: now().toISOString(), reason: note } };
      log('bell_flooded', { note });
    });
    line.events.on('heard', (...said) => {
      this.#hear(...said);
    });
    line.open();
  }

  #fail(servers: string, reason: string): void {
    const { failing } = this.#state ?? {};
    // A server may say anything, of any length.
    const plain = withoutCredentials(reason.slice(0, MAX_REASON));
    if (failing?.reason !== plain) this.#app.log('bell_down', { servers, reason: plain });
    const since = failing?.since ?? this.#app.now().toISOString();
    this.#state = { servers, failing: { since, reason: plain } };
  }

  #hear(kind: Kind, bytes: Uint8Array): void {
    if (kind === 'ring') this.#hearRing(bytes);
    else this.#hearBeat(bytes);
  }

  #hearRing(bytes: Uint8Array): void {
    const ring = parseRing(bytes);
    if (ring === undefined) return;
    const { hosts } = this.#app;
    const self = hosts.active?.alias;
    // A process that waits here for the bus to change, such as a person in a chat, is served by no host file.
    const isAwaited = this.#waits.awaited > 0;
    if (isAwaited || (self !== undefined && ring.hosts.includes(self)))
      this.#fetches.rung(ring.tip);
  }

  #hearBeat(bytes: Uint8Array): void {
    const beat = parseBeat(bytes);
    if (beat === undefined) return;
    const { deliveries, hosts, log } = this.#app;
    const heard = this.#machines?.hear(beat, deliveries.mailboxes.scanned, hosts.active?.alias);
    void heard?.catch((error: unknown) => {
      log('internal_error', { error: `bell: ${reasonOf(error)}` });
    });
  }
}

/** Most messages of a push that are looked at; with more, every host is notified. */
const MOST_MESSAGES = 500;

/**
 * Returns the hosts that serve somebody to whom one of some entries is addressed: those that may have to start a run,
 * end one, or go on with one.
 *
 * @param tip a commit that contains the entries
 * @param self the host that pushed them, which knows of them
 */
async function namedHosts(
  transport: Transport,
  tip: string,
  entries: readonly OutboxEntry[],
  self: string | undefined,
): Promise<string[]> {
  const files = entries
    .flatMap(({ commits }) => commits)
    .flatMap((commit) => commit.files)
    .filter(({ path }) => placeOf(path).kind === 'message');
  const messages = new Map<string, Message>();
  for (const { content } of files.slice(0, MOST_MESSAGES)) {
    const message = parseMessage(Buffer.from(content));
    if (!message.ok) continue;
    const { type, from, to } = message.value;
    messages.set(JSON.stringify([type, from, to]), message.value);
  }
  if (messages.size === 0) return [];
  const isMore = files.length > MOST_MESSAGES;
  const differing = [...messages.values()];
  const named = new Set<string>();
  for (const { result } of await readHosts(transport, tip)) {
    if (!result.ok || result.value.alias === self) continue;
    const { alias, actors } = result.value;
    const isNamed = [...actors.keys()].some((actor) =>
      differing.some((message) => isFor(message, actor, alias)),
    );
    if (isMore || isNamed) named.add(alias);
  }
  return [...named];
}

/** The least time between two fetches that bring nothing, in milliseconds. */
const BETWEEN_FALSE_MS = 1000;

/** Runs a function after some milliseconds, unless the returned function is called before. */
export type Later = (ms: number, run: () => void) => () => void;

/**
 * Decides when notifications of other machines lead to a fetch. A ring may be false: anybody who reaches the server
 * can ring. So a fetch that a ring has led to and that brought nothing puts off the next one to a second after it;
 * those that bring news are as many as there is news.
 */
export class RungFetches {
  readonly #fetch: (tip: string | undefined) => void;
  readonly #known: () => string | undefined;
  readonly #now: () => number;
  readonly #later: Later;
  #lastFalse = -Infinity;
  /** Cancels the next request. */
  #cancel: (() => void) | undefined;
  #wanted: string | undefined;
  /** Whether a fetch was requested and has not started. */
  #isAsked = false;
  /** A fetch that was asked for is under way. */
  #isUnderWay = false;

  /**
   * @param fetch requests a fetch, which starts some time after that; it receives the commit that should be there
   * @param known the commit up to which everything is known
   * @param now milliseconds of any clock
   * @param later waits in the time of the machine, unless another one is given
   */
  constructor(
    fetch: (tip: string | undefined) => void,
    known: () => string | undefined,
    now: () => number,
    later: Later = afterMs,
  ) {
    this.#fetch = fetch;
    this.#known = known;
    this.#now = now;
    this.#later = later;
  }

  /** Records a notification that the bus is at this commit; without one, that there may be news. */
  rung(tip?: string): void {
    if (tip !== undefined && tip === this.#known()) return;
    this.#wanted = tip ?? '';
    if (this.#isAsked || this.#isUnderWay || this.#cancel !== undefined) return;
    const wait = this.#lastFalse + BETWEEN_FALSE_MS - this.#now();
    if (wait <= 0) this.#ask();
    else
      this.#cancel = this.#later(wait, () => {
        this.#cancel = undefined;
        this.#ask();
      });
  }

  /** Records that a fetch starts, for whatever reason. */
  begin(): void {
    this.#isUnderWay = this.#isAsked;
    this.#isAsked = false;
    this.#wanted = undefined;
  }

  /** Records that it is over. @param isNew whether it brought anything */
  end(isNew: boolean): void {
    if (this.#isUnderWay && !isNew) this.#lastFalse = this.#now();
    this.#isUnderWay = false;
    const wanted = this.#wanted;
    if (wanted !== undefined) this.rung(wanted === '' ? undefined : wanted);
  }

  stop(): void {
    this.#cancel?.();
  }

  #ask(): void {
    // The news may have come by another way.
    if (this.#wanted === undefined || this.#wanted === this.#known()) return;
    this.#isAsked = true;
    this.#fetch(this.#wanted === '' ? undefined : this.#wanted);
  }
}

const afterMs: Later = (ms, run) => {
  const timer = setTimeout(run, ms);
  return () => {
    clearTimeout(timer);
  };
};
