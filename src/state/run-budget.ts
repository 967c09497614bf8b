import { rename, writeFile } from 'node:fs/promises';
import { isRecord, readJson } from './files.ts';

const HOUR_MS = 3_600_000;

/**
 * When each tier's CLI was started during the last hour, against `max_runs_per_hour`: a guard that
 * no message can talk its way around. It is kept on disk, so that a restart does not reset it.
 */
export class RunBudget {
  readonly #path: string;
  #starts: Map<string, number[]> | undefined;
  #saving: Promise<void> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * When the next run of a tier may start; undefined when it may start now.
   *
   * @param now milliseconds since the epoch. A start that lies in the future, after the clock was
   *   set back, does not count
   */
  async nextStart(
    actor: string,
    tier: string,
    limit: number,
    now: number,
  ): Promise<Date | undefined> {
    const starts = (await this.#load()).get(`${actor} ${tier}`) ?? [];
    const recent = starts.filter((at) => at > now - HOUR_MS && at <= now);
    const blocking = recent.length < limit ? undefined : recent[recent.length - limit];
    return blocking === undefined ? undefined : new Date(blocking + HOUR_MS);
  }

  /** Counts a start. */
  async note(actor: string, tier: string, now: number): Promise<void> {
    const all = await this.#load();
    const key = `${actor} ${tier}`;
    const recent = (all.get(key) ?? []).filter((at) => at > now - HOUR_MS && at <= now);
    all.set(key, [...recent, now]);
    await this.#saved(all);
  }

  /** Takes a start back after which no CLI was run. */
  async takeBack(actor: string, tier: string, at: number): Promise<void> {
    const all = await this.#load();
    const key = `${actor} ${tier}`;
    const starts = all.get(key) ?? [];
    all.set(key, starts.toSpliced(starts.lastIndexOf(at), starts.includes(at) ? 1 : 0));
    await this.#saved(all);
  }

  #saved(all: Map<string, number[]>): Promise<void> {
    this.#saving = this.#saving.then(() => this.#save(all)).catch(() => undefined);
    return this.#saving;
  }

  async #save(all: Map<string, number[]>): Promise<void> {
    await writeFile(`${this.#path}.new`, JSON.stringify(Object.fromEntries(all)), { mode: 0o600 });
    await rename(`${this.#path}.new`, this.#path);
  }

  async #load(): Promise<Map<string, number[]>> {
    if (this.#starts !== undefined) return this.#starts;
    const read = await readJson(this.#path);
    const entries = read && isRecord(read.value) ? Object.entries(read.value) : [];
    const valid = entries.filter(
      (entry): entry is [string, number[]] =>
        Array.isArray(entry[1]) && entry[1].every((at) => typeof at === 'number'),
    );
    this.#starts = new Map(valid);
    return this.#starts;
  }
}
