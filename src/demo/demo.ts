import { execFile, type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { CrosstalkError } from '../errors.ts';
import { addActor } from '../actions/setup/add-actor.ts';
import { tipOf, withContext, type Context } from '../actions/context.ts';
import { init } from '../actions/setup/init.ts';
import { replies } from '../actions/reading/replies.ts';
import { resolveChannel } from '../actions/lookup/resolve.ts';
import { send, senderIn } from '../actions/sending/send.ts';
import { isAnswer } from '../protocol/owed.ts';
import { binPath } from '../package.ts';
import { causalTree } from './tree.ts';
import type { EventName } from '../log.ts';

/** The interface of the demo to the terminal. */
export interface DemoIo {
  env: NodeJS.ProcessEnv;
  cwd: string;
  out: (text: string) => void;
  err: (text: string) => void;
  stop: AbortSignal;
}

const QUESTION = 'What is in this repository?';
const WORKERS = ['languages', 'history', 'marks', 'structure'];
const LIMIT_MS = 60_000;

/**
 * Demonstrates the program live, without network, account or identity: a hub and two machines in a
 * temporary folder, two real dispatchers, and a question that is delegated across machines and answered
 * once.
 *
 * @returns the exit code
 */
export async function runDemo(io: DemoIo, { keep }: { keep: boolean }): Promise<number> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'crosstalk-demo-')));
  const environment = { ...io.env, DEMO_REPOSITORY: io.cwd, CROSSTALK_FROM: 'operator' };
  const front = machine(root, 'front', environment);
  const back = machine(root, 'back', environment);
  const say = storyteller(io);
  say('', `Two machines in ${root}, one bare git repository between them.`);
  const children: ChildProcess[] = [];
  const failed = new AbortController();
  try {
    await setUp(io, root, front, back);
    for (const { alias, ...rest } of [front, back]) {
      goOn(io);
      const onLine = (line: LogLine): void => {
        const told = tell(line);
        if (told !== undefined) say(alias, told);
        if (line.event === 'quarantined') failed.abort();
      };
      children.push(startDispatcher({ alias, ...rest }, { onLine }));
    }
    const code = await inMachine(io, front, (context) =>
      converse({ ...io, stop: AbortSignal.any([io.stop, failed.signal]) }, context, say),
    );
    await stopDispatchers(children);
    io.out(closing(root, front, back, keep));
    return code;
  } catch (error) {
    if (!io.stop.aborted) throw error;
    await stopDispatchers(children);
    io.out(`\n${removal(root)}\n`);
    throw new CrosstalkError('aborted', 'ended before there was an answer', { cause: error });
  } finally {
    await stopDispatchers(children);
  }
}

/**
 * Checks before each step whether the demo must end.
 *
 * @throws CrosstalkError `aborted`
 */
function goOn({ stop }: DemoIo): void {
  if (stop.aborted) throw new CrosstalkError('aborted', 'ended before there was an answer');
}

async function setUp(
  io: DemoIo,
  root: string,
  front: DemoMachine,
  back: DemoMachine,
): Promise<void> {
  const hub = join(root, 'hub.git');
  await mkdir(hub);
  await promisify(execFile)('git', ['init', '--quiet', '--bare', '--initial-branch=main', hub], {
    env: io.env,
  });
  const make = async ({ env, dir, alias }: DemoMachine, actor: string): Promise<void> => {
    goOn(io);
    await init(
      { env, cwd: root },
      {
        dir,
        remote: hub,
        alias,
        actor,
        cli: agentCommand(actor),
        login: 'operator',
        note: () => undefined,
      },
    );
  };
  await make(front, 'concierge');
  await make(back, WORKERS[0] ?? '');
  await inMachine(io, back, async (context) => {
    for (const name of WORKERS.slice(1)) {
      goOn(io);
      await addActor(context, {
        name,
        cli: agentCommand(name),
        tier: 'default',
        host: 'back',
        login: 'operator',
      });
    }
  });
}

async function converse(
  io: DemoIo,
  context: Context,
  say: (who: string, what: string) => void,
): Promise<number> {
  goOn(io);
  say('operator', `asks concierge: "${QUESTION}"`);
  const input = { to: 'concierge', body: QUESTION, isNew: false, wait: true, login: 'operator' };
  const sent = await send(senderIn({ ...context, dispatch: {} }), input);
  const question = sent.messages[0]?.relPath ?? '';
  const waiting = replies(context, {
    messages: [question],
    wait: 'all',
    timeout: LIMIT_MS,
    signal: io.stop,
  });
  const { ending, found } = await waiting.catch((error: unknown) => {
    throw new CrosstalkError('aborted', 'ended before there was an answer', { cause: error });
  });
  if (ending !== 'complete') {
    throw new CrosstalkError(
      'timed_out',
      `no answer within ${String(LIMIT_MS / 1000)} s; look at the transport in ${context.transport.dir}`,
    );
  }
  for (const { message } of found
    .flatMap((one) => one.replies)
    .filter((one) => isAnswer(one.message))) {
    io.out(
      `\n${message.from} answers ${message.to.map(({ name }) => name).join(', ')}:\n\n${message.body.replace(/^/gm, '  ')}\n`,
    );
  }
  const channel = await resolveChannel(context, undefined);
  const messages = await context.reader.since(await tipOf(context), channel.id, question, 1000);
  io.out(`\nWho caused what, and how long each hop took (every line is a commit in the hub):\n\n`);
  io.out(
    `${causalTree(messages)
      .map((line) => `  ${line}`)
      .join('\n')}\n`,
  );
  return 0;
}

function removal(root: string): string {
  return `  rm -r ${root}    when you are done`;
}

function closing(root: string, front: DemoMachine, back: DemoMachine, keep: boolean): string {
  const look = [
    '',
    'Where to look:',
    `  git -C ${front.dir} log --format='%h %<(12)%an %s'    the record`,
    `  ls ${front.dir}/data/channels/*/*/*/*    the messages`,
  ];
  if (!keep) return [...look, removal(root), ''].join('\n');
  const started = [front, back].map((one) =>
    startDispatcher(one, { file: join(root, `${one.alias}.log`) }),
  );
  const pids = started.map(({ pid }) => String(pid)).join(' ');
  const own = ['CROSSTALK_STATE_DIR', 'XDG_STATE_HOME'].map(
    (name) => `${name}=${front.env[name] ?? ''}`,
  );
  const tool = `${own.join(' ')} ${process.execPath} ${binPath()}`;
  return [
    ...look,
    '',
    'Both dispatchers keep running. Ask again:',
    `  ${tool} send --transport ${front.dir} --from operator --to concierge "And now?"`,
    'and read the answer:',
    `  ${tool} replies --wait --transport ${front.dir} <the path that send printed>`,
    'End it all with:',
    `  kill ${pids} && rm -r ${root}`,
    '',
  ].join('\n');
}

function inMachine<T>(
  io: DemoIo,
  { env, dir }: DemoMachine,
  work: (context: Context) => Promise<T>,
): Promise<T> {
  return withContext(
    { env, cwd: dir },
    {
      transport: dir,
      note: (line) => {
        io.err(`${line}\n`);
      },
    },
    work,
  );
}

/** Prints events with the seconds since the start, until the demo is to end. */
function storyteller({
  out,
  stop,
}: {
  out: (text: string) => void;
  stop: AbortSignal;
}): (who: string, what: string) => void {
  const begun = performance.now();
  return (who, what) => {
    if (stop.aborted) return;
    const seconds = ((performance.now() - begun) / 1000).toFixed(2).padStart(6);
    out(`${seconds} s  ${who.padEnd(9)} ${what}\n`);
  };
}

/** Describes an event in a dispatcher's log; undefined for an event that the demo does not show. */
function tell(line: LogLine): string | undefined {
  const {
    event,
    actor,
    messages,
    duration_ms: duration,
  } = line as LogLine & { actor?: string; messages?: string[]; duration_ms?: number };
  const count = messages?.length ?? 0;
  const mail = `${String(count)} message${count === 1 ? '' : 's'}`;
  switch (event) {
    case 'dispatcher_started':
      return 'dispatcher is up';
    case 'dispatch_start':
      return `${actor ?? ''} wakes up for ${mail}`;
    case 'dispatch_silent':
      return `${actor ?? ''} has nothing to say yet`;
    case 'reply_queued':
      return `${actor ?? ''} has its answer`;
    case 'dispatch_done':
      return line['replied'] === true
        ? `${actor ?? ''}'s answer is on the hub (the run took ${String(duration)} ms)`
        : undefined;
    case 'dispatch_failed':
      return `${actor ?? ''} failed: ${String(line['detail'])}`;
    default:
      return undefined;
  }
}

/**
 * One of the demo's two machines: a clone and a state directory of its own. Nothing is stored
 * anywhere else.
 */
interface DemoMachine {
  alias: string;
  dir: string;
  env: NodeJS.ProcessEnv;
}

interface LogLine {
  event: EventName;
  [field: string]: unknown;
}

function machine(root: string, alias: string, environment: NodeJS.ProcessEnv): DemoMachine {
  const dir = join(root, alias);
  return {
    alias,
    dir,
    env: {
      ...environment,
      CROSSTALK_TRANSPORT: dir,
      CROSSTALK_STATE_DIR: join(root, `${alias}-state`),
      // This folder holds the state that all transports of a user share.
      XDG_STATE_HOME: join(root, 'shared-state'),
    },
  };
}

/** Returns the command line of a demo agent: the built script, or the source through tsx. */
function agentCommand(name: string): string {
  const here = fileURLToPath(import.meta.url);
  const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  const node = quote(process.execPath);
  return here.endsWith('.ts')
    ? `${node} --import ${quote(import.meta.resolve('tsx'))} ${quote(join(here, '..', 'agents', `${name}.ts`))}`
    : `${node} ${quote(join(binPath(), '..', '..', 'dist', 'demo', 'agents', `${name}.js`))}`;
}

/**
 * Starts a real dispatcher process; its log goes to `onLine`, or to a file if the demo's folder is
 * kept.
 */
function startDispatcher(
  { alias, dir, env }: DemoMachine,
  output: { onLine: (line: LogLine) => void } | { file: string },
): ChildProcess {
  const toFile = 'file' in output;
  const log = toFile ? openSync(output.file, 'a') : 'pipe';
  const child = spawn(
    process.execPath,
    [binPath(), 'dispatch', '--host', alias, '--interval', '1', '--shared-state'],
    {
      cwd: dir,
      env,
      detached: toFile,
      stdio: ['ignore', 'ignore', log],
    },
  );
  if (toFile) child.unref();
  else if (child.stderr) {
    createInterface(child.stderr).on('line', (text) => {
      if (text.startsWith('{')) output.onLine(JSON.parse(text) as LogLine);
    });
  }
  return child;
}

/** Ends dispatchers and waits until their processes have exited. */
async function stopDispatchers(children: readonly ChildProcess[]): Promise<void> {
  await Promise.all(
    children.map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
    }),
  );
}
