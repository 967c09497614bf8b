import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';
import { Bus, type Host, type Running } from '../support/bus.ts';
import { binFolder, headless, REAL_ADAPTERS, type RealCli } from './clis.ts';
import { machine } from './machine.ts';
import type { ModelRequest } from './model-request.ts';
import { startModelServer, type ModelServer, type Script } from './server.ts';

export const USED = { input: 100, cached: 1000, output: 10 };

export interface Scene {
  bus: Bus;
  host: Host;
  server: ModelServer;
  running: Running;
}

/** The model says how much it knows. */
export const says = ({ body }: ModelRequest): ReturnType<Script> => ({
  say: `SAID-${String(words(body).filter((one) => one.startsWith('ASKED')).length)}`,
  used: USED,
});

export type Options = Record<string, string | number | Record<string, string[]>>;

/** A machine with a dispatcher whose worker is a real CLI that is kept. */
export async function scene(
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
    const folder = mkdtempSync('/var/tmp/crosstalk-warm-');
    onTestFinished(() => {
      rmSync(folder, { recursive: true, force: true });
    });
    cpSync(String(from), folder, { recursive: true });
    host.env[name] = folder;
  }
  const adapter = REAL_ADAPTERS[cli.name];
  if (adapter !== undefined) {
    const bin = binFolder(adapter, inject('agents').cache);
    host.env['PATH'] = `${bin}:${String(host.env['PATH'])}`;
  }
  host.declare({ worker: { default: { cli: headless(cli), session: 'warm', ...options } } });
  await host.approve();
  return { bus, host, server, running: host.start() };
}

/** The words of this test in what the model was sent, each once. */
export function words(body: unknown): string[] {
  return [...new Set(JSON.stringify(body).match(/(?:ASKED|SAID)-\d/g))];
}

export const spoken = ({ bus }: Scene) =>
  bus.from('worker').filter(({ message }) => message.re.length > 0);

/** Requests that offer tools: a CLI asks for titles besides. */
export const asked = ({ server }: Scene) => server.requests.filter(({ tools }) => tools.length > 0);

export const ledger = ({ host }: Scene): Record<string, unknown>[] => {
  const folder = join(String(host.env['CROSSTALK_STATE_DIR']), 'ledger');
  return readdirSync(folder)
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
};
