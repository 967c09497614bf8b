import type { AskEvents } from '../../actions/sending/ask.ts';
import type { Replied, Ending } from '../../actions/reading/replies.ts';
import type { Sent } from '../../actions/sending/input.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { optionLines } from '../../protocol/talk.ts';
import type { Located } from '../../protocol/message.ts';
import { note, type Call, print, text } from '../command/command.ts';
import { colourless, indent, painter } from './render.ts';
import { repliedJson } from '../../actions/shapes/as-json.ts';
import { markOf } from '../../protocol/owed.ts';
import { markedLines } from '../../protocol/text/structure.ts';
import { durationOf } from '../command/values.ts';
import { EXIT } from '../command/io.ts';
import { verifiedMark } from './message.ts';
import { localTimes } from '../../present/times.ts';
import { decideCommands, replyCommand, failureLines, reasonsOf } from '../../present/replies.ts';
import { filesMark, markWords, writerWords, branchMark } from '../../present/marks.ts';
import { waitingFor } from '../../present/holds.ts';
import { queuedLine } from '../../present/state.ts';

const DEFAULT_TIMEOUT_S = '600';
/** A year. */
const LONGEST_MS = 365 * 86_400_000;

/** Returns the messages that a command is about, from its arguments and `--re`, separated by blanks or commas. */
export function messagesOf(call: Call): string[] {
  const words = [...call.args, text(call, 're')].flatMap((word) => (word ?? '').split(','));
  const messages = words.map((word) => word.trim()).filter((word) => word !== '');
  if (messages.length > 0) return messages;
  throw new CrosstalkError(
    'usage',
    `no message was named; give the path that send printed: crosstalk ${call.name} <relPath>`,
  );
}

/** Returns the value of `--timeout` in milliseconds. */
export function timeoutOf(call: Call): number {
  return durationOf(call, 'timeout', { fallback: DEFAULT_TIMEOUT_S, least: 0, most: LONGEST_MS });
}

/** Prints the answers to some messages (cli.md). */
export function printReplied(call: Call, found: readonly Replied[]): void {
  print(call, found.map(repliedJson), () => found.map((one) => render(call, one)).join('\n'));
}

/**
 * Prints on stderr why the waiting ended without the answers, and returns the exit code of a command that has waited.
 */
export function ended(call: Call, ending: Ending, found: readonly Replied[]): number {
  if (ending === 'complete') return EXIT.ok;
  for (const one of found)
    for (const line of reasonsOf(one)) note(call, `${one.ref.relPath}: ${localTimes(line)}`);
  if (ending === 'timed_out') return EXIT.timedOut;
  // An actor that chose silence beside others who have answered has not failed.
  return found.some(({ state, failures }) => state !== 'REPLIED' || failures.length > 0)
    ? EXIT.failed
    : EXIT.ok;
}

/** Returns a function that prints on stderr the causes that hold an answer up. */
export function heldUpTo(call: Call): (line: string) => void {
  return (line) => {
    note(call, localTimes(line));
  };
}

/** The beginning of a line that this program prints itself, after blanks and invisible characters. */
const OURS = /^[\p{Z}\p{C}>]*(?:REPLIED|PENDING|FAILED|from\s+\S+)\s+\d{4}\//u;

const COLOURS = { PENDING: 'yellow', REPLIED: 'green', FAILED: 'red' } as const;

function render({ io }: Call, { ref, state, replies: list, ...rest }: Replied): string {
  const { cancellations } = rest;
  const paint = painter(io);
  return [
    `${paint(COLOURS[state], state)} ${ref.relPath}`,
    ...failureLines(rest, ({ dead_letter: id }) => `; dead letter ${id}`).map((one) => `  ${one}`),
    ...list.map(({ relPath, message, verified }) => {
      // If the text were indented only as much as the line above it, it could pass for another
      // reply.
      const said = [message.body, ...optionLines(message.options ?? [])].join('\n');
      const body = markedLines(colourless(said), (line) => OURS.test(line));
      const mark = markOf(message);
      const notes = [
        ...verifiedMark(paint, verified),
        ...(mark === null
          ? []
          : [markWords(mark, cancellations?.find((one) => one.relPath === relPath)?.force)]),
        ...filesMark(message.files),
        ...branchMark(message),
      ].map((words) => ` (${words})`);
      return `  from ${message.from} ${relPath}${notes.join('')}\n${indent(body)}`;
    }),
  ].join('\n');
}

/** Output on stderr between a question and its answer, and prompts on a terminal. */
export class Talk {
  /** Whether the question is on the bus, or safely queued. */
  isSent = false;
  readonly events: AskEvents;
  readonly #call: Call;
  /** Ends the prompt for a reply. */
  #prompt = new AbortController();
  /** Whether the person has replied to the last word. */
  #replied: Promise<'replied' | 'silent'> = Promise.resolve('silent');

  constructor(call: Call) {
    this.#call = call;
    this.events = {
      onDurable: () => {
        this.isSent = true;
      },
      onSent: (_, { delivered }) => {
        this.isSent = true;
        if (!delivered.published) note(call, queuedLine(delivered.reason));
      },
      heldUp: heldUpTo(call),
      waits: (question) => {
        this.#tell(question);
      },
      spoke: (word, answer, asker) => {
        this.#hear(word, answer, asker);
      },
      answerWith: async (...given) => {
        const { answerShown } = await import('../../actions/deciding/choice.ts');
        return answerShown(...given);
      },
      isOver: async ({ state }) => state === 'FAILED' || (await this.#replied) === 'silent',
    };
  }

  /** Takes the prompt away. */
  end(): void {
    this.#prompt.abort();
  }

  /** Prints the events meanwhile on a terminal. */
  #tell({ owing }: Replied): void {
    const { io } = this.#call;
    if (!io.errIsTty) return;
    const at = owing.find(({ runs_since: since }) => since !== undefined);
    const whom = [...new Set(owing.map(({ actor }) => actor))].slice(0, 3).join(', ');
    if (at !== undefined) io.err(`(${at.actor} is working on it…)\n`);
    else if (whom !== '') io.err(`(${waitingFor(whom)}…)\n`);
  }

  #hear(word: Located, answer: (body: string) => Promise<Sent>, asker: string): void {
    const { io } = this.#call;
    const { relPath, message } = word;
    const { permission } = message;
    const said = [
      message.body.trimEnd(),
      ...(permission === undefined
        ? []
        : [
            `tool: ${escapeInvisible(permission.tool)}`,
            `input: ${escapeInvisible(permission.input)}`,
          ]),
      ...optionLines(message.options ?? []),
    ].join('\n');
    const text = colourless(said);
    // A note that the mail is held asks nothing.
    if (message.extra['held'] !== undefined) {
      note(this.#call, text);
      return;
    }
    if (message.proposal === true) {
      note(
        this.#call,
        `${writerWords(message.from, word.verified)} proposes, in ${relPath}:\n${indent(text)}`,
      );
      const decides = permission !== undefined && message.to.some(({ name }) => name === asker);
      // A plan is decided on by a command of its own, which shows the whole of it.
      if (decides && io.ask !== undefined)
        this.#prompts('decide (a number; Enter: later): ', answer);
      else note(this.#call, decideCommands(relPath, message.to));
      return;
    }
    note(
      this.#call,
      `${writerWords(message.from, word.verified)} says on the way, in ${relPath}:\n${indent(text)}`,
    );
    if (io.ask === undefined) note(this.#call, replyCommand(relPath));
    else this.#prompts(`reply to ${message.from} (Enter: none): `, answer);
  }

  /** Shows a prompt in the place of the one before. */
  #prompts(question: string, answer: (body: string) => Promise<Sent>): void {
    this.#prompt.abort();
    this.#prompt = new AbortController();
    this.#replied = this.#take(question, answer, this.#prompt.signal);
  }

  /** Takes a reply on the terminal, while the waiting goes on; one that is not an option is asked for again. */
  async #take(
    question: string,
    answer: (body: string) => Promise<Sent>,
    signal: AbortSignal,
  ): Promise<'replied' | 'silent'> {
    const { io } = this.#call;
    for (;;) {
      try {
        const text = (await io.ask?.(question, signal)) ?? '';
        if (signal.aborted || text.trim() === '') return 'silent';
        await answer(text);
        return 'replied';
      } catch (error) {
        if (signal.aborted) return 'silent';
        note(this.#call, `the reply was not sent: ${reasonOf(error)}`);
        if (!(error instanceof CrosstalkError && error.code === 'usage')) return 'silent';
      }
    }
  }
}
