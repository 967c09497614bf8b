import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { expect, inject, it, onTestFinished } from 'vitest';
import { Bus, type Host, type Running } from '../support/bus.ts';
import { profileWith, vault } from '../support/tools.ts';
import { Web } from '../support/web.ts';
import { startWebVault } from '../support/web-vault.ts';
import { headless } from './clis.ts';
import { machine, underTest } from './machine.ts';
import type { ModelRequest } from './model-request.ts';
import { startModelServer, type ModelServer } from './server.ts';
import type { Turn } from './wire.ts';

// automation.md, "Tools by value".

const each = underTest('claude', 'codex', 'opencode', 'gemini').map(
  (cli) => [cli.name, cli] as const,
);
const backend = await findBackend(process.env);
const SECRET = 'S3cret-$HOME-value';
const HEADER = 'S3cret-%HOME%-\\header\\';
/** What every spelling of it has, also where a CLI has replaced `$HOME`, or quoted it as JSON. */
const TRACES = ['S3cret-', ...[SECRET, HEADER].map((one) => Buffer.from(one).toString('base64'))];

/** A call of the tool of a server, under the name that the CLI gives it; codex uses namespaces. */
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
    const { results } = request;
    if (results.length === 0) return open(request);
    // What the command allowed before it was given tools, it allows still.
    if (results.length === 1) return { shell: 'crosstalk actor list' };
    return { say: `It says: ${results.join(' | ')}` };
  });
  onTestFinished(() => server.close());
  return server;
}

function name(host: Host, ...mcps: unknown[]): void {
  host.edit({ 'local/actors/worker.md': profileWith('worker', mcps) });
}

async function keep(host: Host, secret = SECRET): Promise<void> {
  expect((await host.runWith({ stdin: secret }, 'secret', 'set', 'vault.key')).code).toBe(0);
}

const ask = (host: Host): Promise<string> => host.send('worker', 'What is in the vault?', '--new');

async function answer(host: Host, question: string): Promise<string> {
  return (await host.run('replies', '--wait', '--timeout', '150', question)).out;
}

function noFailures({ events }: Running): void {
  expect(events.filter(({ event }) => /failed|error|left_out/.test(event))).toEqual([]);
}

/** The files below a folder that have a trace of the secret in them. */
function tracesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || path.endsWith('/secrets/vault.key')) return [];
    const content = readFileSync(path);
    return TRACES.some((trace) => content.includes(trace)) ? [path] : [];
  });
}

/** Every object of a repository. */
function objects(gitDir: string): string {
  return execFileSync('git', ['cat-file', '--batch-all-objects', '--batch'], {
    cwd: gitDir,
    encoding: 'latin1',
    maxBuffer: 1 << 28,
  });
}

/** What the page gets to know, with what the runs have printed. */
async function page(host: Host, runs: readonly string[]): Promise<string> {
  const web = await Web.start(host);
  const paths = ['now', 'actors', 'hosts', 'flow', 'cost', 'channels', 'inbox?for=operator'];
  const answers = await Promise.all(paths.map((path) => web.get(`/api/${path}`)));
  const printed = await Promise.all(
    runs.map((id) => web.raw('GET', `/api/runs/${id}/output`, web.bearer())),
  );
  // Nothing ran for what was parked, so there is no output of it.
  expect(printed.at(-1)?.text).toContain('It says');
  return JSON.stringify([answers, printed]);
}

/** Where the secret would be found besides the place where it is kept. */
async function expectNowhere(host: Host, running: Running, server: ModelServer): Promise<void> {
  const { bus } = host;
  const shown = await host.run('actor', 'show', 'worker', '--json');
  const runs = running.events.filter(({ event }) => event === 'dispatch_start').map(({ id }) => id);
  const told = {
    log: JSON.stringify(running.events),
    page: await page(host, runs.map(String)),
    prompt: JSON.stringify(server.requests),
    transport: objects(bus.hub) + objects(join(host.dir, '.git')),
    show: `${shown.out}${(await host.run('host', 'show', '--json')).out}`,
  };
  for (const [where, text] of Object.entries(told)) {
    expect(text.length, where).toBeGreaterThan(100);
    for (const trace of TRACES) expect(text.includes(trace), where).toBe(false);
  }
  // The state directory with ledger and transcripts, the clones, and what the CLI keeps in its HOME.
  expect(tracesIn(bus.root)).toEqual([]);
  expect(readdirSync(join(host.state, 'run'))).toEqual([]);
  expect(tracesIn(join(host.state, 'secrets'))).toEqual([]);
  const kept = readFileSync(join(host.state, 'secrets', 'vault.key'), 'utf8');
  expect(kept).toContain(TRACES[0]);
}

const FOUND = `KEY has ${String(SECRET.length)} characters, ends in lue, and is not seen on command lines`;

it.each(each)(
  '%s is given tools once they are approved and their secret is there, and keeps them when others change the profile',
  async (_name, cli) => {
    const server = await model();
    const host = await machine(new Bus(), 'front', server.url, { worker: cli });
    name(host, vault({ KEY: '${vault.key}' }));
    const running = host.start();
    expect(await answer(host, await ask(host))).toContain('no vault among');
    await running.saw('host_change_held');

    await host.approve();
    const before = server.requests.length;
    const question = await ask(host);
    await running.saw('parked', ({ reason }) => reason === 'missing_secret');
    expect(server.requests).toHaveLength(before);
    await keep(host);
    expect((await host.run('dlq', '--retry', 'all')).code).toBe(0);
    expect(await answer(host, question)).toContain(FOUND);

    const changes = running.count('host_change_held');
    name(host, vault({ KEY: '${vault.key}', STOLEN: '${vault.key}' }));
    await running.saw('host_change_held', () => running.count('host_change_held') > changes);
    const last = await answer(host, await ask(host));
    expect(last).toContain(FOUND);
    expect(last).toContain('front (default)');
    expect(last).not.toContain('STOLEN');
    await running.stop();
    noFailures(running);
    await expectNowhere(host, running, server);
  },
);

it.each(each)('%s calls a server at an address, with a secret in a header', async (_name, cli) => {
  const server = await model();
  const web = await startWebVault();
  onTestFinished(() => web.close());
  const host = await machine(new Bus(), 'front', server.url, { worker: cli });
  const headers = { Authorization: 'Bearer ${vault.key}', 'X-Plain': 'plain' };
  name(host, { name: 'vault', url: web.url, headers });
  // In a header some replace what looks like the name of a variable, and are not given such a secret.
  await keep(host, HEADER);
  await host.approve();
  const running = host.start();
  expect(await answer(host, await ask(host))).toContain('The vault on the web is open.');
  await running.stop();
  noFailures(running);
  expect(web.calls).toEqual([`Bearer ${HEADER}`]);
  expect(web.seen).toEqual([]);
  await expectNowhere(host, running, server);
});

it.skipIf(!backend.ok).each(each)('%s calls its tools out of a sandbox too', async (_name, cli) => {
  const server = await model();
  const bus = new Bus();
  const host = await machine(bus, 'front', server.url, { worker: cli });
  const { cache } = inject('agents');
  // The CLIs of the tests may be installed below /tmp, of which a sandbox has one of its own.
  const sandbox = { env: ['FAKE_MODEL_KEY'], write: [bus.root, cache] };
  host.declare({ worker: { default: { cli: headless(cli), sandbox } } });
  name(host, vault({ KEY: '${vault.key}' }));
  await keep(host);
  await host.approve();
  const running = host.start();
  expect(await answer(host, await ask(host))).toContain(FOUND);
  await running.stop();
  noFailures(running);
});
