import { placeOf, type MessageRef } from '../../protocol/layout.ts';
import { parseMessage, type Message } from '../../protocol/message.ts';
import { isAnswer } from '../../protocol/owed.ts';
import { talkHeader } from '../../protocol/talk.ts';
import { CrosstalkError } from '../../errors.ts';
import type { Commit } from '../../transport/transport.ts';

/** Most messages that are stored: a command asks a moment after its question was pushed. */
const MOST = 16;
/** Most characters of a message that is sent over the socket, rather than read from git by the waiting process. */
const MAX_TOLD = 64 * 1024;

/** Answer with nothing but its body. */
export interface EarlyReply extends Pick<Message, 'from' | 'to' | 'timestamp' | 're' | 'body'> {
  relPath: string;
}

/** First reply as sent over the socket: nothing where it is more than a plain answer, or long. */
export interface ToldReply {
  reply?: EarlyReply;
}

/** Message that was pushed here; `content` may be only its beginning. */
interface Pushed extends MessageRef {
  content: string;
  isWhole: boolean;
}

interface Waiting {
  ref: MessageRef;
  tell: (told: ToldReply) => void;
  letGo: () => void;
}

/**
 * Replies that this dispatcher pushes, sent as soon as the remote has taken them to a command that has just asked and
 * looks for nothing else. The command need not open the transport for that (docs/decisions/28-starting.md).
 */
export class EarlyReplies {
  readonly #closed: AbortSignal;
  #recent: Pushed[] = [];
  readonly #waiting = new Set<Waiting>();

  /** @param options `stop` ends all waits; `once`: a dispatcher of one pass allows none */
  constructor({ stop, once }: { stop: AbortSignal; once: boolean }) {
    this.#closed = once ? AbortSignal.abort() : stop;
    stop.addEventListener('abort', () => {
      for (const { letGo } of [...this.#waiting]) letGo();
    });
  }

  /** The number of requests that wait. */
  get awaited(): number {
    return this.#waiting.size;
  }

  /** The remote has taken some commits. */
  readonly taken = (commits: readonly Commit[]): void => {
    const files = commits.flatMap((commit) => commit.files);
    const pushed = files.flatMap(({ path, content }): Pushed[] => {
      const place = placeOf(path);
      if (place.kind !== 'message') return [];
      const { channel, relPath } = place;
      const isWhole = content.length <= MAX_TOLD;
      // A text of its own, as a part of a text would keep the whole of it in memory.
      const kept = isWhole ? content : Buffer.from(content.slice(0, MAX_TOLD)).toString('utf8');
      return [{ channel, relPath, isWhole, content: kept }];
    });
    this.#recent = [...this.#recent, ...pushed].slice(-MOST);
    for (const { tell, ref } of [...this.#waiting]) {
      const told = firstReply(pushed, ref);
      if (told !== undefined) tell(told);
    }
  };

  /**
   * Resolves once a reply to a message was pushed, which may be immediately.
   *
   * @param gone aborted when the sender of the request is no longer there
   * @throws CrosstalkError `aborted` when that happens, and when all waits are ended
   */
  to(ref: MessageRef, gone: AbortSignal): Promise<ToldReply> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(waiting);
        gone.removeEventListener('abort', letGo);
      };
      const tell = (told: ToldReply): void => {
        leave();
        resolve(told);
      };
      const letGo = (): void => {
        leave();
        reject(new CrosstalkError('aborted', 'no longer waiting for a reply'));
      };
      const waiting: Waiting = { ref, tell, letGo };
      if (gone.aborted || this.#closed.aborted) {
        letGo();
        return;
      }
      gone.addEventListener('abort', letGo);
      this.#waiting.add(waiting);
      const told = firstReply(this.#recent, ref);
      if (told !== undefined) tell(told);
    });
  }
}

/** Returns the first of some messages that replies to another one, in the form that is sent. */
function firstReply(pushed: readonly Pushed[], ref: MessageRef): ToldReply | undefined {
  for (const { channel, relPath, content, isWhole } of pushed) {
    if (channel !== ref.channel || !content.includes(ref.relPath)) continue;
    const parsed = parseMessage(Buffer.from(content));
    if (!parsed.ok || !parsed.value.re.includes(ref.relPath)) continue;
    const { from, to, timestamp, re, body } = parsed.value;
    const isPlain = isAnswer(parsed.value) && Object.keys(talkHeader(parsed.value)).length === 0;
    return isWhole && isPlain ? { reply: { relPath, from, to, timestamp, re, body } } : {};
  }
  return undefined;
}
