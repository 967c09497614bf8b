import { formatBeat, type Beat } from '../../bell/beat.ts';
import { readHosts, type HostEntry } from '../../bus/host.ts';
import type { HeardMachine, Heartbeat } from '../../state/heartbeat.ts';
import type { Transport } from '../../transport/transport.ts';

/**
 * Milliseconds for which a change has to last before it is sent: all machines receive it, at a moment when those that
 * have mail need the time, and a short run is over before anybody could look at it.
 */
const LASTING_MS = 1000;
/** The usual time between two beats of one machine, in milliseconds. */
const USUAL_MS = 30_000;
/** Milliseconds after which a report is forgotten. */
const FORGET_MS = 24 * 3_600_000;
/** The most machines that are remembered. */
const MOST = 1000;
/** The most bytes that they take in the heartbeat, which is written at each tick. */
const MOST_BYTES = 256 * 1024;
/** At least as deep as the heartbeat is indented, so that no machine counts less than it takes there. */
const INDENT = 5;

/** The actors that each host of a transport declares, by its alias. */
type Declared = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Reports of other machines about themselves. Anybody may send one in their place, so only those with the alias of a
 * host of the transport are remembered, and only the names of actors that its file declares: nobody can make a
 * machine or an actor appear that is not there. Beyond a fixed size, the machine that was silent longest is
 * forgotten.
 */
export class Machines {
  readonly #transport: Transport;
  readonly #now: () => Date;
  /** In the order in which they were heard last. */
  readonly #heard = new Map<string, { machine: HeardMachine; bytes: number }>();
  #bytes = 0;
  #known: { tip: string; declared: Promise<Declared> } | undefined;
  #said: { text: string; at: number } | undefined;
  /** Time since which this machine differs from its last report. */
  #differs: number | undefined;

  constructor(transport: Transport, now: () => Date) {
    this.#transport = transport;
    this.#now = now;
  }

  /** Those that were heard, by their aliases. */
  get all(): HeardMachine[] {
    const oldest = this.#now().getTime() - FORGET_MS;
    for (const [alias, { machine }] of this.#heard)
      if (Date.parse(machine.at) < oldest) this.#forget(alias);
    const machines = [...this.#heard.values()].map(({ machine }) => machine);
    return machines.sort((a, b) => (a.host < b.host ? -1 : 1));
  }

  /** @param tip the commit whose hosts count; @param self the alias of this machine */
  async hear(beat: Beat, tip: string | undefined, self: string | undefined): Promise<void> {
    if (tip === undefined || beat.host === self) return;
    const declared = await this.#declared(tip);
    const actors = declared.get(beat.host);
    if (actors === undefined) return;
    const { host, version, every, held } = beat;
    const running = beat.running.filter((name) => actors.has(name));
    const machine = { host, version, every, running, held, at: this.#now().toISOString() };
    const bytes = Buffer.byteLength(JSON.stringify(machine, undefined, INDENT));
    this.#forget(host);
    this.#heard.set(host, { machine, bytes });
    this.#bytes += bytes;
    for (const alias of this.#heard.keys()) {
      const isTooMuch = this.#heard.size > MOST || this.#bytes > MOST_BYTES;
      if (isTooMuch || !declared.has(alias)) this.#forget(alias);
    }
  }

  #forget(alias: string): void {
    this.#bytes -= this.#heard.get(alias)?.bytes ?? 0;
    this.#heard.delete(alias);
  }

  /**
   * Returns this machine's report, if it is due: at first, when something has changed for a while, and now and then.
   *
   * @param now milliseconds of any clock
   */
  due(
    { host, version, interval, running, parked }: Heartbeat,
    actors: readonly string[],
    now: number,
  ): string | undefined {
    if (host === null) return undefined;
    const every = Math.max(USUAL_MS / 1000, interval);
    const names = running.map(({ actor }) => actor);
    const text = formatBeat({
      ...{ host, version, every, held: parked.length },
      ...{ actors: [...actors], running: names },
    });
    const { at = -Infinity, text: before = text } = this.#said ?? {};
    this.#differs = text === before ? undefined : (this.#differs ?? now);
    const hasLasted = this.#differs !== undefined && now - this.#differs >= LASTING_MS;
    if (!hasLasted && now - at < USUAL_MS) return undefined;
    this.#said = { text, at: now };
    this.#differs = undefined;
    return text;
  }

  /** Marks the last report as possibly not received: it is sent again at the next opportunity. */
  again(): void {
    this.#said = undefined;
  }

  #declared(tip: string): Promise<Declared> {
    if (this.#known?.tip === tip) return this.#known.declared;
    const declared = readHosts(this.#transport, tip).then(declaredBy);
    this.#known = { tip, declared };
    return declared;
  }
}

/**
 * Returns the actors that an alias declares: all actors if several files claim it, since which one counts decides
 * nothing here.
 */
function declaredBy(hosts: readonly HostEntry[]): Declared {
  const declared = new Map<string, Set<string>>();
  for (const { result } of hosts) {
    if (!result.ok) continue;
    const { alias, actors } = result.value;
    declared.set(alias, new Set([...(declared.get(alias) ?? []), ...actors.keys()]));
  }
  return declared;
}
