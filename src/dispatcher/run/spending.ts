import { OUTPUT_FORMATS } from '../../agents/output/formats.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';
import { linesIn, type Ledger, type LedgerLine } from '../../state/bills/ledger.ts';

/** Money in US dollars, and tokens without those read from a cache. */
export interface Amount {
  usd: number;
  tokens: number;
}

const NOTHING: Amount = { usd: 0, tokens: 0 };
/** The runs of an actor by which the next one is judged. */
const RECENT = 21;

/**
 * What the runs of this machine have cost today, by its ledger. The day only goes forward: a clock that
 * is set back stays on the last day of the ledger, so it buys nothing.
 */
export class Spending {
  readonly #ledger: Ledger;
  readonly #now: () => Date;
  #loading: Promise<void> | undefined;
  /** What becomes of new lines: nothing before the ledger is read, and kept while it is. */
  #state: 'unread' | 'reading' | 'read' = 'unread';
  #meanwhile: LedgerLine[] = [];
  #day = '';
  #today: LedgerLine[] = [];
  /** By actor, what its last runs cost that stated it. */
  readonly #recent = new Map<string, Amount[]>();
  readonly #seen = new Set<string>();

  constructor(ledger: Ledger, now: () => Date) {
    this.#ledger = ledger;
    this.#now = now;
    ledger.events.on('line', (line) => {
      if (this.#state === 'read') this.#note(line);
      else if (this.#state === 'reading') this.#meanwhile.push(line);
    });
  }

  /** Reads what the ledger has of this month; only the first call does. */
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
    if (this.#seen.has(line.id)) return;
    this.#seen.add(line.id);
    const day = dayOf(line);
    if (day > this.#day) this.#turn(day);
    // One with an earlier time came after the clock was set back, or is of a run over midnight.
    this.#today.push(line);
    const { ended, usage } = line;
    // What is refused is hardly ever paid, and says nothing of the next run.
    if (usage === undefined || ended === 'refused') return;
    const recent = this.#recent.get(line.actor) ?? [];
    const amount = { usd: usage.usd ?? Number.NaN, tokens: usage.input + usage.output };
    this.#recent.set(line.actor, [...recent, amount].slice(-RECENT));
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

  /** What the runs of this day have cost that are chosen. */
  today(isMeant: (line: LedgerLine) => boolean): Amount {
    this.#advance();
    return sum(this.#today.filter(isMeant).map((line) => this.#amountOf(line)));
  }

  /** What all runs of a thread have cost, and which they were. */
  async ofThread({ channel, relPath }: MessageRef): Promise<Amount & { ids: ReadonlySet<string> }> {
    const lines = [...this.#ledger.unwritten];
    for (const month of await this.#ledger.months()) {
      const text = await this.#ledger.text(month);
      const found = text.split('\n').filter((line) => line.includes(relPath));
      lines.push(...linesIn(found.join('\n')));
    }
    const own = lines.filter(
      ({ thread }) => thread.relPath === relPath && thread.channel === channel,
    );
    const byId = new Map(own.map((line) => [line.id, line]));
    return {
      ...sum([...byId.values()].map((line) => this.#amountOf(line))),
      ids: new Set(byId.keys()),
    };
  }

  /**
   * What a run of an actor is likely to cost: the median of its last ones, or of all actors'.
   *
   * @param agent the known agent CLI that it starts; any other command states nothing, and costs nothing
   */
  likely(actor: string, agent: string | undefined): Amount {
    if (agent === undefined) return NOTHING;
    const recent = this.#recent.get(actor) ?? [...this.#recent.values()].flat();
    const usd = recent.map((one) => one.usd).filter((one) => !Number.isNaN(one));
    return {
      usd: OUTPUT_FORMATS[agent]?.money === true ? median(usd) : 0,
      tokens: median(recent.map(({ tokens }) => tokens)),
    };
  }

  /**
   * A run that was ended before it stated what it cost is taken to have cost what is likely. One that was
   * refused costs what it states: an account may reach its limit in the middle of the work.
   */
  #amountOf({ actor, agent, ended, reason, usage }: LedgerLine): Amount {
    const isPaid = ended !== 'refused' && reason !== 'not_started';
    if (usage === undefined) return isPaid ? this.likely(actor, agent) : NOTHING;
    return {
      usd: usage.usd ?? (isPaid ? this.likely(actor, agent).usd : 0),
      tokens: usage.input + usage.output,
    };
  }
}

function dayOf({ at }: LedgerLine): string {
  return at.slice(0, 10);
}

/** The sum of some amounts, exact to a millionth. */
export function sum(amounts: readonly Amount[]): Amount {
  const usd = amounts.reduce((all, one) => all + one.usd, 0);
  return {
    usd: Math.round(usd * 1e6) / 1e6,
    tokens: amounts.reduce((all, one) => all + one.tokens, 0),
  };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
