import { execFile, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CrosstalkError } from '../errors.ts';
import { addActor } from '../operations/setup/add-actor.ts';
import { tipOf, withContext, type Context } from '../operations/context.ts';
import { init } from '../operations/setup/init.ts';
import { replies } from '../operations/reading/replies.ts';
import { resolveChannel } from '../operations/lookup/resolve.ts';
import { send, senderIn } from '../operations/sending/send.ts';
import { isAnswer } from '../protocol/owed.ts';
import { binPath } from '../package.ts';
import {
  agentCommand,
  machine,
  startDispatcher,
  stopDispatchers,
  type LogLine,
  type DemoMachine,
} from './machine.ts';
import { storyteller, tell } from './story.ts';
import { causalTree } from './tree.ts';

/** What the demo requires of the terminal. */
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
 * Shows the purpose of the program live, without network, account or identity: a hub and two
 * machines in a temporary folder, two real dispatchers, and a question that is delegated across
 * machines and answered once.
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

/** Called before each step: throws where the demo is to end. */
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
  const tool = `${own.join(' ')} node ${binPath()}`;
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
