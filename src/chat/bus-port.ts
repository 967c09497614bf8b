import { inboxHere, type InboxEntry } from '../actions/state/inbox.ts';
import { marked } from '../actions/lookup/marked.ts';
import { readMessage, shownMessage } from '../actions/reading/read.ts';
import { decide } from '../actions/deciding/decide.ts';
import { cancel } from '../actions/sending/cancel.ts';
import { knownSkills } from '../actions/skills/list.ts';
import { peopleHere } from '../actions/lookup/people.ts';
import { knownActors } from '../actions/setup/actors.ts';
import { arrivals, ChannelHistory } from '../actions/lookup/arrivals.ts';
import { channelTree, unreadCounts } from '../actions/reading/channels.ts';
import { Remembered } from '../actions/session/chat-memory.ts';
import { refreshOrNote, tipOf, type Context } from '../actions/context.ts';
import { retryDeadLetters } from '../actions/upkeep/dlq.ts';
import { waitForNews } from '../actions/reading/news.ts';
import { defaultChannelOf, openChannel, resolveFrom } from '../actions/lookup/resolve.ts';
import { queuedIn, standings, thread, type Standing } from '../actions/tracing/thread.ts';
import { EVERYONE, formatAddress } from '../protocol/address.ts';
import { inWords } from './conversation.ts';
import { BusSending } from './bus-sending.ts';
import { clean } from './clean.ts';
import { actorLines, attach, memoryLines } from './directory.ts';
import {
  entryOf,
  lastSeen,
  messageOf,
  OnScreen,
  rowOf,
  usualAddressee,
  bodyShown,
} from './from-bus.ts';
import type { Attachment, ChannelRow, ChatPort, Choice, Entry, Opening } from './port.ts';
import { optionLines } from '../protocol/talk.ts';
import { search } from '../actions/reading/search.ts';
import { status } from '../actions/health/status.ts';
import { messageKey, suffixOf } from '../protocol/layout.ts';
import { inWords as stateInWords, presentAll } from '../present/state.ts';
import { releasedWords } from '../present/holds.ts';
import { failureMark, marksOf, writerWords } from '../present/marks.ts';
import { shortTime } from '../present/times.ts';
import { withForces } from '../actions/lookup/taken-back.ts';
import type { WebThreadNode } from '../api/api.ts';

export interface BusPortInput {
  /** In any form in which a channel may be named. */
  channel?: string;
  from?: string;
  /** Default addressees, as `send --to` takes them. */
  to?: string;
  login: string;
  /** Whether to start with the channel that was read last, or else the default one or the first, when none was named. */
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
  readonly #sending: BusSending;
  /** The commit up to which news were delivered. */
  #told: string;
  readonly #seen: OnScreen;

  private constructor(
    context: Context,
    input: BusPortInput,
    made: { opening: Opening; remember: Remembered; tip: string },
  ) {
    this.#context = context;
    this.#input = input;
    this.#sending = new BusSending(context, { me: made.opening.me, login: input.login });
    this.opening = made.opening;
    this.#seen = new OnScreen(context, made.opening.me);
    this.remember = made.remember;
    this.#told = made.tip;
  }

  /**
   * Opens a screen with the local state, and fetches from the remote while the user reads. A script, which does not
   * choose a channel, gets the current state instead.
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
    const usual = lastSeen(channels, seen) ?? defaultChannelOf(context, channels) ?? channels[0];
    const current =
      (given === '' && input.choose ? usual : undefined) ??
      (await openChannel(context, given === '' ? undefined : given));
    const to = input.to ?? (await usualAddressee(context));
    const opening: Opening = {
      me,
      channels: channels.map(rowOf),
      current: current.id,
      to,
      history: history.map(clean),
      drafts: Object.fromEntries(Object.entries(drafts).map(([id, text]) => [id, clean(text)])),
    };
    return new BusPort(context, input, { opening, remember, tip });
  }

  async channels(): Promise<ChannelRow[]> {
    return (await channelTree(this.#context)).map(rowOf);
  }

  unread(): Promise<Record<string, number>> {
    return unreadCounts(this.#context, this.opening.me);
  }

  async addresses(): Promise<Choice[]> {
    const actors = await knownActors(this.#context);
    const names = new Set(actors.map(({ name }) => name));
    const people = await peopleHere(this.#context, await tipOf(this.#context));
    return [
      ...actors.map(({ name, description }) => ({ value: name, description })),
      ...actors.flatMap(({ name, hosts }) =>
        hosts.map(({ alias }) => ({ value: `${name}@${alias}`, description: '' })),
      ),
      ...people
        .filter((name) => !names.has(name))
        .map((value) => ({ value, description: 'a person' })),
      { value: EVERYONE, description: 'everybody' },
    ];
  }

  async skills(): Promise<Choice[]> {
    const skills = await knownSkills(this.#context);
    return skills.map(({ name, description }) => ({ value: name, description }));
  }

  async older(channel: string): Promise<{ entries: Entry[]; more: boolean }> {
    const known = this.#histories.get(channel);
    const history = known ?? new ChannelHistory(this.#context, this.#told, channel);
    this.#histories.set(channel, history);
    const { messages, more } = await history.older(PAGE);
    const queued = known === undefined ? await queuedIn(this.#context, channel) : [];
    const waiting = queued.map((one) => ({ ...one, channel }));
    const all = [
      ...(await marked(this.#context, this.#told, messages)),
      ...(await marked(this.#context, this.#told, waiting, ({ content }) => content)),
    ];
    return { entries: (await withForces(this.#context, all)).map(entryOf), more };
  }

  async *news(): AsyncGenerator<Entry[]> {
    const { signal } = this.#input;
    for (;;) {
      const tip = await waitForNews(this.#context, this.#told, { signal, timeout: Infinity });
      if (tip === undefined) return;
      const entries: Entry[] = [];
      for await (const some of arrivals(this.#context, this.#told, tip)) {
        const all = await marked(this.#context, tip, some);
        entries.push(...(await withForces(this.#context, all)).map(entryOf));
      }
      this.#told = tip;
      yield entries;
    }
  }

  seen(entries: readonly Entry[]): void {
    this.#seen.note(entries);
  }

  async standings(channel: string, known: Entry[], wanted: string[]): Promise<Standing[]> {
    return standings(this.#context, channel, known.map(messageOf), new Set(wanted));
  }

  send(...said: Parameters<ChatPort['send']>): ReturnType<ChatPort['send']> {
    return this.#sending.send(...said);
  }

  reply(...said: Parameters<ChatPort['reply']>): ReturnType<ChatPort['reply']> {
    return this.#sending.reply(...said);
  }

  now(...said: Parameters<ChatPort['now']>): ReturnType<ChatPort['now']> {
    return this.#sending.now(...said);
  }

  attach(file: string, waiting: readonly Attachment[]): Promise<Attachment> {
    return attach(this.#context, file, waiting);
  }

  async body(message: string): Promise<string> {
    return (await readMessage(this.#context, message)).message.body;
  }

  actors(): Promise<string[]> {
    return actorLines(this.#context);
  }

  memory(words: string): Promise<string[]> {
    return memoryLines(this.#context, words);
  }

  async asking(): Promise<number> {
    const input = { name: this.opening.me, questions: true, limit: 0 };
    return (await inboxHere(this.#context, input, {})).questions;
  }

  inbox(): Promise<string[]> {
    return inboxLines(this.#context, this.opening.me);
  }

  thread(message: string): Promise<string[]> {
    return threadLines(this.#context, message, this.opening.me);
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
    return releasedWords(released.length, woken);
  }

  async cancel(message: string): Promise<string> {
    const said = { message, from: this.opening.me, login: this.#input.login, only: false };
    const { cancelled, delivered, already } = await cancel(this.#context, { ...said, wait: true });
    const what = inWords({ relPath: cancelled, body: await this.body(message).catch(() => '') });
    return delivered.published
      ? `cancelled${already === true ? ' already' : ''}: ${what}`
      : `cancelled here: ${what}; ${delivered.reason}`;
  }

  async decide(decision: 'approve' | 'deny', message: string, note: string): Promise<string> {
    const said = { message, decision, note, from: this.opening.me, login: this.#input.login };
    const { proposal, delivered } = await decide(this.#context, { ...said, wait: true });
    const done = `${decision === 'approve' ? 'approved' : 'denied'}: ${proposal.relPath}`;
    return delivered.published ? done : `${done}; it counts once it is on the remote`;
  }

  /** Waits for messages that are being sent; slower ones are safe in the outbox or the dispatcher. */
  async end(patience: number): Promise<void> {
    await this.#sending.end(patience);
    await this.#seen.end();
    await this.remember.flush();
  }
}

/** Characters of a message's suffix that are shown. */
const SHORT = 8;
/** Most results of a search. */
const HITS = 10;

/** Returns a thread as a tree, one line per message. @throws CrosstalkError as `thread` does */
export async function threadLines(
  context: Context,
  message: string,
  me?: string,
): Promise<string[]> {
  const { roots } = await thread(context, message);
  const now = context.now().getTime();
  const short = (time: string): string => shortTime(Date.parse(time), now);
  const branch = (node: WebThreadNode): string[] => {
    const states = presentAll(node.states, { me, now, brief: true });
    const head = [
      `${writerWords(node.from, node.verified)} > ${node.to.join(', ')}`,
      suffixOf(node.relPath).slice(0, SHORT),
      ...marksOf(node),
      ...(states.length === 0
        ? []
        : [states.map((one) => stateInWords(one, undefined, short)).join(', ')]),
      oneLine(node.excerpt),
    ].join('  ');
    return [head, ...node.children.flatMap((child) => branch(child).map((line) => `  ${line}`))];
  };
  return roots.flatMap(branch);
}

/** Returns one whole message below a line that names its writer. @throws CrosstalkError as `shownMessage` does */
export async function messageLines(context: Context, given: string): Promise<string[]> {
  const { message, relPath, ...shown } = await shownMessage(context, given);
  const to = message.to.map(formatAddress).join(', ');
  const head = `${writerWords(message.from, shown.verified)} > ${to}  ${suffixOf(relPath).slice(0, SHORT)}  ${message.timestamp}`;
  return [
    head,
    '',
    ...bodyShown(message).trimEnd().split('\n'),
    ...optionLines(message.options ?? []),
  ];
}

/** Most messages of the inbox list. */
const NEWEST = 20;

/** Returns the mail for somebody, unread first, with the questions marked. */
export async function inboxLines(context: Context, name: string): Promise<string[]> {
  const { entries } = await inboxHere(context, { name, questions: false, limit: NEWEST }, {});
  const asking = await inboxHere(context, { name, questions: true, limit: NEWEST }, {});
  const keys = new Set(entries.map(keyOf));
  const older = asking.entries.filter((entry) => !keys.has(keyOf(entry)));
  const all = [...entries, ...older];
  if (all.length === 0) return ['nothing came for you yet'];
  return all.flatMap(({ relPath, message, channel, unread, asks, verified }) => [
    [
      unread ? 'new' : '   ',
      message.timestamp.slice(0, 16).replace('T', ' '),
      writerWords(message.from, verified),
      `#${channel.name}`,
      suffixOf(relPath).slice(0, SHORT),
      ...(asks ? ['asks you'] : []),
      ...(message.failed === undefined ? [] : [failureMark(message.failed.reason)]),
    ].join('  '),
    `      ${oneLine(message.body.slice(0, MOST_SHOWN))}`,
    ...optionLines(message.options ?? []).map((line) => `      ${line}`),
  ]);
}

/** Most characters of a message in the inbox list. */
const MOST_SHOWN = 200;

function keyOf({ channel, relPath }: InboxEntry): string {
  return messageKey({ channel: channel.id, relPath });
}

/** Returns the results of a search in a channel, best first. @throws CrosstalkError as `search` does */
async function searchLines(context: Context, channel: string, words: string): Promise<string[]> {
  const found = await search(context, { words, channel, limit: HITS, context: 0 });
  if (found.hits.length === 0) return ['nothing found'];
  return found.hits.flatMap((hit) => [
    `${hit.timestamp.slice(0, 16).replace('T', ' ')}  ${writerWords(hit.from, hit.verified)}  ${suffixOf(hit.relPath).slice(0, SHORT)}`,
    `  ${oneLine(hit.excerpt)}`,
  ]);
}

/** Returns the health of the bus and its problems, as in `crosstalk status`. */
async function statusLines(context: Context): Promise<string[]> {
  const {
    health,
    warnings,
    dispatcher,
    outbox,
    dead_letters: all,
  } = await status(context, undefined);
  const letters = all.filter(({ state }) => state !== 'cancelled');
  return [
    health.ok ? 'all is well' : 'not well:',
    ...health.problems.map((problem) => `  ${problem}`),
    ...warnings.map((warning) => `warning: ${warning}`),
    // That none runs is among the problems.
    ...(dispatcher === null
      ? []
      : [
          `dispatcher: process ${String(dispatcher.pid)}, host ${dispatcher.host ?? 'unknown'}, ${String(dispatcher.running.length)} running`,
        ]),
    `outbox: ${String(outbox.length)}`,
    `dead letters: ${String(letters.length)}`,
    ...letters.map(({ id, actor, state, detail }) => `  ${id}  ${state}  ${actor}: ${detail}`),
  ];
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
