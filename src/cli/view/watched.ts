import type { Seen } from '../../operations/watching/watch.ts';
import { dollars, grouped } from '../../protocol/text/amounts.ts';
import { reasonInWords } from '../../protocol/text/words.ts';
import type { UsageSum } from '../../protocol/usage.ts';
import { actor, shortName, type Paint } from './message.ts';
import { colourless } from './render.ts';
import { ageOf, localTime } from '../../present/times.ts';

/** The first column of a line that is ours; what runs print begins in the third. */
const OURS = '── ';
/** The first two columns of what a run printed or did. */
const MARKS = { out: '  ', says: '  ', err: '! ', fails: '✕ ', tool: '→ ' } as const;
/** The most messages that a heading names. */
const MAX_NAMED = 4;

type Shown = Exclude<Seen, { kind: 'waits' }>;
type TranscriptHead = Shown['run'];
type TranscriptLine = (Shown & { kind: 'line' })['line'];

/**
 * What runs print, as lines for a terminal. Each line of a run is indented, so that nothing a run prints
 * can pass for a line of ours, and a heading says whose it is when that changes.
 */
export class WatchedView {
  readonly #paint: Paint;
  /** The run that printed last. */
  #speaker = '';
  /** The kind of the line that is not complete yet. */
  #open: TranscriptLine['kind'] | undefined;
  #used = '';

  constructor(paint: Paint) {
    this.#paint = paint;
  }

  /** @returns what to print for it */
  text(seen: Shown): string {
    const { run } = seen;
    if (seen.kind === 'run') return this.#ours(run, this.#beginning(seen.run, seen.live));
    if (seen.kind === 'cut')
      return this.#ours(
        run,
        `${this.#name(run)}  cut off: its dispatcher ended before it did, or the disk was full`,
      );
    const { line } = seen;
    if (line.kind === 'end') return this.#ours(run, this.#ending(run, line));
    // It ends the line of another run, so it comes first.
    const heading = this.#speaker === run.id ? '' : this.#ours(run, this.#name(run));
    return heading + this.#said(line);
  }

  #said(line: Exclude<TranscriptLine, { kind: 'end' }>): string {
    switch (line.kind) {
      case 'used':
        return this.#usage(line.usage);
      case 'gap':
        return this.#aside(
          line.bytes === undefined
            ? '… something is left out'
            : `… ${grouped(line.bytes)} bytes are left out`,
        );
      case 'tool':
        return this.#aside(`${MARKS.tool}${colourless(line.text)}`, 'cyan');
      case 'out':
      case 'err':
        return this.#printed(line.kind, colourless(line.text));
      default:
        return this.#closed() + this.#printed(line.kind, `${colourless(line.text).trimEnd()}\n`);
    }
  }

  /** Text of which the last line may go on later. */
  #printed(kind: keyof typeof MARKS, text: string): string {
    if (text === '') return '';
    const closed = this.#open === kind ? '' : this.#closed();
    const isGoingOn = this.#open === kind;
    const isWhole = text.endsWith('\n');
    const lines = (isWhole ? text.slice(0, -1) : text).split('\n');
    const marked = lines.map((line, index) =>
      (index === 0 && isGoingOn) || line === '' ? line : `${MARKS[kind]}${line}`,
    );
    this.#open = isWhole ? undefined : kind;
    return `${closed}${marked.join('\n')}${isWhole ? '\n' : ''}`;
  }

  #usage({ input, cached, output, usd }: UsageSum): string {
    const money = usd === undefined ? '' : `, ${dollars(usd)}`;
    const text = `· so far ${grouped(input)} in, ${grouped(cached)} cached, ${grouped(output)} out${money}`;
    if (text === this.#used) return '';
    this.#used = text;
    return this.#aside(text);
  }

  #aside(text: string, style: 'dim' | 'cyan' = 'dim'): string {
    return `${this.#closed()}${this.#paint(style, text)}\n`;
  }

  #ours(run: TranscriptHead, text: string): string {
    if (this.#speaker !== run.id) this.#used = '';
    this.#speaker = run.id;
    return `${this.#closed()}${OURS}${text}\n`;
  }

  /** Ends a line that is not complete. */
  #closed(): string {
    const isOpen = this.#open !== undefined;
    this.#open = undefined;
    return isOpen ? '\n' : '';
  }

  #beginning(run: TranscriptHead, isLive: boolean): string {
    const { host, tier, since, messages } = run;
    const more =
      messages.length > MAX_NAMED ? ` and ${String(messages.length - MAX_NAMED)} more` : '';
    const refs = messages.slice(0, MAX_NAMED).map(shortName).join(', ');
    const facts = [
      `${this.#name(run)} on ${colourless(host)}`,
      `tier ${colourless(tier)}`,
      `for ${refs}${more}`,
      this.#paint('dim', `${isLive ? 'since' : 'ended; began'} ${localTime(new Date(since))}`),
    ];
    return facts.join('  ');
  }

  #ending(run: TranscriptHead, { at, ended, reason }: TranscriptLine & { kind: 'end' }): string {
    const seconds = Math.max(0, Math.round((Date.parse(at) - Date.parse(run.since)) / 1000));
    const why = reason === undefined ? '' : `: ${colourless(reasonInWords(reason))}`;
    return `${this.#name(run)}  ${colourless(ended)}${why}  ${this.#paint('dim', `after ${ageOf(seconds)}`)}`;
  }

  #name(run: TranscriptHead): string {
    return actor(this.#paint, colourless(run.actor));
  }
}
