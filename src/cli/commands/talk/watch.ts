import { watch, type Seen } from '../../../actions/watching/watch.ts';
import { flag, inTransport, note, text, type Call } from '../../command/command.ts';
import { EXIT } from '../../command/io.ts';
import type { CommandSpec } from '../../command/spec.ts';
import { painter, colourless } from '../../view/render.ts';
import { timeoutOf } from '../../view/talk.ts';
import { secondsSince, ageOf, localTime } from '../../../present/times.ts';
import { noDispatcher, waitingFor } from '../../../present/holds.ts';
import { CUT_OFF, endedWords, leftOut, usedWords } from '../../../present/runs.ts';
import type { UsageSum } from '../../../protocol/usage.ts';
import { actor, shortName, type Paint } from '../../view/message.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'watch',
    args: '[actor|message]',
    summary: 'what runs of this machine print, as they print it',
    options: [
      ['-f, --follow', 'go on with the next runs, until Ctrl-C'],
      ['--timeout <s>', 'stop after so long, and end with exit code 3 (default: never)'],
    ],
    details: [
      'Without an argument all runs under way, or the next one to begin. It ends when they end; of a',
      'message that was handled it shows what its run printed. Of claude, codex, opencode and pi in a plain',
      'call: the text, the tools called and the tokens so far. Of other machines nothing is known here.',
    ].join('\n'),
    notInRun: 'what runs print may be secret, and is for the operator of the machine',
    interrupt: 'clean',
    lines: true,
    example: 'crosstalk watch concierge',
    run,
  },
];

function run(call: Call): Promise<number> {
  const { io, args } = call;
  const [what] = args;
  const isJson = flag(call, 'json');
  const limit = text(call, 'timeout') === undefined ? undefined : timeoutOf(call);
  const timer = new AbortController();
  const signal = AbortSignal.any([io.stop, timer.signal]);
  const input = {
    follow: flag(call, 'follow'),
    signal,
    ...(what !== undefined && { what }),
  };
  return inTransport(call, async (context) => {
    const view = new WatchedView(painter(io));
    let isTold = false;
    const after = limit === undefined ? undefined : atMost(limit, timer);
    try {
      for await (const seen of watch(context, input)) {
        // Not before it is clear that there is something to watch.
        if (!isTold)
          note(call, 'runs of this machine only; what other machines run is watched there');
        isTold = true;
        if (seen.kind !== 'waits') io.out(isJson ? json(seen) : view.text(seen));
        else if (seen.dispatcher) note(call, `nothing runs; ${waitingFor(seen.next)}`);
        else note(call, noDispatcher(`; ${waitingFor(seen.next)}`));
      }
    } finally {
      clearTimeout(after);
    }
    return timer.signal.aborted && !io.stop.aborted ? EXIT.timedOut : EXIT.ok;
  });
}

/** The longest that a timer of Node waits. */
const MOST_TIMER_MS = 2 ** 31 - 1;

function atMost(ms: number, timer: AbortController): NodeJS.Timeout {
  return setTimeout(
    () => {
      timer.abort();
    },
    Math.min(ms, MOST_TIMER_MS),
  );
}

function json(seen: Exclude<Seen, { kind: 'waits' }>): string {
  const { id, actor, ...head } = seen.run;
  const told = seen.kind === 'run' ? { ...head, live: seen.live } : { kind: 'cut' };
  const said = seen.kind === 'line' ? seen.line : told;
  return `${JSON.stringify({ run: id, actor, ...said })}\n`;
}

/** First column of a line that is ours; the output of runs begins in the third. */
const OURS = '── ';
/** First two columns of a line of a run's output or actions. */
const MARKS = { out: '  ', says: '  ', err: '! ', fails: '✕ ', tool: '→ ' } as const;
/** The most messages that a heading names. */
const MAX_NAMED = 4;

type Shown = Exclude<Seen, { kind: 'waits' }>;
type TranscriptHead = Shown['run'];
type TranscriptLine = (Shown & { kind: 'line' })['line'];

/**
 * View of the output of runs, as lines for a terminal. Each line of a run is indented, so that nothing a run prints
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

  /** @returns the text to print for it */
  text(seen: Shown): string {
    const { run } = seen;
    if (seen.kind === 'run') return this.#ours(run, this.#beginning(seen.run, seen.live));
    if (seen.kind === 'cut') return this.#ours(run, `${this.#name(run)}  ${CUT_OFF}`);
    const { line } = seen;
    if (line.kind === 'end') return this.#ours(run, this.#ending(run, line));
    // The heading ends the line of another run, so it comes first.
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
