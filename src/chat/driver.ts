import { Buffer } from 'node:buffer';
import {
  roomOf,
  begin,
  step,
  type ChatEvent,
  type ChatState,
  type Effect,
  type Step,
} from './model.ts';
import { isWaiting, lookAll } from './looking.ts';
import type { ChatPort, Opening } from './port.ts';
import { update } from './update.ts';
import { sizeInWords } from '../protocol/attached.ts';
import { harmless } from './clean.ts';

/**
 * Milliseconds between two looks at messages that still wait; the clock on the screen shows
 * seconds.
 */
const TICK_MS = 1000;
/** Milliseconds to wait after the stream of news failed. */
const PAUSE_MS = 5000;

interface DriverOptions {
  port: ChatPort;
  opening: Opening;
  size: { columns: number; rows: number };
  /** Shows a state; called after every change. */
  show: (state: ChatState) => void;
  /** Draws everything anew, because something else wrote on the terminal. */
  redraw: () => void;
  /** Writes to the terminal without showing anything. */
  write: (sequence: string) => void;
  /** Aborting it ends the chat. */
  signal: AbortSignal;
}

/** Runs a chat: events change the state, and the effects that follow are carried out by the port. */
export class Driver {
  readonly #options: DriverOptions;
  readonly ended: Promise<void>;
  #state: ChatState;
  #end: () => void = () => undefined;
  #isOver = false;
  #isCounted = false;
  #timer: NodeJS.Timeout | undefined;
  #looking: 'no' | 'once' | 'again' = 'no';

  constructor(options: DriverOptions) {
    this.#options = options;
    this.ended = new Promise((resolve) => (this.#end = resolve));
    options.signal.addEventListener('abort', this.#quit, { once: true });
    const first = begin(options.opening, options.size, Date.now());
    this.#state = first.state;
    this.#take(first);
    void this.#follow();
    this.#ask(this.#options.port.addresses(), (addresses) => ({ type: 'addresses', addresses }));
    this.#run({ do: 'skills' });
    if (options.signal.aborted) this.#quit();
  }

  get state(): ChatState {
    return this.#state;
  }

  /** Processes an event. */
  dispatch(event: ChatEvent): void {
    if (this.#isOver) return;
    this.#take(update({ ...this.#state, now: Date.now() }, event));
  }

  #take({ state, effects }: Step): void {
    this.#state = state;
    for (const effect of effects) this.#run(effect);
    if (!this.#isOver) this.#options.show(this.#state);
    this.#scheduleTick();
  }

  #run(effect: Effect): void {
    const { port } = this.#options;
    switch (effect.do) {
      case 'send':
        this.#send(effect);
        return;
      case 'reply':
        this.#found(effect, this.#options.port.reply(effect.message, effect));
        return;
      case 'now':
        this.#found(effect, this.#options.port.now(effect.message, effect));
        return;
      case 'older':
        port.older(effect.channel).then(
          ({ entries, more }) => {
            this.dispatch({ type: 'page', channel: effect.channel, entries, more });
            this.#count();
          },
          (error: unknown) => {
            this.dispatch({ type: 'pageFailed', channel: effect.channel, text: reason(error) });
          },
        );
        return;
      case 'look':
        this.#look(effect);
        return;
      case 'draft':
        port.remember.draft(effect.channel, effect.text);
        return;
      case 'remember':
        port.remember.sent(effect.line);
        return;
      case 'seen':
        port.remember.seen(effect.channel, effect.relPath);
        port.seen(roomOf(this.#state, effect.channel).entries);
        return;
      case 'redraw':
        this.#options.redraw();
        return;
      case 'quit':
        this.#quit();
        return;
      default:
        this.#ask(ask(port, effect, this.#options.write), (event) => event);
    }
  }

  #send({ channel, typed, ...said }: Extract<Effect, { do: 'send' }>): void {
    this.#show(this.#options.port.send(channel, said), { typed, ...said });
  }

  /** Shows a notice about a message once that message is found. */
  #found(
    { channel, typed, body, attached = [] }: Extract<Effect, { do: 'reply' | 'now' }>,
    said: ReturnType<ChatPort['reply']>,
  ): void {
    said.then(
      (sending) => {
        this.#show(sending, { typed, attached });
      },
      (error: unknown) => {
        const nothing = { channel, relPath: '', from: '', to: [], at: 0, re: [], cause: [], body };
        this.dispatch({ type: 'refused', entry: nothing, typed, attached, text: reason(error) });
      },
    );
  }

  /** Shows a message, and its outcome. */
  #show(
    { entry, sent }: ReturnType<ChatPort['send']>,
    { typed, attached = [] }: Pick<Extract<Effect, { do: 'send' }>, 'typed' | 'attached'>,
  ): void {
    sent.then(
      (outcome) => {
        this.dispatch({ type: 'sent', sent: outcome });
        this.#countAsking();
      },
      (error: unknown) => {
        this.dispatch({ type: 'refused', entry, typed, attached, text: reason(error) });
      },
    );
    this.dispatch({ type: 'sending', entry });
  }

  /** Only one look runs at a time; requests that arrive meanwhile are combined into the next one. */
  #look({ channel, known, wanted }: Extract<Effect, { do: 'look' }>): void {
    if (this.#looking !== 'no') {
      this.#looking = 'again';
      return;
    }
    this.#looking = 'once';
    this.#options.port
      .standings(channel, known, wanted)
      .then((standings) => {
        this.dispatch({ type: 'standings', standings });
      })
      .catch((error: unknown) => {
        this.dispatch({ type: 'notice', text: reason(error), bad: true });
      })
      .finally(() => {
        const again = this.#looking === 'again';
        this.#looking = 'no';
        if (again && !this.#isOver) this.#take(step(this.#state, ...lookAll(this.#state)));
      });
  }

  #ask<T>(work: Promise<T>, event: (result: T) => ChatEvent): void {
    work.then(
      (result) => {
        this.dispatch(event(result));
      },
      (error: unknown) => {
        this.dispatch({ type: 'notice', text: reason(error), bad: true });
      },
    );
  }

  /**
   * Counts unread messages once, after the first messages are shown, so that nobody waits for an
   * index that has to be built.
   */
  #count(): void {
    if (this.#isCounted) return;
    this.#isCounted = true;
    this.#ask(this.#options.port.unread(), (unread) => ({ type: 'unread', unread }));
    this.#countAsking();
  }

  #countAsking(): void {
    this.#ask(this.#options.port.asking(), (asking) => ({ type: 'asking', asking }));
  }

  /** Reads news until the chat ends; after a failure it is shown and reading starts again. */
  async #follow(): Promise<void> {
    for (;;) {
      try {
        for await (const entries of this.#options.port.news()) await this.#arrived(entries);
        return;
      } catch (error) {
        if (this.#options.signal.aborted || this.#isOver) return;
        this.dispatch({ type: 'notice', text: reason(error), bad: true });
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }
  }

  async #arrived(entries: Extract<ChatEvent, { type: 'arrived' }>['entries']): Promise<void> {
    this.dispatch({ type: 'arrived', entries });
    if (this.#isCounted) this.#countAsking();
    const { port } = this.#options;
    const [channels, addresses] = await Promise.all([port.channels(), port.addresses()]);
    this.dispatch({ type: 'channels', channels });
    this.dispatch({ type: 'addresses', addresses });
  }

  /** Starts the timer, which runs only while something is waited for. */
  #scheduleTick(): void {
    if (this.#isOver || this.#timer !== undefined || !isWaiting(this.#state)) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.dispatch({ type: 'tick' });
    }, TICK_MS);
  }

  readonly #quit = (): void => {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#options.signal.removeEventListener('abort', this.#quit);
    this.#end();
  };
}

/** Requests to the bus that lead to one event. */
type Asking = Extract<
  Effect,
  {
    do:
      | 'inbox'
      | 'thread'
      | 'read'
      | 'search'
      | 'status'
      | 'retry'
      | 'cancel'
      | 'decide'
      | 'actors'
      | 'skills'
      | 'memory'
      | 'attach'
      | 'copy';
  }
>;

/** @param write writes to the terminal, without showing anything */
async function ask(
  port: ChatPort,
  effect: Asking,
  write: (sequence: string) => void,
): Promise<ChatEvent> {
  switch (effect.do) {
    case 'inbox':
      return panel('inbox', await port.inbox());
    case 'thread':
      return panel('thread', await port.thread(effect.message));
    case 'read':
      return panel('message', await port.read(effect.message));
    case 'search':
      return panel(`search: ${effect.words}`, await port.search(effect.channel, effect.words));
    case 'status':
      return panel('status', await port.status());
    case 'retry':
      return told(await port.retry(effect.id));
    case 'cancel':
      return told(await port.cancel(effect.message));
    case 'decide':
      return told(await port.decide(effect.decision, effect.message, effect.note));
    case 'actors':
      return panel('actors', await port.actors());
    case 'skills':
      return { type: 'skills', skills: await port.skills() };
    case 'memory':
      return panel(
        effect.words === '' ? 'memory: the newest' : `memory: ${effect.words}`,
        await port.memory(effect.words),
      );
    case 'attach':
      return port.attach(effect.file, effect.waiting).then(
        (attachment): ChatEvent => ({ type: 'attached', attachment }),
        (error: unknown): ChatEvent => ({ type: 'notAttached', text: reason(error) }),
      );
    case 'copy': {
      const copied = toClipboard(await port.body(effect.message));
      if (!copied.ok) return { type: 'notice', text: copied.problem, bad: true };
      write(copied.sequence);
      return told(copied.said);
    }
  }
}

/** The bytes that terminals take: their limit is 100,000 characters of base64 with the frame. */
const MAX_BYTES = 74_994;

/** A text for the terminal's clipboard, or why it is not put there. */
type Copied = { ok: true; sequence: string; said: string } | { ok: false; problem: string };

/**
 * Returns the sequence by which a terminal puts a text on the clipboard (OSC 52). The text was written by somebody
 * else: it is in base64 between two constants, and a later paste controls no terminal.
 */
export function toClipboard(text: string): Copied {
  const bytes = Buffer.from(harmless(text).trimEnd(), 'utf8');
  const size = sizeInWords(bytes.length);
  if (bytes.length > MAX_BYTES) {
    return {
      ok: false,
      problem: `not copied: the message has ${size}, and a terminal takes ${sizeInWords(MAX_BYTES)}; save it with: crosstalk read`,
    };
  }
  const sequence = `\u001b]52;c;${bytes.toString('base64')}\u0007`;
  return { ok: true, sequence, said: `given to the terminal's clipboard: ${size}` };
}

/** Shows lines in a panel. */
function panel(title: string, lines: string[]): ChatEvent {
  return { type: 'panel', title, lines };
}

/** Makes the event that reports that something was done. */
function told(text: string): ChatEvent {
  return { type: 'notice', text, bad: false };
}

/** Words the reason why something was not done. */
function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
