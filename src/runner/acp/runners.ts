import { processRunner, afterRunning } from '../process-runner.ts';
import type {
  Runner,
  AcpSession,
  InvocationResult,
  Prompt,
  Reached,
  RunningCli,
  Start,
  Words,
} from '../runner.ts';
import { ended, endGroup, killGroup, spawnGated, STDERR_TAIL, tail, type End } from '../gated.ts';
import { RawOutput } from '../raw-output.ts';
import { AgentFailed, Connection } from './connection.ts';
import { Turn } from './turn.ts';
import { reasonOf } from '../../errors.ts';
import { objectOn } from '../../protocol/text/json-line.ts';

/** A runner over the Agent Client Protocol for a CLI that speaks it, with a process for one prompt for any other. */
export const runners: Runner = {
  start: (start) => (start.acp === undefined ? processRunner : acpRunner).start(start),
};

/**
 * Milliseconds in which a session has to open: nothing was spent until then, so the prompt can be run in
 * another process.
 */
const OPENING_MS = 60_000;

/**
 * A runner of prompts in a process that speaks the Agent Client Protocol: `/bin/sh -c` in a new process group, as
 * for one prompt, and messages on stdin and stdout. The process takes one prompt at a time.
 *
 * A turn ends with the answer to its prompt. Anything else (the end of the process, its limits, a cancel, a
 * line that is not JSON, an error) ends the process too, because the state of its turn is unknown then.
 */
export const acpRunner: Runner = {
  start: (start) => new AcpProcess(start, start.acp ?? NO_SESSION),
};

const NO_SESSION: AcpSession = { servers: [], folders: [], options: {} };

/** Reason why a turn ended without an answer. */
type Stop = 'timedOut' | 'aborted' | 'steered' | 'tooMuchOutput';

class AcpProcess implements RunningCli {
  readonly #start: Start;
  readonly #acp: AcpSession;
  readonly #child: ReturnType<typeof spawnGated>;
  readonly #ending: Promise<End>;
  readonly #messages: Messages;
  readonly #stderr: () => string;
  #lose: () => void = () => undefined;
  /** Resolves when the process has ended, for any reason. */
  readonly #lost = new Promise<void>((resolve) => (this.#lose = resolve));
  #take: (message: Record<string, unknown>) => string | undefined = () => undefined;
  #connection: Connection | undefined;
  #turn: Turn | undefined;
  #stop: Stop | undefined;
  #problem: string | undefined;
  #isOpen = true;
  #grace = 5000;

  constructor(start: Start, acp: AcpSession) {
    this.#start = start;
    this.#acp = acp;
    this.#child = spawnGated(start);
    this.#ending = ended(this.#child);
    this.#messages = new Messages(
      (message) => {
        const problem = this.#isOpen ? this.#take(message) : undefined;
        if (problem !== undefined) this.#break(problem);
      },
      (why) => {
        this.#break(why);
      },
    );
    this.#stderr = tail(this.#child.stderr, STDERR_TAIL);
    this.#child.stdin.on('error', () => undefined);
    this.#child.stdout.on('error', () => undefined);
    this.#child.stdout.on('data', (bytes: Buffer) => {
      this.#turn?.hear(bytes);
      if (this.#isOpen) this.#messages.feed(bytes, this.#turn !== undefined);
    });
    void this.#ending.then(() => {
      this.#isOpen = false;
      this.#lose();
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  async prompt(prompt: Prompt): Promise<InvocationResult> {
    const begun = performance.now();
    this.#grace = prompt.grace;
    const raw = prompt.raw && new RawOutput(prompt.raw);
    const { hear } = prompt;
    const turn = new Turn(
      (bytes) => {
        if (raw?.add(bytes) === true) this.#endBy('tooMuchOutput');
        hear?.('out', bytes);
      },
      prompt.permit,
      () => {
        this.#endBy('steered');
      },
    );
    this.#turn = turn;
    const hearErr = (bytes: Buffer): void => {
      hear?.('err', bytes);
    };
    this.#child.stderr.on('data', hearErr);
    const cancelTimeout = afterRunning(
      prompt.timeout,
      () => {
        this.#endBy('timedOut');
      },
      prompt.idle,
    );
    try {
      await Promise.race([this.#open(), this.#lost]);
      if (!this.#isOpen) return unsent(await this.#result(begun, raw));
      const connection = this.#connection;
      const answered =
        connection &&
        turn.run(connection, prompt.input).catch((error: unknown) => {
          this.#fail(error);
        });
      await Promise.race([answered, this.#lost]);
      return await this.#result(begun, raw);
    } finally {
      this.#turn = undefined;
      this.#child.stderr.off('data', hearErr);
      cancelTimeout();
      raw?.close();
    }
  }

  async steer(words: Words): Promise<Reached> {
    const turn = this.#turn;
    if (turn === undefined) return 'late';
    const lost = this.#lost.then(() => (this.#stop === 'steered' ? 'ended' : 'late'));
    return Promise.race([turn.steer(words), lost]);
  }

  cancel(): void {
    this.#endBy('aborted');
  }

  fail(why: string): void {
    this.#break(why);
  }

  end(): void {
    this.#isOpen = false;
    this.#connection?.close();
    killGroup(this.#child, 'SIGKILL');
    for (const stream of this.#child.stdio) stream?.destroy();
  }

  /** Opens a session unless one is open; if that fails, the process ends. */
  async #open(): Promise<void> {
    if (this.#connection !== undefined || !this.#isOpen) return;
    const late = setTimeout(() => {
      this.#break(`it did not open a session within ${String(OPENING_MS / 1000)} s`);
    }, OPENING_MS);
    try {
      this.#child.stdin.write('\n');
      this.#connection = await Connection.open(
        this.#child.stdin,
        (take) => (this.#take = take),
        async (call, gone) => (await this.#turn?.permit(call, gone)) ?? false,
        { cwd: this.#start.cwd, acp: this.#acp },
      );
    } catch (error) {
      this.#fail(error);
    } finally {
      clearTimeout(late);
    }
  }

  async #result(begun: number, raw: RawOutput | undefined): Promise<InvocationResult> {
    const over = this.#isOpen ? undefined : await this.#over();
    const problem = this.#problem;
    return {
      // An end that this process did not request is a failure, whatever the agent calls it.
      exitCode: over === undefined ? 0 : over.exitCode === 0 || problem ? 1 : over.exitCode,
      signal: problem === undefined ? (over?.signal ?? null) : null,
      stdout: '',
      stderrTail: this.#stderr(),
      timedOut: this.#stop === 'timedOut',
      aborted: this.#stop === 'aborted' || this.#stop === 'steered',
      tooMuchOutput: this.#stop === 'tooMuchOutput',
      duration: Math.round(performance.now() - begun),
      ...(raw && { raw }),
      ...(over?.startError === undefined ? {} : { startError: over.startError }),
      ...(problem !== undefined && { reported: problem }),
    };
  }

  async #over(): Promise<End> {
    const end = await this.#ending;
    killGroup(this.#child, 'SIGKILL');
    return end;
  }

  #endBy(stop: Stop): void {
    if (this.#stop !== undefined || !this.#isOpen) return;
    this.#stop = stop;
    this.#shut();
  }

  #break(why: string): void {
    this.#fail(new AgentFailed(why));
  }

  #fail(error: unknown): void {
    // If the process has ended, its exit code is the reason.
    if (this.#problem !== undefined || !this.#isOpen) return;
    this.#problem = error instanceof Error ? error.message : String(error);
    this.#shut();
  }

  #shut(): void {
    this.#isOpen = false;
    this.#connection?.close();
    void endGroup(this.#child, this.#grace, this.#ending);
  }
}

/** Marks the result of a process that ended before it received its prompt, unless we ended it. */
function unsent(result: InvocationResult): InvocationResult {
  const { timedOut, aborted, tooMuchOutput } = result;
  return timedOut || aborted || tooMuchOutput ? result : { ...result, unsent: true };
}

/** Most bytes of a line; a longer one is not an agent's message, and would be held in memory whole. */
const MAX_LINE = 16 * 1024 * 1024;
/** Deepest nesting of JSON that is parsed: later code that handles a deeper value may run out of stack. */
const MAX_NESTING = 200;
/** Most bytes that an agent may print while it has no prompt. */
const MAX_IDLE = 1024 * 1024;
const NEWLINE = 10;
const [QUOTE, BACKSLASH] = [0x22, 0x5c];
/** Brackets of a list, and of an object. */
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

type Message = Record<string, unknown>;

/**
 * A parser of an agent's output: one JSON object for each line. Text on other lines is skipped, as a wrapper
 * or a library may print there; a broken message ends the process, since an answer may be lost in it.
 */
export class Messages {
  readonly #take: (message: Message) => void;
  readonly #broken: (why: string) => void;
  #parts: Buffer[] = [];
  #size = 0;
  #idle = 0;
  #isOver = false;

  /** @param broken called once; no more messages are taken afterwards */
  constructor(take: (message: Message) => void, broken: (why: string) => void) {
    this.#take = take;
    this.#broken = broken;
  }

  /** @param isAtWork whether it has a prompt that it has not answered */
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

  /** Passes on a message. An error in handling it may end the agent's process, but never ours. */
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

/** Whether JSON has more levels than `most`, determined without parsing it. */
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
