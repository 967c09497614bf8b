import { inboxHere } from '../operations/lookup/inbox.ts';
import { readMessage } from '../operations/reading/read.ts';
import { cancel } from '../operations/sending/cancel.ts';
import { reply } from '../operations/sending/reply.ts';
import { writerOf } from '../operations/sending/target.ts';
import { knownActors } from '../operations/setup/actors.ts';
import { arrivals } from '../operations/lookup/arrivals.ts';
import { ChannelHistory } from '../operations/reading/channel-history.ts';
import { channelTree, unreadCounts } from '../operations/reading/channels.ts';
import { Remembered } from '../operations/session/chat-memory.ts';
import { refreshOrNote, tipOf, type Context } from '../operations/context.ts';
import { retryDeadLetters } from '../operations/upkeep/dlq.ts';
import { waitForNews } from '../operations/reading/news.ts';
import { resolveChannel, resolveFrom } from '../operations/lookup/resolve.ts';
import { firstPath, newMarks } from '../operations/sending/marks.ts';
import { send, senderIn } from '../operations/sending/send.ts';
import type { Sent } from '../operations/sending/input.ts';
import { standings } from '../operations/tracing/standings.ts';
import { queuedIn } from '../operations/tracing/thread.ts';
import { EVERYONE, formatAddress } from '../protocol/address.ts';
import { clean } from './clean.ts';
import { entryOf, lastSeen, messageOf, rowOf, usualAddressee } from './from-bus.ts';
import type {
  ChannelRow,
  ChatPort,
  Choice,
  Entry,
  EntryStanding,
  Opening,
  SentEntry,
} from './port.ts';
import { inboxLines, messageLines, searchLines, statusLines, threadLines } from './reports.ts';

export interface BusPortInput {
  /** In any form in which a channel may be named. */
  channel?: string;
  from?: string;
  /** Default addressees, as `send --to` takes them. */
  to?: string;
  login: string;
  /** Whether to begin with the last open channel when there are several and none was named. */
  choose: boolean;
  signal: AbortSignal;
}

/** The number of messages read at a time. */
const PAGE = 40;

/** The port of a chat to the bus: everything it requests, over one open transport. */
export class BusPort implements ChatPort {
  readonly opening: Opening;
  readonly remember: Remembered;
  readonly #context: Context;
  readonly #input: BusPortInput;
  readonly #histories = new Map<string, ChannelHistory>();
  readonly #sending = new Set<Promise<unknown>>();
  /** The commit up to which news were delivered. */
  #told: string;
  readonly #seen: Record<string, string>;

  private constructor(
    context: Context,
    input: BusPortInput,
    made: { opening: Opening; remember: Remembered; tip: string; seen: Record<string, string> },
  ) {
    this.#context = context;
    this.#input = input;
    this.opening = made.opening;
    this.remember = made.remember;
    this.#told = made.tip;
    this.#seen = made.seen;
  }

  /**
   * Opens a screen with what is known locally, and fetches from the remote while the user reads. A
   * script, which does not choose a channel, gets the current state instead.
   *
   * @throws CrosstalkError `not_found` or `ambiguous` for the channel, `usage` for a name
   */
  static async open(context: Context, input: BusPortInput): Promise<BusPort> {
    const remember = new Remembered(context);
    if (!input.choose) await refreshOrNote(context, input.signal);
    const tip = await tipOf(context);
    const me = resolveFrom(context, input.from, input.login);
    const [channels, memory] = await Promise.all([channelTree(context), remember.load()]);
    const given = input.channel ?? context.dispatch.channel ?? '';
    const { history, drafts, seen } = memory;
    const usual = given === '' && input.choose ? lastSeen(channels, seen) : undefined;
    const current = usual ?? (await resolveChannel(context, given === '' ? undefined : given));
    const to = input.to ?? (await usualAddressee(context));
    const opening: Opening = {
      me,
      channels: channels.map(rowOf),
      current: current.id,
      to,
      history: history.map(clean),
      drafts: Object.fromEntries(Object.entries(drafts).map(([id, text]) => [id, clean(text)])),
    };
    return new BusPort(context, input, { opening, remember, tip, seen });
  }

  async channels(): Promise<ChannelRow[]> {
    return (await channelTree(this.#context)).map(rowOf);
  }

  unread(): Promise<Record<string, number>> {
    return unreadCounts(this.#context, this.opening.me, this.#seen);
  }

  async addresses(): Promise<Choice[]> {
    const actors = await knownActors(this.#context);
    return [
      ...actors.map(({ name, description }) => ({ value: name, description })),
      ...actors.flatMap(({ name, hosts }) =>
        hosts.map(({ alias }) => ({ value: `${name}@${alias}`, description: '' })),
      ),
      { value: EVERYONE, description: 'everybody' },
    ];
  }

  async older(channel: string): Promise<{ entries: Entry[]; more: boolean }> {
    const known = this.#histories.get(channel);
    const history = known ?? new ChannelHistory(this.#context, this.#told, channel);
    this.#histories.set(channel, history);
    const { messages, more } = await history.older(PAGE);
    const queued = known === undefined ? await queuedIn(this.#context, channel) : [];
    const all = [...messages, ...queued.map((one) => ({ ...one, channel }))];
    return { entries: all.map(entryOf), more };
  }

  async *news(): AsyncGenerator<Entry[]> {
    const { signal } = this.#input;
    for (;;) {
      const tip = await waitForNews(this.#context, this.#told, { signal, timeout: Infinity });
      if (tip === undefined) return;
      const entries: Entry[] = [];
      for await (const some of arrivals(this.#context, this.#told, tip))
        entries.push(...some.map(entryOf));
      this.#told = tip;
      yield entries;
    }
  }

  async standings(channel: string, known: Entry[], wanted: string[]): Promise<EntryStanding[]> {
    return standings(this.#context, channel, known.map(messageOf), new Set(wanted));
  }

  send(channel: string, to: string, body: string): { entry: Entry; sent: Promise<SentEntry> } {
    const { me } = this.opening;
    const { login } = this.#input;
    const marks = newMarks(this.#context);
    const relPath = firstPath(marks);
    const addressees = to.split(',').map((name) => name.trim());
    const entry = { channel, relPath, from: me, to: addressees, re: [], cause: [], body };
    // An operator starts a new conversation, even if the chat was opened inside a dispatch.
    const input = { to, body, channel, from: me, login, isNew: true, wait: true };
    const sent = this.#sent(relPath, (onSent) =>
      send(senderIn(this.#context), input, { marks, onSent }),
    );
    return { entry: { ...entry, at: Date.parse(marks.at) }, sent };
  }

  async reply(message: string, body: string): Promise<{ entry: Entry; sent: Promise<SentEntry> }> {
    const { me } = this.opening;
    const { login } = this.#input;
    const found = await readMessage(this.#context, message);
    const marks = newMarks(this.#context);
    const relPath = firstPath(marks);
    const channel = found.channel.id;
    const to = [formatAddress(writerOf({ ...found, channel }))];
    const input = { message: `${channel}/${found.relPath}`, body, from: me, login };
    const sent = this.#sent(relPath, (onSent) =>
      reply(this.#context, { ...input, isNew: true, wait: true }, { marks, onSent }),
    );
    const at = Date.parse(marks.at);
    return {
      entry: { channel, relPath, from: me, to, at, re: [found.relPath], cause: [], body },
      sent,
    };
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

  async asking(): Promise<number> {
    const input = { name: this.opening.me, questions: true, limit: 0 };
    return (await inboxHere(this.#context, input, {})).questions;
  }

  inbox(): Promise<string[]> {
    return inboxLines(this.#context, this.opening.me);
  }

  thread(message: string): Promise<string[]> {
    return threadLines(this.#context, message);
  }

  read(message: string): Promise<string[]> {
    return messageLines(this.#context, message);
  }

  search(channel: string, words: string): Promise<string[]> {
    return searchLines(this.#context, channel, words);
  }

  status(): Promise<string[]> {
    return statusLines(this.#context);
  }

  async retry(id: string): Promise<string> {
    const { released, woken } = await retryDeadLetters(this.#context, id);
    const what = `${String(released.length)} dead letter(s) released`;
    return woken ? what : `${what}; no dispatcher runs here: crosstalk dispatch`;
  }

  async cancel(message: string): Promise<string> {
    const said = { message, from: this.opening.me, login: this.#input.login };
    const { cancelled, delivered } = await cancel(this.#context, {
      ...said,
      ...{ only: false, wait: true },
    });
    return delivered.published ? `cancelled: ${cancelled}` : `cancelled here: ${delivered.reason}`;
  }

  /** Waits for messages that are being sent; slower ones are safe in the outbox or the dispatcher. */
  async end(patience: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise((resolve) => (timer = setTimeout(resolve, patience)));
    await Promise.race([Promise.allSettled(this.#sending), enough]);
    clearTimeout(timer);
    await this.remember.flush();
  }

  #track(work: Promise<unknown>): void {
    const tracked: Promise<unknown> = work
      .catch(() => undefined)
      .then(() => this.#sending.delete(tracked));
    this.#sending.add(tracked);
  }
}
