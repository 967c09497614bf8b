import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { until } from '../support/wait.ts';
import { headless } from './clis.ts';
import { underTest } from './machine.ts';
import { asked, ledger, says, scene, spoken, USED, words, type Scene } from './warm-scene.ts';

const each = underTest('claude', 'codex', 'opencode', 'gemini').map(
  (cli) => [cli.name, cli] as const,
);
const backend = await findBackend(process.env);

/** What the newest prompt in a request says, of whatever the CLI sends along. */
function newest(body: unknown): string {
  const text = JSON.stringify(body);
  return text.slice(text.lastIndexOf('Crosstalk made this prompt.'));
}

async function askOn(at: Scene, text: string): Promise<void> {
  const { host, running } = at;
  const last = spoken(at).at(-1)?.relPath;
  const before = spoken(at).length;
  const asked =
    last === undefined
      ? await host.run('send', '--to', 'worker', text)
      : await host.run('reply', last, text);
  expect(asked.code, asked.err).toBe(0);
  await until(`an answer to ${text}`, () => {
    const told = running.events.filter(({ event }) => /failed|dead|session_refused/.test(event));
    if (told.length > 0) throw new Error(JSON.stringify(told));
    return spoken(at).length > before;
  });
}

const kinds = (at: Scene) => spoken(at).map(({ message }) => message.extra['session']);

it.each(each)(
  '%s that is kept knows what was said two messages ago, and says what each turn used',
  async (name, cli) => {
    const at = await scene(cli);
    await askOn(at, 'ASKED-1');
    await askOn(at, 'ASKED-2');
    await askOn(at, 'ASKED-3');
    expect(kinds(at)).toEqual(['fresh', 'warm', 'warm']);
    expect(spoken(at).map(({ message }) => message.body.trim())).toEqual([
      'SAID-1',
      'SAID-2',
      'SAID-3',
    ]);
    const requests = asked(at);
    expect(requests.map(({ body }) => words(body).sort())).toEqual([
      ['ASKED-1'],
      ['ASKED-1', 'ASKED-2', 'SAID-1'],
      ['ASKED-1', 'ASKED-2', 'ASKED-3', 'SAID-1', 'SAID-2'],
    ]);
    expect(words(newest(requests[2]?.body))).toEqual(['ASKED-3']);
    // gemini counts what it read of the cache with the rest.
    const usage = name === 'gemini' ? { input: 1100, cached: 0, output: 10 } : USED;
    expect(ledger(at)).toMatchObject([
      { session: 'fresh', usage, agent: name },
      { session: 'warm', usage },
      { session: 'warm', usage },
    ]);
    await at.running.stop();
  },
);

it.each(each)(
  '%s that is kept sends in its second turn what is linked to that turn',
  async (_name, cli) => {
    const at = await scene(cli, {}, (request) =>
      request.results.length <
      words(newest(request.body)).length * (words(request.body).includes('ASKED-2') ? 1 : 0)
        ? { shell: 'crosstalk send --to boss SENT-1', used: USED }
        : says(request),
    );
    at.host.declare({ boss: 'true' }, 'away');
    await askOn(at, 'ASKED-1');
    await askOn(at, 'ASKED-2');
    expect(kinds(at)).toEqual(['fresh', 'warm']);
    const second =
      at.bus.from('operator').at(-1) ??
      at.bus.messages().find(({ message }) => message.body.includes('ASKED-2'));
    const sent = at.bus.from('worker').filter(({ message }) => message.re.length === 0);
    const given = asked(at).at(-1)?.results;
    expect(
      sent.map(({ message }) => [message.body.trim(), message.cause]),
      JSON.stringify(given),
    ).toEqual([['SENT-1', [second?.relPath]]]);
  },
);

it.each(each.filter(([name]) => name !== 'opencode'))(
  '%s that is kept is refused what its command does not allow',
  async (name, cli) => {
    const command = headless(cli).replace('workspace-write', 'read-only');
    const at = await scene(cli, { cli: command }, (request) =>
      request.results.length < 1
        ? { shell: 'touch "$HOME/was-written"', used: USED }
        : says(request),
    );
    await askOn(at, 'ASKED-1');
    expect(kinds(at), name).toEqual(['fresh']);
    expect(existsSync(join(String(at.host.env['HOME']), 'was-written'))).toBe(false);
  },
);

it.skipIf(!backend.ok).each(each.filter(([name]) => name !== 'opencode'))(
  '%s is kept in a sandbox',
  async (_name, cli) => {
    const { cache } = inject('agents');
    const at = await scene(cli, { sandbox: { env: ['FAKE_MODEL_KEY'], write: [cache] } });
    await askOn(at, 'ASKED-1');
    await askOn(at, 'ASKED-2');
    expect(kinds(at)).toEqual(['fresh', 'warm']);
    expect(words(asked(at).at(-1)?.body)).toContain('ASKED-1');
  },
);

it.skipIf(!backend.ok).each(each.filter(([name]) => name === 'opencode'))(
  '%s, which does not reach itself in a sandbox, answers there by a process of its own',
  async (_name, cli) => {
    const { cache } = inject('agents');
    const at = await scene(cli, { sandbox: { env: ['FAKE_MODEL_KEY'], write: [cache] } });
    const sent = await at.host.run('send', '--to', 'worker', 'ASKED-1');
    expect(sent.code, sent.err).toBe(0);
    await until('the answer', () => spoken(at).length === 1);
    expect(kinds(at)).toEqual([undefined]);
    expect(at.running.events.some(({ event }) => event === 'session_refused')).toBe(true);
  },
);
