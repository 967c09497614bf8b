import type { Transport } from '../transport/transport.ts';

/** Measures one tick for its line in the log: time, git processes, objects and bytes read. */
export class TickMeter {
  readonly #transport: Pick<Transport, 'cost'>;
  readonly #begun = performance.now();
  #asked = this.#begun;
  #before: Transport['cost'];
  #after: Transport['cost'];

  constructor(transport: Pick<Transport, 'cost'>) {
    this.#transport = transport;
    this.#before = transport.cost;
    this.#after = this.#before;
  }

  /** Called before the remote is asked: the work of git counts from here. */
  asks(): void {
    this.#before = this.#transport.cost;
  }

  hasAsked(): void {
    this.#asked = performance.now();
  }

  /** Called after everything new was read: the work of git for runs and pushes does not count. */
  hasRead(): void {
    this.#after = this.#transport.cost;
  }

  /** @param fetch whether the remote was asked */
  figures(fetch: boolean): Record<string, number> {
    const [before, after] = [this.#before, this.#after];
    return {
      git_processes: after.processes - before.processes,
      objects_read: after.reads - before.reads,
      bytes_read: after.bytes - before.bytes,
      ...(fetch && { fetch_ms: tenths(this.#asked - this.#begun) }),
      duration_ms: tenths(performance.now() - this.#begun),
    };
  }
}

function tenths(ms: number): number {
  return Math.round(10 * ms) / 10;
}
