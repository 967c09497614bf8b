import type { AskEvents } from '../../operations/sending/await-answer.ts';
import type { Replied } from '../../operations/reading/replies.ts';
import type { Sent } from '../../operations/sending/input.ts';
import { decideCommands, replyCommand } from '../../operations/waiting/words.ts';
import { answerShown } from '../../operations/deciding/choice.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { optionLines } from '../../protocol/choice.ts';
import type { Located } from '../../protocol/message.ts';
import { note, type Call } from '../command/command.ts';
import { colourless, indent } from './render.ts';
import { heldUpTo } from './replied.ts';

/** What is said on stderr between a question and its answer, and asked on a terminal. */
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
        if (!delivered.published) note(call, `queued, not on the remote yet: ${delivered.reason}`);
      },
      heldUp: heldUpTo(call),
      waits: (question) => {
        this.#tell(question);
      },
      spoke: (word, answer, asker) => {
        this.#hear(word, answer, asker);
      },
      answerWith: answerShown,
      isOver: async ({ state }) => state === 'FAILED' || (await this.#replied) === 'silent',
    };
  }

  /** Takes the prompt away. */
  end(): void {
    this.#prompt.abort();
  }

  /** Says on a terminal what happens meanwhile. */
  #tell({ owing }: Replied): void {
    const { io } = this.#call;
    if (!io.errIsTty) return;
    const at = owing.find(({ runs_since: since }) => since !== undefined);
    const whom = [...new Set(owing.map(({ actor }) => actor))].slice(0, 3).join(', ');
    if (at !== undefined) io.err(`(${at.actor} is working on it…)\n`);
    else if (whom !== '') io.err(`(waiting for ${whom}…)\n`);
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
      note(this.#call, `${nameOf(word)} proposes, in ${relPath}:\n${indent(text)}`);
      const decides = permission !== undefined && message.to.some(({ name }) => name === asker);
      // A plan is decided on by a command of its own, which shows the whole of it.
      if (decides && io.ask !== undefined)
        this.#prompts('decide (a number; Enter: later): ', answer);
      else note(this.#call, decideCommands(relPath, message.to));
      return;
    }
    note(this.#call, `${nameOf(word)} says on the way, in ${relPath}:\n${indent(text)}`);
    if (io.ask === undefined) note(this.#call, replyCommand(relPath));
    else this.#prompts(`reply to ${message.from} (Enter: none): `, answer);
  }

  /** Shows a prompt in the place of the one before. */
  #prompts(question: string, answer: (body: string) => Promise<Sent>): void {
    this.#prompt.abort();
    this.#prompt = new AbortController();
    this.#replied = this.#take(question, answer, this.#prompt.signal);
  }

  /** Takes a reply on the terminal, while the waiting goes on; one that is no option is asked for again. */
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

/** The name of a writer, with its mark where a key of that name is pinned here. */
export function nameOf({ message, verified }: Pick<Located, 'message' | 'verified'>): string {
  return verified === undefined
    ? message.from
    : `${message.from} (${verified ? 'verified' : 'unverified'})`;
}
