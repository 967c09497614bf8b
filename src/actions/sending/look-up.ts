import { dispatchVariables } from '../../agents/dispatch-variables.ts';
import type { RunFacts } from '../../dispatcher/run/endpoint.ts';
import { withoutOurs } from '../../dispatcher/run/workplace.ts';
import { CrosstalkError } from '../../errors.ts';
import { binPath } from '../../package.ts';
import { runBounded, type BoundedEnd } from '../../runner/bounded-program.ts';
import { lookUpWords } from '../agent-mode.ts';
import type { Context } from '../context.ts';

/** A command line of `crosstalk` that reads, requested by a run in a sandbox. */
export interface LookUpInput {
  /** The name of the command, its options as `--name=value`, `--`, and its arguments. */
  words: string[];
}

/** The output of the command, and its exit code. */
export interface LookedUp {
  /** Standard output in base64, since it may be any file in git. */
  out: string;
  err: string;
  code: number;
}

/** Maximum words of one command line, and maximum bytes of all of them. */
const MOST_WORDS = 100;
const MOST_BYTES = 64 * 1024;
/** Maximum bytes of its output; in base64 they fit into one line of a socket. */
const MOST_OUT = 4 * 1024 * 1024;
const MOST_ERR = 64 * 1024;
/** Maximum number of concurrent commands, for all runs of this machine and for one. */
const AT_ONCE = 4;
const AT_ONCE_IN_RUN = 2;
/** Maximum number of waiting commands of one run. */
const MOST_WAITING = 20;
/** Milliseconds for one command, from its start. */
const LOOK_UP_MS = 60_000;

interface Waiting {
  run: string;
  begin: () => void;
}

/**
 * An executor of commands that read the transport for runs in a sandbox, which hides it from them. Each
 * is a process of its own, outside of the sandbox, in a mode in which it only reads (`agent-mode.ts`): a
 * long search does not block the dispatcher, and nothing of the process comes from the run except the
 * words of its command line.
 */
export class LookUps {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #state: string;
  readonly #transport: string;
  readonly #running: string[] = [];
  readonly #waiting: Waiting[] = [];

  constructor({ env, paths, transport }: Pick<Context, 'env' | 'paths' | 'transport'>) {
    const environment = withoutOurs(env);
    // As for the crosstalk on a run's PATH: these variables would make node load other code.
    for (const name of ['NODE_OPTIONS', 'NODE_PATH']) Reflect.deleteProperty(environment, name);
    this.#environment = environment;
    this.#state = paths.root;
    this.#transport = transport.dir;
  }

  /**
   * @param words as the run gives them, not validated yet
   * @param signal aborted once nobody waits for the answer
   * @throws CrosstalkError `usage` for words that cannot be a command line, `refused` when too many wait
   */
  async look(run: RunFacts, words: unknown, signal: AbortSignal): Promise<LookedUp> {
    const line = commandLine(words);
    await this.#turn(run.id, signal);
    try {
      return toldOf(line, await this.#run(run, line, signal));
    } finally {
      this.#running.splice(this.#running.indexOf(run.id), 1);
      this.#next();
    }
  }

  #run(run: RunFacts, line: readonly string[], signal: AbortSignal): Promise<BoundedEnd> {
    const { id, actor, host, channel, messages, tip = '' } = run;
    const mode = lookUpWords({ state: this.#state, transport: this.#transport });
    const dispatch = dispatchVariables({ id, actor, host, channel, triggers: messages, tip });
    return runBounded(
      [process.execPath, binPath(), ...mode, ...line],
      { cwd: this.#state, env: { ...this.#environment, ...dispatch } },
      { out: MOST_OUT, err: MOST_ERR, timeout: LOOK_UP_MS, signal },
    );
  }

  /** Waits for a slot; commands of a run with several active ones let others go first. */
  #turn(run: string, signal: AbortSignal): Promise<void> {
    if (this.#waiting.filter((one) => one.run === run).length >= MOST_WAITING)
      throw new CrosstalkError(
        'refused',
        `${String(MOST_WAITING)} commands of this run wait for their turn; wait for them first`,
      );
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        run,
        begin: () => {
          signal.removeEventListener('abort', leave);
          this.#running.push(run);
          resolve();
        },
      };
      const leave = (): void => {
        const at = this.#waiting.indexOf(waiting);
        if (at >= 0) this.#waiting.splice(at, 1);
        reject(new CrosstalkError('refused', 'nobody waits for it any more'));
      };
      if (signal.aborted) {
        leave();
        return;
      }
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(waiting);
      this.#next();
    });
  }

  #next(): void {
    if (this.#running.length >= AT_ONCE) return;
    const at = this.#waiting.findIndex(
      ({ run }) => this.#running.filter((one) => one === run).length < AT_ONCE_IN_RUN,
    );
    if (at >= 0) this.#waiting.splice(at, 1)[0]?.begin();
  }
}

function commandLine(words: unknown): string[] {
  const line = Array.isArray(words) ? (words as unknown[]) : [];
  const isText = (word: unknown): word is string =>
    typeof word === 'string' && !word.includes('\0');
  if (line.length === 0 || line.length > MOST_WORDS || !line.every(isText))
    throw new CrosstalkError('usage', 'this is no command line; use crosstalk <command>');
  const bytes = Buffer.byteLength(line.join(''));
  if (bytes > MOST_BYTES)
    throw new CrosstalkError(
      'usage',
      `the command line has ${String(bytes)} bytes, and may have ${String(MOST_BYTES)} here; shorten it`,
    );
  return line;
}

/** Returns the result of a command, with a message if its output is incomplete. */
function toldOf(line: readonly string[], { code, out, err, ended }: BoundedEnd): LookedUp {
  const why = ended === undefined ? undefined : WHY[ended];
  const name = line
    .slice(
      0,
      Math.max(
        1,
        line.findIndex((word) => word.startsWith('-')),
      ),
    )
    .join(' ');
  const said = err.toString('utf8');
  return {
    out: out.toString('base64'),
    err: why === undefined ? said : `${said}crosstalk ${name}: ${why}\n`,
    code: code ?? 1,
  };
}

const NARROW = 'narrow it, as with --limit, --channel or --since';
const WHY: Record<NonNullable<BoundedEnd['ended']>, string> = {
  too_much: `only the first ${String(MOST_OUT / 1024 / 1024)} MiB of what it prints are shown here, the rest is cut off; ${NARROW}`,
  too_long: `it took longer than ${String(LOOK_UP_MS / 1000)} s and was ended; ${NARROW}`,
  aborted: 'it was ended, since nobody waited for it any more',
};
