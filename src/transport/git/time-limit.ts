/** Milliseconds after which a transfer is ended even if it makes progress. */
const TRANSFER_LIMIT = 2 * 60 * 60_000;
/** Milliseconds until the first progress report of a transfer. */
const FIRST_STEP_LIMIT = 30_000;
/**
 * Multiple of the limit allowed between two progress reports: the data written last is still on its way
 * from the buffers of this machine.
 */
const STEP_LIMITS = 5;
/** Git's own progress reports of a moving transfer; a remote's own lines start differently. */
const STEP = /(?:^|[\r\n])(?:Receiving objects|Resolving deltas|Writing objects):/;

/** The time limit of a git process. */
export class TimeLimit {
  readonly #limit: number;
  readonly #progress: boolean;
  /** Start of the process, in milliseconds since 1970. */
  readonly begun = Date.now();
  readonly #last = performance.now() + TRANSFER_LIMIT;
  readonly #end: () => void;
  #timer: NodeJS.Timeout;
  #passed = false;

  /**
   * @param limit milliseconds
   * @param progress whether git reports its progress: then the limit applies to each step, and to the
   *   first report
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

  /** Receives git's output, and extends the limit when it reports progress. */
  heard(stderr: Buffer): void {
    if (!this.#progress || this.#passed || !STEP.test(stderr.toString('latin1'))) return;
    clearTimeout(this.#timer);
    const left = this.#last - performance.now();
    this.#timer = this.#start(Math.min(STEP_LIMITS * this.#limit, left));
  }

  /** Stops the timer, as the process has ended. */
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

/** Removes progress reports from git's output. */
export function withoutSteps(stderr: string): string {
  const lines = stderr.split(/[\r\n]/);
  return lines.filter((line) => line !== '' && !STEPS.test(line)).join('\n');
}
