import type { Seen } from '../../operations/watching/watch.ts';
import type { UsageSum } from '../../protocol/usage.ts';
import { actor, shortName, type Paint } from './message.ts';
import { colourless } from './render.ts';
import { secondsSince, ageOf, localTime } from '../../present/times.ts';
import { CUT_OFF, endedWords, leftOut, usedWords } from '../../present/runs.ts';

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
    if (seen.kind === 'cut') return this.#ours(run, `${this.#name(run)}  ${CUT_OFF}`);
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
        return this.#aside(leftOut(line.bytes));
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

  #usage(used: UsageSum): string {
    const text = `· ${usedWords(used)}`;
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

  #ending(run: TranscriptHead, end: TranscriptLine & { kind: 'end' }): string {
    const took = ageOf(secondsSince(run.since, Date.parse(end.at)));
    return `${this.#name(run)}  ${colourless(endedWords(end))}  ${this.#paint('dim', `after ${took}`)}`;
  }

  #name(run: TranscriptHead): string {
    return actor(this.#paint, colourless(run.actor));
  }
}
