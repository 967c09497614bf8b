/** A transfer that goes on is let go on; what never ends is ended all the same. */
const TRANSFER_LIMIT = 2 * 60 * 60_000;
/** How long the first sign of a transfer may take. */
const FIRST_STEP_LIMIT = 30_000;
/**
 * From one sign to the next it may take this many times the limit: what was written last is still on
 * its way from the buffers of this machine.
 */
const STEP_LIMITS = 5;
/** What git itself says of a transfer that moves; a remote's own lines begin otherwise. */
const STEP = /(?:^|[\r\n])(?:Receiving objects|Resolving deltas|Writing objects):/;

/** How long a git process may take. */
export class TimeLimit {
  readonly #limit: number;
  readonly #progress: boolean;
  /** When the process was started, in milliseconds since 1970. */
  readonly begun = Date.now();
  readonly #last = performance.now() + TRANSFER_LIMIT;
  readonly #end: () => void;
  #timer: NodeJS.Timeout;
  #passed = false;

  /**
   * @param limit milliseconds
   * @param progress git reports its progress: the limit applies to each step of it, and to its
   *   first sign
   * @param end called when the limit is passed
   */
  constructor(limit: number, progress: boolean, end: () => void) {
    this.#limit = limit;
    this.#progress = progress;
    this.#end = end;
    this.#timer = this.#start(progress ? Math.min(limit, FIRST_STEP_LIMIT) : limit);
  }

  /** Whether the process was ended because the limit was passed. */
  get passed(): boolean {
    return this.#passed;
  }

  /** Takes in what git has said. */
  heard(stderr: Buffer): void {
    if (!this.#progress || this.#passed || !STEP.test(stderr.toString('latin1'))) return;
    clearTimeout(this.#timer);
    const left = this.#last - performance.now();
    this.#timer = this.#start(Math.min(STEP_LIMITS * this.#limit, left));
  }

  /** The process has ended. */
  over(): void {
    clearTimeout(this.#timer);
  }

  #start(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#passed = true;
      this.#end();
    }, milliseconds);
  }
}

const STEPS =
  /^(?:remote: )?(?:Enumerating|Counting|Compressing|Receiving|Writing|Unpacking) objects:|^(?:remote: )?(?:Resolving deltas|Total|Delta compression)/;

/** What git said besides how far it was. */
export function withoutSteps(stderr: string): string {
  const lines = stderr.split(/[\r\n]/);
  return lines.filter((line) => line !== '' && !STEPS.test(line)).join('\n');
}
