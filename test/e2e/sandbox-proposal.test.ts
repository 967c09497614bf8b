import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { Bus } from '../support/bus.ts';
import { command, type Ran } from '../support/command.ts';

const backend = await findBackend(process.env);
const can = it.skipIf(!backend.ok);
const UNLESS = backend.ok ? '' : ` (skipped: ${backend.problem})`;

/** A PATH on which git is, and no program that makes a sandbox. */
function withoutBubblewrap(bus: Bus): string {
  const bin = join(bus.root, 'bin');
  mkdirSync(bin);
  for (const folder of (process.env['PATH'] ?? '').split(':'))
    for (const name of ['git', 'node', 'sh'])
      if (existsSync(join(folder, name)) && !existsSync(join(bin, name)))
        symlinkSync(join(folder, name), join(bin, name));
  return bin;
}

/** A person at a terminal who presses Enter, and what they are asked. */
function person(): { asked: string[]; ask: (question: string) => Promise<string> } {
  const asked: string[] = [];
  return {
    asked,
    ask: (question) => {
      asked.push(question);
      return Promise.resolve(question.startsWith('Ask concierge something now?') ? '3' : '');
    },
  };
}

async function init(
  bus: Bus,
  name: string,
  { ask, env }: { ask?: (question: string) => Promise<string>; env?: NodeJS.ProcessEnv },
  ...more: string[]
): Promise<Ran & { host: string; held: number }> {
  const dir = join(bus.root, name);
  const state = { CROSSTALK_STATE_DIR: join(bus.root, `${name}-state`), ...env };
  const terminal = { CI: '', TERM: 'dumb', ...state };
  const options = { cwd: bus.root, env: terminal, ...(ask && { ask, outIsTty: true }) };
  const given = ['--alias', 'box', '--cli', 'claude', '--no-service'];
  const ran = await command(['init', dir, ...given, ...more], options);
  if (ran.code !== 0) return { ...ran, host: '', held: 0 };
  const shown = await command(['host', 'show', '--transport', dir, '--json'], options);
  const { held } = JSON.parse(shown.out) as { held: unknown[] };
  return { ...ran, host: readFileSync(join(dir, 'hosts/box.md'), 'utf8'), held: held.length };
}

can(`init asks on a terminal about a sandbox, and Enter takes it${UNLESS}`, async () => {
  const bus = new Bus();
  const enter = person();
  const kept = await init(bus, 'kept', enter);
  expect(enter.asked.filter((one) => one.includes('in a sandbox?'))).toHaveLength(1);
  expect([kept.host.includes('sandbox: default'), kept.held]).toEqual([true, 0]);
  expect(kept.out).toContain('Its runs are kept in a sandbox');
  // Who has decided is not asked, nor a script, nor about a command that would have no login in it.
  const flag = await init(bus, 'flag', enter, '--sandbox');
  expect([flag.host.includes('sandbox: default'), flag.held]).toEqual([true, 0]);
  for (const ran of [
    await init(bus, 'told', enter, '--no-sandbox'),
    await init(bus, 'script', {}),
    await init(bus, 'own', enter, '--cli', 'my-script'),
  ])
    expect(ran.host).not.toContain('sandbox');
  expect(enter.asked.filter((one) => one.includes('in a sandbox?'))).toHaveLength(1);
});

it('where no sandbox can be made none is suggested, and asking for one is refused', async () => {
  const bus = new Bus();
  const env = { PATH: withoutBubblewrap(bus) };
  const enter = person();
  expect((await init(bus, 'enter', { ...enter, env })).host).not.toContain('sandbox');
  expect(enter.asked.filter((one) => one.includes('sandbox'))).toEqual([]);
  const refused = await init(bus, 'refused', { env }, '--sandbox');
  expect(refused.code).toBe(1);
  expect(refused.err).toContain('crosstalk init: --sandbox: bubblewrap (bwrap) is not installed');
  expect(existsSync(join(bus.root, 'refused')) && readdirSync(join(bus.root, 'refused'))).toEqual(
    false,
  );
});

can(
  `actor add suggests a sandbox for what is new, and only for that${UNLESS}`,
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { old: 'claude -p' });
    const file = (): string => readFileSync(join(host.dir, 'hosts/front.md'), 'utf8');
    const enter = person();
    const add = (...words: string[]): Promise<Ran> =>
      host.runWith({ ask: enter.ask }, 'actor', 'add', ...words);
    expect((await add('new', '--cli', 'claude')).out).toContain('actor set new sandbox=default');
    expect(file()).not.toContain('sandbox');
    const kept = await add('kept', '--cli', 'claude', '--sandbox');
    expect(kept.out).toContain('in a sandbox');
    expect(kept.out).not.toContain('sandbox=default');
    expect(file()).toMatch(/kept:\n +default:\n +cli: .*\n +sandbox: default/);
    expect((await add('old', '--cli', 'claude')).out).not.toContain('sandbox=default');
    for (const ran of [
      await add('told', '--cli', 'claude', '--no-sandbox'),
      await add('json', '--cli', 'claude', '--json'),
      await host.run('actor', 'add', 'script', '--cli', 'claude'),
    ])
      expect([ran.code, ran.out.includes('sandbox=default')]).toEqual([0, false]);
    expect(file().match(/sandbox: default/g)).toHaveLength(1);
    expect(enter.asked.filter((one) => one.includes('sandbox'))).toEqual([]);
    const shown = await host.run('host', 'show', '--json');
    expect((JSON.parse(shown.out) as { held: unknown[] }).held).toEqual([]);
  },
);

can(
  `a sandbox that would not show its CLI is not suggested, and says what to write${UNLESS}`,
  async () => {
    const bus = new Bus();
    const host = await bus.host('front', { old: 'claude -p' });
    const tool = join(bus.root, 'home-made');
    mkdirSync(tool);
    writeFileSync(join(tool, 'claude'), '#!/bin/sh\n', { mode: 0o755 });
    const cli = `${join(tool, 'claude')} -p`;
    const enter = person();
    const add = (...words: string[]): Promise<Ran> =>
      host.runWith({ ask: enter.ask }, 'actor', 'add', ...words);
    const kept = await add('kept', '--cli', cli, '--sandbox');
    expect(kept.code).toBe(1);
    expect(kept.err).toContain(`would not show ${join(tool, 'claude')}`);
    expect(kept.err).toContain(`sandbox: {read: [${JSON.stringify(tool)}]}`);
    expect((await add('free', '--cli', cli)).out).not.toContain('sandbox=default');
  },
);
