import { ended, endGroup, killGroup, spawnGated, STDERR_TAIL, tail, type End } from '../gated.ts';
import { RawOutput } from '../raw-output.ts';
import { afterRunning } from '../running-time.ts';
import type {
  AcpSession,
  InvocationResult,
  Prompt,
  Reached,
  Runner,
  RunningCli,
  Start,
  Words,
} from '../runner.ts';
import { AgentFailed, Connection } from './connection.ts';
import { Messages } from './messages.ts';
import { Turn } from './turn.ts';

/** Milliseconds within which a session has to be open: nothing was spent, so a run of its own can be made. */
const OPENING_MS = 60_000;

/**
 * Runs prompts in a process that speaks the Agent Client Protocol: `/bin/sh -c` in a new process group, as
 * for one prompt, and messages on stdin and stdout. The process takes one prompt at a time.
 *
 * A turn ends with the answer to its prompt. Anything else (the end of the process, its limits, a cancel, a
 * line that is no JSON, an error) ends the process too: what is left of a turn in it is not known.
 */
export const acpRunner: Runner = {
  start: (start) => new AcpProcess(start, start.acp ?? NO_SESSION),
};

const NO_SESSION: AcpSession = { servers: [], folders: [], options: {} };

/** Why a turn came to its end, if not by an answer. */
type Stop = 'timedOut' | 'aborted' | 'steered' | 'tooMuchOutput';

class AcpProcess implements RunningCli {
  readonly #start: Start;
  readonly #acp: AcpSession;
  readonly #child: ReturnType<typeof spawnGated>;
  readonly #ending: Promise<End>;
  readonly #messages: Messages;
  readonly #stderr: () => string;
  #lose: () => void = () => undefined;
  /** Resolves when the process has ended, whyever. */
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
      // An end that this process did not ask for is a failure, whatever the agent calls it.
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
    // A process that has ended says why by its exit code.
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

/** The result of a process that ended before it was given its prompt, and not because it was to. */
function unsent(result: InvocationResult): InvocationResult {
  const { timedOut, aborted, tooMuchOutput } = result;
  return timedOut || aborted || tooMuchOutput ? result : { ...result, unsent: true };
}
