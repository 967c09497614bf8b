/** A line that is longer than this is no message of an agent: it would be kept in memory whole. */
const MAX_LINE = 16 * 1024 * 1024;
/** The most bytes that an agent may print while it has nothing to do. */
const MAX_IDLE = 1024 * 1024;
const NEWLINE = 10;

type Message = Record<string, unknown>;

/**
 * Takes apart what an agent prints: one JSON object for each line. Anything else is an end: who speaks broken
 * JSON may have lost an answer in it.
 */
export class Messages {
  readonly #take: (message: Message) => void;
  readonly #broken: (why: string) => void;
  #parts: Buffer[] = [];
  #size = 0;
  #idle = 0;
  #isOver = false;

  /** @param broken called once; nothing is taken afterwards */
  constructor(take: (message: Message) => void, broken: (why: string) => void) {
    this.#take = take;
    this.#broken = broken;
  }

  /** @param isAtWork whether it was given a prompt that it has not answered */
  feed(bytes: Buffer, isAtWork: boolean): void {
    if (this.#isOver) return;
    this.#idle = isAtWork ? 0 : this.#idle + bytes.length;
    if (this.#idle > MAX_IDLE) {
      this.#end('it printed more than 1 MiB although it had nothing to do');
      return;
    }
    for (let at = 0; at < bytes.length && !this.#ended;) {
      const newline = bytes.indexOf(NEWLINE, at);
      const end = newline < 0 ? bytes.length : newline;
      this.#parts.push(bytes.subarray(at, end));
      this.#size += end - at;
      if (this.#size > MAX_LINE) this.#end('it printed a line of more than 16 MiB');
      else if (newline >= 0) this.#line();
      at = end + 1;
    }
  }

  get #ended(): boolean {
    return this.#isOver;
  }

  #line(): void {
    const text = Buffer.concat(this.#parts).toString('utf8').trim();
    [this.#parts, this.#size] = [[], 0];
    if (text === '') return;
    const message = objectIn(text);
    if (message === undefined) this.#end('it printed a line that is no JSON object');
    else this.#take(message);
  }

  #end(why: string): void {
    this.#isOver = true;
    [this.#parts, this.#size] = [[], 0];
    this.#broken(why);
  }
}

function objectIn(text: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Message)
      : undefined;
  } catch {
    return undefined;
  }
}
