import { reasonOf } from '../../errors.ts';
import { objectOn } from '../../protocol/text/json-line.ts';

/** A line that is longer than this is no message of an agent: it would be kept in memory whole. */
const MAX_LINE = 16 * 1024 * 1024;
/** JSON that nests deeper is not parsed: what handles such a value later may run out of stack. */
const MAX_NESTING = 200;
/** The most bytes that an agent may print while it has nothing to do. */
const MAX_IDLE = 1024 * 1024;
const NEWLINE = 10;
const [QUOTE, BACKSLASH] = [0x22, 0x5c];
/** What opens and closes a list, and an object. */
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

type Message = Record<string, unknown>;

/**
 * Takes apart what an agent prints: one JSON object for each line. Text on other lines is passed over, as a
 * wrapper or a library may print there; a message that is broken is an end, since an answer may be lost in it.
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
    const line = Buffer.concat(this.#parts);
    [this.#parts, this.#size] = [[], 0];
    if (nestsDeeper(line, MAX_NESTING)) {
      this.#end(`it printed JSON nested deeper than ${String(MAX_NESTING)}`);
      return;
    }
    const text = line.toString('utf8').trim();
    if (text === '') return;
    const message = objectOn(text);
    if (message !== undefined) this.#give(message);
    else if (text.includes('"jsonrpc"')) this.#end('it printed a message that is no JSON object');
  }

  /** What an agent says may end its own process, and never the one that listens to it. */
  #give(message: Message): void {
    try {
      this.#take(message);
    } catch (error) {
      this.#end(`it printed what cannot be taken: ${reasonOf(error)}`);
    }
  }

  #end(why: string): void {
    this.#isOver = true;
    [this.#parts, this.#size] = [[], 0];
    this.#broken(why);
  }
}

/** Whether JSON has more levels than `most`, found out without parsing it. */
function nestsDeeper(json: Buffer, most: number): boolean {
  let depth = 0;
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) isText = !isText;
    else if (isText && byte === BACKSLASH) at++;
    else if (isText) continue;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--;
    else if ((byte === OPEN_LIST || byte === OPEN_OBJECT) && ++depth > most) return true;
  }
  return false;
}
