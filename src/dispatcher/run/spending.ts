import type { MessageRef } from '../../protocol/layout.ts';
import { linesIn, type Ledger, type LedgerLine } from '../../state/bills/ledger.ts';

/** Money in US dollars, and tokens without those read from a cache. */
export interface Amount {
  usd: number;
  tokens: number;
}

/** Sum of what some runs count as, with the presumed part, as they did not state it. */
export interface Spent extends Amount {
  presumed: Amount;
}

/**
 * Costs of the runs of this machine today, by its ledger. The day only goes forward: a clock that is set back stays
 * on the last day of the ledger, so it buys nothing.
 */
export class Spending {
  readonly #ledger: Ledger;
  readonly #now: () => Date;
  #loading: Promise<void> | undefined;
  /** State of the ledger: new lines are dropped before it is read, and collected while it is. */
  #state: 'unread' | 'reading' | 'read' = 'unread';
  #meanwhile: LedgerLine[] = [];
  #day = '';
  #today: LedgerLine[] = [];
  readonly #seen = new Set<string>();

  constructor(ledger: Ledger, now: () => Date) {
    this.#ledger = ledger;
    this.#now = now;
    ledger.events.on('line', (line) => {
      if (this.#state === 'read') this.#note(line);
      else if (this.#state === 'reading') this.#meanwhile.push(line);
    });
  }

  /** Reads the lines of this month from the ledger; only the first call does. */
  load(): Promise<void> {
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = undefined;
      this.#state = 'unread';
      throw error;
    });
    return this.#loading;
  }

  async #load(): Promise<void> {
    this.#state = 'reading';
    const [month = ''] = (await this.#ledger.months()).slice(-1);
    const written = linesIn(await this.#ledger.text(month));
    for (const line of [...written, ...this.#ledger.unwritten, ...this.#meanwhile])
      this.#note(line);
    this.#meanwhile = [];
    this.#state = 'read';
  }

  #note(line: LedgerLine): void {
    // A run that was started again has a line for each time.
    const key = `${line.id} ${line.at}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    const day = dayOf(line);
    if (day > this.#day) this.#turn(day);
    // One with an earlier time came after the clock was set back, or is of a run over midnight.
    this.#today.push(line);
  }

  /** The day (UTC), such as `2026-11-24`. */
  get day(): string {
    this.#advance();
    return this.#day;
  }

  #advance(): void {
    const day = this.#now().toISOString().slice(0, 10);
    if (day > this.#day) this.#turn(day);
  }

  #turn(day: string): void {
    this.#day = day;
    this.#today = [];
    this.#seen.clear();
  }

  /** Returns the costs of this day's runs that are selected. */
  today(isMeant: (line: LedgerLine) => boolean): Spent {
    this.#advance();
    return spentBy(this.#today.filter(isMeant));
  }

  /** Returns the costs of all runs of a thread, and the runs. */
  async ofThread({ channel, relPath }: MessageRef): Promise<Spent & { ids: ReadonlySet<string> }> {
    const lines = [...this.#ledger.unwritten];
    for (const month of await this.#ledger.months()) {
      const text = await this.#ledger.text(month);
      const found = text.split('\n').filter((line) => line.includes(relPath));
      lines.push(...linesIn(found.join('\n')));
    }
    const own = lines.filter(
      ({ thread }) => thread.relPath === relPath && thread.channel === channel,
    );
    const each = new Map(own.map((line) => [`${line.id} ${line.at}`, line]));
    return {
      ...spentBy([...each.values()]),
      ids: new Set(own.map(({ id }) => id)),
    };
  }
}

function spentBy(lines: readonly LedgerLine[]): Spent {
  const presumed = lines.filter((line) => line.presumed === true || line.usage === undefined);
  return { ...sum(lines.map(amountOf)), presumed: sum(presumed.map(amountOf)) };
}

/**
 * Returns the amount that a run counts as. The part that it did not state counts as the amount reserved for it,
 * unless more was seen: to end it earlier, or to keep it from stating its usage, makes it no cheaper.
 */
function amountOf({ usage, handed, presumed }: LedgerLine): Amount {
  const tokens = (usage?.input ?? 0) + (usage?.output ?? 0);
  if (usage === undefined || presumed === true)
    return {
      usd: Math.max(usage?.usd ?? 0, handed?.usd ?? 0),
      tokens: Math.max(tokens, handed?.tokens ?? 0),
    };
  return { usd: usage.usd ?? (tokens + usage.cached === 0 ? 0 : (handed?.usd ?? 0)), tokens };
}

function dayOf({ at }: LedgerLine): string {
  return at.slice(0, 10);
}

/** Returns the sum of some amounts, exact to a millionth. */
export function sum(amounts: readonly Amount[]): Amount {
  const usd = amounts.reduce((all, one) => all + one.usd, 0);
  return {
    usd: Math.round(usd * 1e6) / 1e6,
    tokens: amounts.reduce((all, one) => all + one.tokens, 0),
  };
}
