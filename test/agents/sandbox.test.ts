import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { expect, inject, it, onTestFinished } from 'vitest';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { Bus } from '../support/bus.ts';
import { headless } from './clis.ts';
import { machine, underTest } from './machine.ts';
import { startModelServer, type ModelServer, type Script } from './server.ts';

const all = underTest('claude', 'codex', 'pi', 'opencode', 'gemini').map(
  (cli) => [cli.name, cli] as const,
);
const backend = await findBackend(process.env);

async function model(script: Script): Promise<ModelServer> {
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  return server;
}

it.skipIf(!backend.ok).each(all)(
  '%s answers and delegates inside its sandbox',
  async (_name, cli) => {
    const server = await model(({ prompt, results }) => {
      if (prompt.includes('You are the actor "worker"')) return { say: 'Nine of nine pass.' };
      if (prompt.includes('(from: worker, ref: '))
        return { say: `The tester says: ${/Nine of nine pass\./.exec(prompt)?.[0] ?? 'nothing'}` };
      return results.length === 0
        ? { shell: 'crosstalk send --to worker "Run the tests, please."' }
        : { say: '' };
    });
    const bus = new Bus();
    const front = await machine(bus, 'front', server.url, { concierge: cli, worker: cli });
    // codex makes no helpers for its own sandbox below a folder for temporary files.
    const home = mkdtempSync('/var/tmp/crosstalk-home-');
    onTestFinished(() => {
      rmSync(home, { recursive: true, force: true });
    });
    cpSync(String(front.env['HOME']), home, { recursive: true });
    front.env['HOME'] = home;
    // The CLIs of the tests may be installed below /tmp, of which a sandbox has one of its own.
    const { cache } = inject('agents');
    const tier = { cli: headless(cli), sandbox: { env: ['FAKE_MODEL_KEY'], write: [cache] } };
    front.declare({ concierge: { default: tier }, worker: { default: tier } });
    await front.approve();
    const running = front.start();
    const question = await front.send('concierge', 'Do the tests pass?');
    const replied = await front.run('replies', '--wait', '--timeout', '200', question);
    const failed = running.events.filter(({ event }) => event.includes('failed'));
    expect(replied.out, JSON.stringify(failed, undefined, 1)).toContain(
      'The tester says: Nine of nine pass.',
    );
    await running.stop();
    expect(failed).toEqual([]);
  },
);
