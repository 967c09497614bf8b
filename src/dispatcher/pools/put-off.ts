import type { Claims } from '../../bus/claims.ts';

/** Milliseconds after which a claim that could not be pushed is tried again. */
const RETRY_MS = 5000;
/** The longest time for which a released message is put off, whatever its end says. */
const LONGEST_MS = 3_600_000;

/** Messages that are not to be claimed before a time, by folder of claims. */
export class PutOff {
  readonly #now: () => Date;
  /** With the end by which each was put off. */
  readonly #until = new Map<string, { at: number; end?: string | null }>();

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** Whether a message has to wait. */
  has(key: string): boolean {
    return (this.#until.get(key)?.at ?? 0) > this.#now().getTime();
  }

  /**
   * Puts a message off as its release says, once: until the time that it names, but no longer than from its writing to
   * that time, as clocks differ.
   *
   * @returns whether it has to wait
   */
  byRelease(key: string, { end, endOid }: Pick<Claims, 'end' | 'endOid'>): boolean {
    const now = this.#now().getTime();
    const due = Date.parse(end?.notBefore ?? '');
    const wait = Math.min(due - Date.parse(end?.at ?? ''), due - now, LONGEST_MS);
    if (!(wait > 0) || this.#until.get(key)?.end === endOid) return false;
    this.#until.set(key, { at: now + wait, end: endOid });
    return true;
  }

  /** Puts a message off whose claim could not be pushed. */
  retry(key: string): void {
    this.#until.set(key, { ...this.#until.get(key), at: this.#now().getTime() + RETRY_MS });
  }

  drop(key: string): void {
    this.#until.delete(key);
  }

  /** Returns when messages may be claimed, in milliseconds since 1970. */
  times(): number[] {
    return [...this.#until.values()].map(({ at }) => at);
  }
}
