import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { expect, inject, it, onTestFinished } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { profileWith, vault } from '../support/tools.ts';
import { headless } from './clis.ts';
import { machine, underTest } from './machine.ts';
import type { ModelRequest } from './model-request.ts';
import { startModelServer, type ModelServer } from './server.ts';
import type { Turn } from './wire.ts';

const each = underTest('claude', 'codex', 'opencode', 'gemini').map(
  (cli) => [cli.name, cli] as const,
);
const backend = await findBackend(process.env);
const SECRET = 'S3cret-$HOME-value';

/** A call of the tool of the vault, under the name that the CLI gives it; codex uses namespaces. */
function open({ tools }: ModelRequest): Turn {
  const namespace = tools.find((tool) => /^mcp_+vault_*$/.test(tool));
  if (namespace !== undefined) return { tool: 'open', namespace, arguments: {} };
  const tool = tools.find((one) => one.includes('vault') && one.endsWith('open'));
  return tool === undefined
    ? { say: `no vault among ${tools.join(', ')}` }
    : { tool, arguments: {} };
}

async function model(): Promise<ModelServer> {
  const server = await startModelServer((request) => {
    if (request.tools.length === 0) return { say: 'ok' };
    const [said] = request.results;
    return said === undefined ? open(request) : { say: `It says: ${said}` };
  });
  onTestFinished(() => server.close());
  return server;
}

async function asks(host: Host): Promise<string> {
  host.edit({
    'local/actors/worker.md': profileWith('worker', [vault({ KEY: '${vault.key}' })]),
  });
  await host.runWith({ stdin: SECRET }, 'secret', 'set', 'vault.key');
  await host.approve();
  const running = host.start();
  const question = await host.send('worker', 'What is in the vault?');
  const replied = await host.run('replies', '--wait', '--timeout', '150', question);
  await running.stop();
  expect(running.events.filter(({ event }) => /failed|error|left_out/.test(event))).toEqual([]);
  return replied.out;
}

const FOUND = `KEY has ${String(SECRET.length)} characters, ends in lue, and is not seen on command lines`;

it.each(each)('%s calls a tool of the profile, which has its secret', async (_name, cli) => {
  const server = await model();
  const host = await machine(new Bus(), 'front', server.url, { worker: cli });
  expect(await asks(host)).toContain(FOUND);
});

it.skipIf(!backend.ok).each(each)('%s calls it out of a sandbox too', async (_name, cli) => {
  const server = await model();
  const bus = new Bus();
  const host = await machine(bus, 'front', server.url, { worker: cli });
  const { cache } = inject('agents');
  const sandbox = { write: [bus.root, cache] };
  host.declare({ worker: { default: { cli: headless(cli), sandbox } } });
  expect(await asks(host)).toContain(FOUND);
});
