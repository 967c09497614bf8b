import { run } from '../../src/cli/run.ts';
import type { Io } from '../../src/cli/io.ts';

export interface Ran {
  code: number;
  out: string;
  err: string;
}

export interface RunOptions {
  cwd: string;
  env?: NodeJS.ProcessEnv;
  stdin?: string;
  stop?: AbortSignal;
  outIsTty?: boolean;
  onErr?: (text: string) => void;
  onOut?: (text: string) => void;
}

/** Runs a command line in this process, as `bin/crosstalk.js` would in another. */
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
    ask: undefined,
    outIsTty: options.outIsTty ?? false,
    errIsTty: false,
    login: 'operator',
    stop: options.stop ?? never,
    hurry: never,
  };
  const code = await run(argv, io);
  return { code, out, err };
}
