import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { World, type Machine } from '../world.ts';
import { writeAgents } from './agents.ts';
import { historyFiles } from './history.ts';

/** A bus as it looks on an ordinary day, for screenshots. */
export interface Stage {
  world: World;
  laptop: Machine;
  /** Id of the channel with the most messages. */
  channel: string;
  /** relPath of a question that several actors worked on. */
  question: string;
  /** The address of its page, with the token. */
  url: string;
}

const HOURS = 6;
const PATIENCE_MS = 60_000;

/** Two machines with actors that answer, work, fail and wait, and the page of one of them. */
export async function setStage(): Promise<Stage> {
  const world = await World.make();
  world.env['CROSSTALK_FROM'] = 'anna';
  const cli = writeAgents(join(world.root, 'agents'));
  const laptop = await world.machine('laptop', cli['concierge'], 'concierge');
  const server = await world.machine('server', cli['tester'], 'tester');
  await server.run(
    'actor',
    'add',
    'librarian',
    '--cli',
    cli['librarian'] ?? '',
    '--host',
    'server',
  );
  for (const name of ['painter', 'researcher'])
    await laptop.run('actor', 'add', name, '--cli', cli[name] ?? '', '--host', 'laptop');
  await laptop.run(
    'actor',
    'add',
    'concierge',
    '--tier',
    'large',
    '--cli',
    cli['concierge'] ?? '',
    '--host',
    'laptop',
  );
  const channel = await channelId(laptop, 'general');
  await laptop.run('channel', 'create', 'release 2.4', '--description', 'What 2.4 still needs.');
  await laptop.run('channel', 'create', 'documentation', '--parent', 'release 2.4');
  await laptop.run(
    'channel',
    'create',
    'operations',
    '--description',
    'What runs, and what broke.',
  );
  await commit(world, historyFiles(channel, Date.now() - 600_000, HOURS));
  await laptop.serve();
  await server.serve();
  const [release, operations] = ['release 2.4', 'operations'];
  const send = async (to: string, text: string, inChannel: string): Promise<string> =>
    (await laptop.run('send', '--to', to, '--channel', inChannel, text)).out
      .replace('Sent: ', '')
      .trim();
  await send('painter', 'Draw the new icon in 512 px.', release);
  await send('researcher', 'Compare the three queue libraries we talked about.', operations);
  await send('auditor', 'Sign off the access list of this quarter.', operations);
  const question = await send('concierge', 'Can we release **2.4** today?', 'general');
  await until(async () => (await laptop.run('replies', question)).out.includes('Not yet'));
  await until(async () => (await laptop.run('dlq')).out.includes('painter'));
  const url = await serveWeb(laptop);
  return { world, laptop, channel, question, url };
}

async function serveWeb(machine: Machine): Promise<string> {
  const web = machine.start('web', '--port', '0');
  await web.printed('Open: http');
  return /Open: (\S+)/.exec(web.out)?.[1] ?? '';
}

async function channelId(machine: Machine, name: string): Promise<string> {
  const { out } = await machine.run('channel', 'list', '--json');
  const channels = JSON.parse(out) as { id: string; name: string }[];
  return channels.find((one) => one.name === name)?.id ?? '';
}

/** Commits files to the bus from a separate clone. */
async function commit(world: World, files: Record<string, string>): Promise<void> {
  const clone = join(world.root, 'by-hand');
  await world.git(world.root, 'clone', '--quiet', world.hub, clone);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(clone, path)), { recursive: true });
    writeFileSync(join(clone, path), content);
  }
  await world.git(clone, 'add', '--all');
  await world.git(clone, 'commit', '--quiet', '--message', 'history');
  await world.git(clone, 'push', '--quiet');
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('the stage was not set in time');
    await sleep(100);
  }
}
