import { isatty } from 'node:tty';
import { withoutWebToken } from '../credentials.ts';
import { hasCode } from '../errors.ts';
import { type Io, loginName, EXIT } from './command/io.ts';
import { readText, stdinHolds } from './command/stdin.ts';
import { colourless, harmless, isCapable } from './view/render.ts';
import { run } from './run.ts';
import { paging, type Paging } from './command/paging.ts';

/** Options of commands that go on writing, or whose output is for programs. */
const ENDLESS = /^(?:-f|--follow|--jsonl?)$/;

/** Runs the command line tool, and connects it to the process's own streams, signals and exit code. */
export async function main(argv: string[]): Promise<void> {
  const stop = new AbortController();
  const hurry = new AbortController();
  let interrupt: 'exit' | 'clean' | 'child' = 'exit';
  let lastWord = '';
  const interrupted = (signal: NodeJS.Signals): void => {
    if (interrupt === 'child') return;
    if (interrupt === 'exit') {
      process.stderr.write(lastWord);
      process.exit(signal === 'SIGINT' ? EXIT.interrupted : signal === 'SIGHUP' ? 129 : 143);
    }
    if (stop.signal.aborted) hurry.abort();
    if (signal === 'SIGINT') process.exitCode = EXIT.interrupted;
    stop.abort();
  };
  process.on('SIGINT', interrupted);
  process.on('SIGTERM', interrupted);
  // Closing a terminal ends the programs in it. Node takes back that nohup has the signal ignored.
  process.on('SIGHUP', interrupted);
  const inIsTty = isatty(0);
  // An error that cannot be reported there, on a full disk, is no reason to end: a dispatcher goes on.
  process.stderr.on('error', (error) => {
    if (!hasCode(error, 'EPIPE')) return;
    if (interrupt !== 'clean') process.exit(EXIT.failed);
    // Nobody reads the log any more, as when a terminal is closed: the runs come to their end.
    process.exitCode = EXIT.failed;
    stop.abort();
  });
  process.stdout.on('error', (error: Error) => {
    // A reader that closed the pipe (`| head`) is not a failure of this program.
    if (hasCode(error, 'EPIPE')) process.exit(process.exitCode ?? EXIT.ok);
    const why = `${error.message}; the command was carried out, but what it prints is incomplete`;
    process.stderr.write(`crosstalk: cannot write to stdout: ${why}\n`);
    process.exit(EXIT.failed);
  });
  const io = processIo(inIsTty, stop.signal, hurry.signal, (text) => {
    lastWord = text;
  });
  io.interrupts = (how) => {
    interrupt = how;
  };
  let pages: Paging | undefined;
  const code = await run(argv, io, ({ name, paged, interrupt: how }) => {
    interrupt = how ?? 'exit';
    if (paged !== true || !process.stdout.isTTY || argv.some((word) => ENDLESS.test(word))) return;
    if (!isCapable(io.env)) return;
    pages = paging({ write: io.out, clean: harmless, lines: process.stdout.rows }, io, name);
    io.out = pages.out;
  });
  if (pages !== undefined) {
    interrupt = 'child';
    await pages.end();
  }
  process.exitCode = code === EXIT.ok ? (process.exitCode ?? EXIT.ok) : code;
  // Do not wait for handles that are still open (a socket, or a git process that sees its input
  // closed).
  const isWritten = process.stdout.writableLength === 0 && process.stderr.writableLength === 0;
  // The listener reports errors there first.
  if (isWritten && process.stdout.errored === null) process.exit();
}

function processIo(
  inIsTty: boolean,
  stop: AbortSignal,
  hurry: AbortSignal,
  lastWord: Io['lastWord'],
): Io {
  const out = (text: string): boolean =>
    process.stdout.write(process.stdout.isTTY ? harmless(text) : text);
  return {
    env: givenEnvironment(),
    cwd: process.cwd(),
    out,
    outBytes: (bytes) =>
      process.stdout.isTTY
        ? out(colourless(new TextDecoder().decode(bytes)))
        : process.stdout.write(bytes),
    err: (text) => process.stderr.write(process.stderr.isTTY ? harmless(text) : text),
    readStdin: () => (inIsTty ? undefined : readText(process.stdin, 'stdin')),
    stdinHolds,
    lines: linesOfStdin,
    ask: inIsTty && process.stderr.isTTY ? askOnTerminal : undefined,
    askHidden: inIsTty && process.stderr.isTTY ? askHidden : undefined,
    inIsTty,
    outIsTty: process.stdout.isTTY,
    errIsTty: process.stderr.isTTY,
    login: loginName(),
    lastWord,
    stop,
    hurry,
  };
}

/** Returns the environment of this process. The programs that it starts do not inherit all of it. */
function givenEnvironment(): NodeJS.ProcessEnv {
  const given = { ...process.env };
  const inherited = withoutWebToken(given);
  for (const name of Object.keys(given))
    if (!(name in inherited)) Reflect.deleteProperty(process.env, name);
  return given;
}

async function* linesOfStdin(): AsyncGenerator<string> {
  const { linesIn } = await import('./command/stdin.ts');
  yield* linesIn(process.stdin);
}

async function askOnTerminal(question: string, signal?: AbortSignal): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // It takes Ctrl-C for itself, and would leave the question open for ever.
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    return await terminal.question(question, signal === undefined ? {} : { signal });
  } finally {
    terminal.close();
  }
}

/** Asks for a secret: the typed text is not shown. */
async function askHidden(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const { Writable } = await import('node:stream');
  process.stderr.write(question);
  const nowhere = new Writable({
    write: (_chunk, _encoding, done: () => void) => {
      done();
    },
  });
  const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    return await terminal.question('');
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}
