import { formatBeat, type Beat } from '../../bell/beat.ts';
import { readHosts } from '../../bus/host.ts';
import type { HeardMachine, Heartbeat } from '../../state/heartbeat.ts';
import type { Transport } from '../../transport/transport.ts';

/**
 * How long a change has to last until it is said, in milliseconds: all machines hear it, at a moment when
 * those that have mail need the time, and a short run is over before anybody could look at it.
 */
const LASTING_MS = 1000;
/** The usual time between two beats of one machine, in milliseconds. */
const USUAL_MS = 30_000;
/** What was heard longer ago than this is forgotten, in milliseconds. */
const FORGET_MS = 24 * 3_600_000;
/** The most machines that are remembered. */
const MOST = 1000;

/**
 * What other machines say of themselves: only what has the alias of a host of the transport is
 * remembered, so that nobody can make a machine appear that is not there.
 */
export class Machines {
  readonly #transport: Transport;
  readonly #now: () => Date;
  readonly #heard = new Map<string, HeardMachine>();
  #known: { tip: string; aliases: Promise<ReadonlySet<string>> } | undefined;
  #said: { text: string; at: number } | undefined;
  /** Since when this machine differs from what it said. */
  #differs: number | undefined;

  constructor(transport: Transport, now: () => Date) {
    this.#transport = transport;
    this.#now = now;
  }

  /** Those that were heard, by their aliases. */
  get all(): HeardMachine[] {
    const oldest = this.#now().getTime() - FORGET_MS;
    for (const [alias, { at }] of this.#heard)
      if (Date.parse(at) < oldest) this.#heard.delete(alias);
    return [...this.#heard.values()].sort((a, b) => (a.host < b.host ? -1 : 1));
  }

  /** @param tip the commit whose hosts count; @param self the alias of this machine */
  async hear(beat: Beat, tip: string | undefined, self: string | undefined): Promise<void> {
    if (tip === undefined || beat.host === self) return;
    const aliases = await this.#aliases(tip);
    if (!aliases.has(beat.host)) return;
    if (!this.#heard.has(beat.host) && this.#heard.size >= MOST) return;
    this.#heard.set(beat.host, { ...beat, at: this.#now().toISOString() });
    for (const alias of this.#heard.keys()) if (!aliases.has(alias)) this.#heard.delete(alias);
  }

  /**
   * What this machine has to say of itself, if it is time: at first, when something has changed for a while,
   * and now and then.
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

  /** What was said may not have been heard: it is said again at the next opportunity. */
  again(): void {
    this.#said = undefined;
  }

  #aliases(tip: string): Promise<ReadonlySet<string>> {
    if (this.#known?.tip === tip) return this.#known.aliases;
    const aliases = readHosts(this.#transport, tip).then(
      (hosts) => new Set(hosts.flatMap(({ result }) => (result.ok ? [result.value.alias] : []))),
    );
    this.#known = { tip, aliases };
    return aliases;
  }
}
