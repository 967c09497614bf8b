import { run } from '../../src/cli/run.ts';
import type { Io } from '../../src/cli/command/io.ts';
import type { Clock } from '../../src/clock.ts';

export interface Ran {
  code: number;
  out: string;
  err: string;
}

export interface RunOptions {
  cwd: string;
  env?: NodeJS.ProcessEnv;
  stdin?: string;
  /** The lines of stdin; by default those of `stdin`. */
  lines?: AsyncIterable<string>;
  stop?: AbortSignal;
  login?: string;
  inIsTty?: boolean;
  outIsTty?: boolean;
  /** Instead of the time and the chance of this machine. */
  clock?: Clock;
  /** Answers a question on the terminal; without it there is no terminal. */
  ask?: (question: string) => Promise<string>;
  onOut?: (text: string) => void;
  onErr?: (text: string) => void;
}

/** Runs a command line in this process, as `bin/crosstalk.js` would in its own process. */
export async function command(argv: readonly string[], options: RunOptions): Promise<Ran> {
  let out = '';
  let err = '';
  const never = new AbortController().signal;
  const io: Io = {
    env: { ...process.env, ...options.env },
    cwd: options.cwd,
    out: (text) => {
      out += text;
      options.onOut?.(text);
    },
    outBytes: (bytes) => {
      out += Buffer.from(bytes).toString('utf8');
    },
    err: (text) => {
      err += text;
      options.onErr?.(text);
    },
    readStdin: () => (options.stdin === undefined ? undefined : Promise.resolve(options.stdin)),
    stdinHolds: () => Promise.resolve(options.stdin === undefined ? 'nothing' : 'something'),
    ask: options.ask,
    lines: () => options.lines ?? linesOf(options.stdin ?? ''),
    inIsTty: options.inIsTty ?? false,
    outIsTty: options.outIsTty ?? false,
    errIsTty: false,
    login: options.login ?? 'operator',
    ...(options.clock && { clock: options.clock }),
    stop: options.stop ?? never,
    lastWord: () => undefined,
    hurry: never,
  };
  const code = await run(argv, io);
  return { code, out, err };
}

async function* linesOf(text: string): AsyncGenerator<string> {
  yield* text.split('\n').slice(0, text.endsWith('\n') ? -1 : undefined);
}
