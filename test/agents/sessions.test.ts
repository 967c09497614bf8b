import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { Bus, type Host } from '../support/bus.ts';
import { headless, type RealCli } from './clis.ts';
import { machine, underTest } from './machine.ts';
import type { ModelRequest } from './model-request.ts';
import { startModelServer, type ModelServer, type Script } from './server.ts';

const each = underTest('claude', 'codex', 'pi', 'opencode', 'gemini').map(
  (cli) => [cli.name, cli] as const,
);

const backend = await findBackend(process.env);

const USED = { input: 100, cached: 1000, output: 10 };

/** Where each CLI keeps its sessions, below its HOME. */
const KEPT: Record<string, RegExp> = {
  claude: /^\.claude\/projects$/,
  codex: /^\.codex\/(?:sessions|.*\.sqlite.*)$/,
  pi: /^\.pi\/agent\/sessions$/,
  opencode: /^\.local\/share\/opencode\/(?:opencode.*\.db.*|storage)$/,
  gemini: /^\.gemini\/tmp$/,
};

interface Scene {
  bus: Bus;
  host: Host;
  server: ModelServer;
}

type Options = Record<string, string | number | Record<string, string[]>>;

/** The model says how much it knows. */
const says = ({ body }: ModelRequest): ReturnType<Script> => ({
  say: `SAID-${String(words(body).filter((one) => one.startsWith('ASKED')).length)}`,
  used: USED,
});

/** A machine whose worker is a real CLI in a tier that goes on with sessions. */
async function scene(
  cli: RealCli,
  options: Options = {},
  script: (request: ModelRequest) => ReturnType<Script> = says,
): Promise<Scene> {
  const bus = new Bus();
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  const host = await machine(bus, 'laptop', server.url, { worker: cli });
  // codex makes no helpers for its own sandbox below a folder for temporary files.
  for (const [name, from] of [
    ['HOME', host.env['HOME']],
    ['CROSSTALK_STATE_DIR', host.state],
  ] as const) {
    const folder = mkdtempSync('/var/tmp/crosstalk-sessions-');
    onTestFinished(() => {
      rmSync(folder, { recursive: true, force: true });
    });
    cpSync(String(from), folder, { recursive: true });
    host.env[name] = folder;
  }
  host.declare({ worker: { default: { cli: headless(cli), session: 'resume', ...options } } });
  await host.approve();
  return { bus, host, server };
}

/** The words of this test in what the model was sent, each once. */
function words(body: unknown): string[] {
  return [...new Set(JSON.stringify(body).match(/(?:ASKED|SAID)-\d/g))];
}

/** What the newest prompt in a request says, of whatever the CLI sends along. */
function newest(body: unknown): string {
  const text = JSON.stringify(body);
  return text.slice(text.lastIndexOf('Crosstalk made this prompt.'));
}

async function askOn({ bus, host }: Scene, text: string): Promise<void> {
  const last = bus.from('worker').at(-1)?.relPath;
  const asked =
    last === undefined
      ? await host.run('send', '--to', 'worker', text)
      : await host.run('reply', last, text);
  expect(asked.code, asked.err).toBe(0);
  const before = bus.from('worker').length;
  const events = await host.once();
  const told = events.filter(({ event }) => /failed|dead|refused/.test(event));
  expect(bus.from('worker').length, JSON.stringify(told)).toBe(before + 1);
}

/** Requests that offer tools: a CLI asks for titles besides. */
const asked = ({ server }: Scene) => server.requests.filter(({ tools }) => tools.length > 0);

const ledger = ({ host }: Scene): Record<string, unknown>[] => {
  const folder = join(String(host.env['CROSSTALK_STATE_DIR']), 'ledger');
  return readdirSync(folder)
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
};

/** Removes what a CLI keeps of its sessions. */
function forget({ host }: Scene, name: string): number {
  const home = String(host.env['HOME']);
  const pattern = KEPT[name] ?? /(?!)/;
  const found = readdirSync(home, { recursive: true, encoding: 'utf8' }).filter((path) =>
    pattern.test(path),
  );
  for (const path of found) rmSync(join(home, path), { recursive: true, force: true });
  return found.length;
}

it.each(each)(
  '%s knows what was said two messages ago, which its prompt does not say again',
  async (_name, cli) => {
    const at = await scene(cli);
    await askOn(at, 'ASKED-1');
    await askOn(at, 'ASKED-2');
    await askOn(at, 'ASKED-3');

    const requests = asked(at);
    expect(requests.map(({ body }) => words(body).sort())).toEqual([
      ['ASKED-1'],
      ['ASKED-1', 'ASKED-2', 'SAID-1'],
      ['ASKED-1', 'ASKED-2', 'ASKED-3', 'SAID-1', 'SAID-2'],
    ]);
    expect(words(newest(requests[2]?.body))).toEqual(['ASKED-3']);
    expect(newest(requests[2]?.body)).toContain('# Your session');
    const answers = at.bus.from('worker').map(({ message }) => message);
    expect(answers.map(({ body }) => body.trim())).toEqual(['SAID-1', 'SAID-2', 'SAID-3']);
    expect(answers.map(({ extra }) => extra['session'])).toEqual(['fresh', 'resumed', 'resumed']);
    // What each run used, whatever its CLI adds up.
    expect(ledger(at)).toMatchObject([
      { session: 'fresh', usage: USED },
      { session: 'resumed', usage: USED },
      { session: 'resumed', usage: USED },
    ]);
  },
);

it.each(each)(
  '%s begins anew where its session is gone, and asks the model no more often for that',
  async (name, cli) => {
    const at = await scene(cli);
    await askOn(at, 'ASKED-1');
    expect(forget(at, name)).toBeGreaterThan(0);
    await askOn(at, 'ASKED-2');
    const requests = asked(at);
    expect(requests).toHaveLength(2);
    expect(words(newest(requests[1]?.body)).sort()).toEqual(['ASKED-1', 'ASKED-2', 'SAID-1']);
    const answers = at.bus.from('worker').map(({ message }) => message);
    expect(answers.map(({ extra }) => extra['session'])).toEqual(['fresh', 'fresh']);
    expect(ledger(at)).toHaveLength(2);
    await askOn(at, 'ASKED-3');
    expect(words(newest(asked(at)[2]?.body))).toEqual(['ASKED-3']);
  },
);

it.each(each)('%s may do in a run that goes on what it may do in any', async (_name, cli) => {
  const at = await scene(cli, {}, (request) => {
    const isOn = words(newest(request.body)).includes('ASKED-2');
    return isOn && request.results.length === 0
      ? { shell: 'crosstalk send --to other --anyway "By the way."' }
      : says(request);
  });
  await askOn(at, 'ASKED-1');
  const last = at.bus.from('worker').at(-1)?.relPath ?? '';
  await at.host.run('reply', last, 'ASKED-2');
  await at.host.once();
  const said = at.bus.from('worker').map(({ message }) => message.body.trim());
  expect(said).toEqual(['SAID-1', 'By the way.', 'SAID-2']);
  await askOn(at, 'ASKED-3');
  // What it has sent itself is no news to it.
  expect(newest(asked(at).at(-1)?.body)).not.toContain('By the way.');
});

it.each(each.filter(([name]) => name === 'codex'))(
  '%s is kept from writing in a run that goes on, as in its first',
  async (_name, cli) => {
    const command = headless(cli).replace('workspace-write', 'read-only');
    const at = await scene(cli, { cli: command, workdir: '~' }, (request) =>
      request.results.length < words(newest(request.body)).length
        ? { shell: 'touch "$HOME/was-written"' }
        : says(request),
    );
    await askOn(at, 'ASKED-1');
    await askOn(at, 'ASKED-2');
    expect(asked(at).at(-1)?.results.length).toBeGreaterThan(0);
    expect(existsSync(join(String(at.host.env['HOME']), 'was-written'))).toBe(false);
  },
);

it.each(each.filter(([name]) => name === 'claude'))(
  '%s is told for each run what that one may cost, and not the session',
  async (_name, cli) => {
    // Each run is said to cost $0.00125.
    const at = await scene(cli, { max_usd_per_day: '0.004' });
    for (const text of ['ASKED-1', 'ASKED-2', 'ASKED-3']) await askOn(at, text);
    expect(ledger(at)).toMatchObject([{ ended: 'answered' }, {}, { ended: 'answered' }]);
  },
);

it.skipIf(!backend.ok).each(each)(
  '%s goes on with its session in a sandbox',
  async (_name, cli) => {
    const { cache } = inject('agents');
    const at = await scene(cli, { sandbox: { env: ['FAKE_MODEL_KEY'], write: [cache] } });
    await askOn(at, 'ASKED-1');
    await askOn(at, 'ASKED-2');
    expect(words(newest(asked(at).at(-1)?.body))).toEqual(['ASKED-2']);
    expect(words(asked(at).at(-1)?.body)).toContain('ASKED-1');
    const answers = at.bus.from('worker').map(({ message }) => message.extra['session']);
    expect(answers).toEqual(['fresh', 'resumed']);
  },
);
