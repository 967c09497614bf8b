import { CrosstalkError } from '../errors.ts';
import { readMessage } from '../actions/reading/read.ts';
import type { Context } from '../actions/context.ts';
import { firstPath, newIdempotencyKey } from '../actions/sending/handed.ts';
import { answerShown } from '../actions/deciding/choice.ts';
import { AnsweredBefore } from '../actions/sending/reply.ts';
import { send, senderIn } from '../actions/sending/send.ts';
import { steer } from '../actions/sending/steer.ts';
import { writerOf } from '../actions/sending/target.ts';
import type { Sent } from '../actions/sending/input.ts';
import { formatAddress } from '../protocol/address.ts';
import { escapeInvisible } from '../protocol/text/quoted.ts';
import { bodyShown } from './from-bus.ts';
import type { Attachment, Entry, SentEntry } from './port.ts';

interface Sending {
  entry: Entry;
  sent: Promise<SentEntry>;
}

/** Rewords a refusal for a person who typed a command here instead of an option. */
function asTyped(error: CrosstalkError): CrosstalkError {
  const words = error.message
    .replaceAll(/(?<!\S)--now(?![^\s:])/g, '/now')
    .replace(/^--about \S+ /, '');
  return new CrosstalkError(error.code, words, { cause: error });
}

const ANSWERED = 'you have answered this already; to answer once more: /reply --again <text>';

/** Sends a user's messages, and keeps track of those on their way. */
export class BusSending {
  readonly #context: Context;
  readonly #who: { me: string; login: string };
  readonly #sending = new Set<Promise<unknown>>();

  constructor(context: Context, who: { me: string; login: string }) {
    this.#context = context;
    this.#who = who;
  }

  send(
    channel: string,
    {
      to,
      body,
      attached: attachments = [],
    }: { to: string; body: string; attached?: readonly Attachment[] },
  ): Sending {
    const { me, login } = this.#who;
    const marks = newIdempotencyKey(this.#context);
    const relPath = firstPath(marks);
    const addressees = to.split(',').map((name) => name.trim());
    const shown = bodyShown({ body, files: attachments.map(({ file }) => file) });
    const entry = { channel, relPath, from: me, to: addressees, re: [], cause: [], body: shown };
    // An operator starts a new conversation, even if the chat was opened inside a dispatch.
    const input = { to, body, channel, from: me, login, isNew: true, wait: true };
    const sent = this.#sent(relPath, (onSent) =>
      send(senderIn(this.#context), input, { marks, onSent, attachments }),
    );
    return { entry: { ...entry, at: Date.parse(marks.at) }, sent };
  }

  async reply(
    message: string,
    {
      body,
      again = false,
      attached: attachments = [],
    }: { body: string; again?: boolean; attached?: readonly Attachment[] },
  ): Promise<Sending> {
    const { me, login } = this.#who;
    const found = await readMessage(this.#context, message);
    const marks = newIdempotencyKey(this.#context);
    const relPath = firstPath(marks);
    const channel = found.channel.id;
    const to = [formatAddress(writerOf({ ...found, channel }))];
    const input = { message: `${channel}/${found.relPath}`, body, from: me, login };
    const sent = this.#sent(relPath, (onSent) =>
      answerShown(
        this.#context,
        found.message,
        { ...input, isNew: true, wait: true },
        { marks, onSent, attachments, isMeantAgain: () => again },
      ).catch((error: unknown) => {
        throw error instanceof AnsweredBefore ? new CrosstalkError('refused', ANSWERED) : error;
      }),
    );
    const at = Date.parse(marks.at);
    const shown = bodyShown({ body, files: attachments.map(({ file }) => file) });
    return {
      entry: { channel, relPath, from: me, to, at, re: [found.relPath], cause: [], body: shown },
      sent,
    };
  }

  async now(message: string, { to: given, body }: { to?: string; body: string }): Promise<Sending> {
    const { me, login } = this.#who;
    const { channel, relPath: about, message: asked } = await readMessage(this.#context, message);
    const asking = asked.to.map(formatAddress);
    const [only, ...others] = given?.split(',') ?? asking;
    if (only === undefined || others.length > 0)
      throw new CrosstalkError(
        'usage',
        `${about} went to ${escapeInvisible(asking.join(', '))}; say to which of them: /now ${about} @name <text>`,
      );
    const marks = newIdempotencyKey(this.#context);
    const relPath = firstPath(marks);
    const input = { to: only, body, about: `${channel.id}/${about}`, from: me, login };
    const sent = this.#sent(relPath, (onSent) =>
      steer(this.#context, { ...input, isNew: true, wait: true }, { marks, onSent }).catch(
        (error: unknown) => {
          throw error instanceof CrosstalkError ? asTyped(error) : error;
        },
      ),
    );
    const at = Date.parse(marks.at);
    const entry = {
      channel: channel.id,
      relPath,
      from: me,
      to: [only],
      at,
      re: [],
      cause: [],
      body,
    };
    return { entry, sent };
  }

  /** Waits for messages that are being sent; slower ones are safe in the outbox or the dispatcher. */
  async end(patience: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise((resolve) => (timer = setTimeout(resolve, patience)));
    await Promise.race([Promise.allSettled(this.#sending), enough]);
    clearTimeout(timer);
  }

  #sent(
    relPath: string,
    work: (onSent: (sent: Sent) => void) => Promise<unknown>,
  ): Promise<SentEntry> {
    return new Promise<SentEntry>((resolve, reject) => {
      const onSent = ({ delivered }: Sent): void => {
        resolve({ relPath, queued: delivered.published ? undefined : delivered.reason });
      };
      this.#track(work(onSent).catch(reject));
    });
  }

  #track(work: Promise<unknown>): void {
    const tracked: Promise<unknown> = work
      .catch(() => undefined)
      .then(() => this.#sending.delete(tracked));
    this.#sending.add(tracked);
  }
}
