import { reasonOf } from '../../errors.ts';
import { loadChatMemory, saveChatMemory, type ChatMemory } from '../../state/people/chat-memory.ts';
import type { Context } from '../context.ts';

export type { ChatMemory };

/** Milliseconds during which changes are collected into one write while the user types. */
const GATHER_MS = 300;

type Change = (memory: ChatMemory) => void;

/**
 * The stored memory of a chat. Each write starts from the current content of the file, so that several
 * concurrent chats preserve each other's lines.
 */
export class Remembered {
  readonly #context: Pick<Context, 'paths' | 'note'>;
  #changes: Change[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(context: Pick<Context, 'paths' | 'note'>) {
    this.#context = context;
  }

  load(): Promise<ChatMemory> {
    return loadChatMemory(this.#context.paths.chat);
  }

  sent(line: string): void {
    this.#change(({ history }) => {
      if (history.at(-1) !== line) history.push(line);
    });
  }

  /** @param text empty to remove the draft */
  draft(channel: string, text: string): void {
    this.#change(({ drafts }) => {
      if (text === '') Reflect.deleteProperty(drafts, channel);
      else drafts[channel] = text;
    });
  }

  seen(channel: string, relPath: string): void {
    this.#change(({ seen }) => {
      if ((seen[channel] ?? '') < relPath) seen[channel] = relPath;
    });
  }

  /** Resolves when everything is written. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    await this.#writing;
  }

  #change(change: Change): void {
    this.#changes.push(change);
    this.#timer ??= setTimeout(() => {
      void this.flush();
    }, GATHER_MS);
  }

  async #write(): Promise<void> {
    const changes = this.#changes.splice(0);
    if (changes.length === 0) return;
    try {
      const memory = await this.load();
      for (const change of changes) change(memory);
      await saveChatMemory(this.#context.paths.chat, memory);
    } catch (error) {
      this.#context.note(`history and drafts cannot be kept: ${reasonOf(error)}`);
    }
  }
}
