import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { headless, type RealCli } from './clis.ts';
import { machine, underTest } from './machine.ts';
import { startModelServer, type ModelServer } from './server.ts';

const each = underTest('claude', 'codex', 'pi', 'opencode', 'gemini').map(
  (cli) => [cli.name, cli] as const,
);

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

/** A machine whose worker is a real CLI in a tier that goes on with sessions. */
async function scene(cli: RealCli, options: Record<string, string> = {}): Promise<Scene> {
  const bus = new Bus();
  const server = await startModelServer(({ body }) => ({
    say: `SAID-${String(words(body).filter((one) => one.startsWith('ASKED')).length)}`,
    used: USED,
  }));
  onTestFinished(() => server.close());
  const host = await machine(bus, 'laptop', server.url, { worker: cli });
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

const ledger = ({ host }: Scene): Record<string, unknown>[] =>
  readdirSync(join(host.state, 'ledger'))
    .flatMap((name) => readFileSync(join(host.state, 'ledger', name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

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
    expect(existsSync(join(at.host.state, 'runs'))).toBe(true);
    await askOn(at, 'ASKED-3');
    expect(words(newest(asked(at)[2]?.body))).toEqual(['ASKED-3']);
  },
);
