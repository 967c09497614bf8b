import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { Bus, type Host, type Stored } from '../support/bus.ts';
import { profileWith, vault } from '../support/tools.ts';
import { until } from '../support/wait.ts';
import { headless } from './clis.ts';
import { machine, underTest } from './machine.ts';
import type { ModelRequest } from './model-request.ts';
import { startModelServer, type ModelServer } from './server.ts';
import type { Turn } from './wire.ts';

const asking = underTest('claude').map((cli) => [cli.name, cli] as const);

/** A model that calls tools one after another, and then says what came of each. */
async function model(calls: (bus: Bus) => Turn[], bus: Bus): Promise<ModelServer> {
  const server = await startModelServer(({ results, tools }: ModelRequest) => {
    const next = calls(bus)[results.length];
    return tools.length > 0 && next !== undefined
      ? next
      : { say: `All of it: ${results.join(' | ')}` };
  });
  onTestFinished(() => server.close());
  return server;
}

const write = (bus: Bus, name: string): Turn => ({
  tool: 'Write',
  arguments: { file_path: join(bus.root, name), content: `${name}\n` },
});

const backend = await findBackend(process.env);

async function asks(
  bus: Bus,
  cli: (typeof asking)[number][1],
  calls: (bus: Bus) => Turn[],
): Promise<{ host: Host; server: ModelServer }> {
  const server = await model(calls, bus);
  const host = await machine(bus, 'front', server.url, { worker: cli });
  host.env['CROSSTALK_FROM'] = 'anna';
  host.declare({ worker: { default: { cli: headless(cli), permit: 'anna' } } });
  await host.approve();
  return { host, server };
}

const questions = (bus: Bus): Stored[] =>
  bus.messages().filter(({ message }) => message.permission !== undefined);

async function decide(host: Host, at: number, word: string, ...note: string[]): Promise<void> {
  const found = await until(`question ${String(at + 1)}`, () => questions(host.bus)[at]);
  await host.news();
  const ran = await host.run(word, found.relPath, ...note);
  expect(ran.code, ran.err).toBe(0);
}

async function answerOf(host: Host, question: string): Promise<string> {
  const replied = await host.run('replies', '--wait', '--timeout', '200', question);
  expect(replied.code, replied.out).toBe(0);
  return replied.out;
}

it.each(asking)(
  '%s asks before it writes a file: allowed once, and denied with a note that reaches the model',
  async (_name, cli) => {
    const bus = new Bus();
    const { host, server } = await asks(bus, cli, () => [write(bus, 'a.txt'), write(bus, 'b.txt')]);
    const running = host.start();
    const question = await host.send('worker', 'Write both files, please.');
    await decide(host, 0, 'approve');
    await decide(host, 1, 'deny', 'one is enough');
    const out = await answerOf(host, question);
    expect(readFileSync(join(bus.root, 'a.txt'), 'utf8')).toBe('a.txt\n');
    expect(existsSync(join(bus.root, 'b.txt'))).toBe(false);
    expect(out).toContain('one is enough');
    expect(server.requests.at(-1)?.results[1]).toContain('denied by anna: one is enough');
    // The tool of our server is for the CLI, and not for its model.
    expect(server.requests.flatMap(({ tools }) => tools).join(' ')).not.toContain(
      'crosstalk_permission',
    );
    const [first] = questions(bus);
    expect(first?.message.permission).toMatchObject({
      tool: 'Write',
      input: JSON.stringify({ file_path: join(bus.root, 'a.txt'), content: 'a.txt\n' }),
    });
    await running.stop();
    expect(running.events.filter(({ event }) => /failed|error/.test(event))).toEqual([]);
  },
);

it.each(asking)(
  '%s may ask five times, and goes on when the sixth is denied',
  async (_name, cli) => {
    const bus = new Bus();
    const names = ['1', '2', '3', '4', '5', '6'];
    const { host, server } = await asks(bus, cli, () => names.map((name) => write(bus, name)));
    const running = host.start();
    const question = await host.send('worker', 'Write six files, please.');
    for (let at = 0; at < 5; at++) await decide(host, at, 'approve');
    await answerOf(host, question);
    expect(names.filter((name) => existsSync(join(bus.root, name)))).toEqual(names.slice(0, 5));
    expect(server.requests.at(-1)?.results[5]).toContain('a run may ask 5 times');
    expect(questions(bus)).toHaveLength(5);
    await running.stop();
  },
);

it.skipIf(!backend.ok).each(asking)(
  '%s asks out of its sandbox too, and is told there',
  async (_name, cli) => {
    const bus = new Bus();
    const { host } = await asks(bus, cli, () => [write(bus, 'a.txt'), write(bus, 'b.txt')]);
    // The CLIs of the tests may be installed below /tmp, of which a sandbox has one of its own.
    const { cache } = inject('agents');
    const sandbox = { write: [bus.root, cache] };
    host.declare({ worker: { default: { cli: headless(cli), permit: 'anna', sandbox } } });
    await host.approve();
    const running = host.start();
    const question = await host.send('worker', 'Write both files, please.');
    await decide(host, 0, 'approve');
    await decide(host, 1, 'deny', 'one is enough');
    expect(await answerOf(host, question)).toContain('one is enough');
    expect(existsSync(join(bus.root, 'a.txt'))).toBe(true);
    expect(existsSync(join(bus.root, 'b.txt'))).toBe(false);
    await running.stop();
  },
);

it.each(asking)('%s asks before it calls a tool of the profile', async (_name, cli) => {
  const bus = new Bus();
  const call = { tool: 'mcp__vault__open', arguments: {} };
  const { host } = await asks(bus, cli, () => [call, call]);
  host.edit({ 'local/actors/worker.md': profileWith('worker', [vault({ KEY: 'plain' })]) });
  await host.approve();
  const running = host.start();
  const question = await host.send('worker', 'What is in the vault?');
  await decide(host, 0, 'approve');
  await decide(host, 1, 'deny', 'once is enough');
  const out = await answerOf(host, question);
  expect(out).toContain('KEY has 5 characters');
  expect(out).toContain('once is enough');
  await running.stop();
});
