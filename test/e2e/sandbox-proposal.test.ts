import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findBackend } from '../../src/runner/sandbox/bubblewrap.ts';
import { Bus } from '../support/bus.ts';
import { command, type Ran } from '../support/command.ts';

const backend = await findBackend(process.env);
const can = it.skipIf(!backend.ok);
const UNLESS = backend.ok ? '' : ` (skipped: ${backend.problem})`;
const QUESTION = 'be kept in a sandbox?';

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

/** A person at a terminal, and what they are asked. */
function person(answers: (question: string) => string): {
  asked: string[];
  ask: (question: string) => Promise<string>;
} {
  const asked: string[] = [];
  return {
    asked,
    ask: (question) => {
      asked.push(question);
      return Promise.resolve(answers(question));
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
  const options = { cwd: bus.root, env: state, ...(ask && { ask }) };
  const ran = await command(['init', dir, '--alias', 'box', '--cli', 'claude', ...more], options);
  if (ran.code !== 0) return { ...ran, host: '', held: 0 };
  const shown = await command(['host', 'show', '--transport', dir, '--json'], options);
  const { held } = JSON.parse(shown.out) as { held: unknown[] };
  return { ...ran, host: readFileSync(join(dir, 'hosts/box.md'), 'utf8'), held: held.length };
}

can(`init proposes a sandbox on a terminal, and approves what it writes${UNLESS}`, async () => {
  const bus = new Bus();
  const enter = person(() => '');
  const yes = await init(bus, 'yes', enter);
  expect(enter.asked.filter((one) => one.includes(QUESTION))).toHaveLength(1);
  expect(yes.host).toContain('sandbox: default');
  expect(yes.out).toContain('Its runs are kept in a sandbox');
  expect(yes.held).toBe(0);
  const refusing = person((question) => (question.includes(QUESTION) ? 'n' : ''));
  const no = await init(bus, 'no', refusing);
  expect(no.host).not.toContain('sandbox');
  expect(no.held).toBe(0);
  // Who has said it is not asked, and nobody is where there is no terminal.
  const told = person(() => '');
  expect((await init(bus, 'told', told, '--no-sandbox')).host).not.toContain('sandbox');
  expect((await init(bus, 'flag', told, '--sandbox')).host).toContain('sandbox: default');
  expect((await init(bus, 'script', {})).host).not.toContain('sandbox');
  // A command that is no known agent CLI would have no login in it.
  expect((await init(bus, 'own', told, '--cli', 'my-script')).host).not.toContain('sandbox');
  expect(told.asked.filter((one) => one.includes(QUESTION))).toEqual([]);
});

it('where no sandbox can be made none is proposed, and asking for one is refused', async () => {
  const bus = new Bus();
  const env = { PATH: withoutBubblewrap(bus) };
  const enter = person(() => '');
  expect((await init(bus, 'enter', { ...enter, env })).host).not.toContain('sandbox');
  expect(enter.asked.filter((one) => one.includes(QUESTION))).toEqual([]);
  const refused = await init(bus, 'refused', { env }, '--sandbox');
  expect(refused.code).toBe(1);
  expect(refused.err).toContain('crosstalk init: --sandbox: bubblewrap (bwrap) is not installed');
  expect(existsSync(join(bus.root, 'refused')) && readdirSync(join(bus.root, 'refused'))).toEqual(
    false,
  );
});

can(`actor add proposes a sandbox for what is new, once for several hands${UNLESS}`, async () => {
  const bus = new Bus();
  const host = await bus.host('front', { old: 'claude -p' });
  const file = (): string => readFileSync(join(host.dir, 'hosts/front.md'), 'utf8');
  const enter = person(() => '');
  const add = (...words: string[]): Promise<Ran> =>
    host.runWith({ ask: enter.ask }, 'actor', 'add', ...words);
  const added = await add('new', '--cli', 'claude');
  expect(added.out).toContain('in a sandbox');
  expect(file()).toMatch(/new:\n +default:\n +cli: .*\n +sandbox: default/);
  expect((await add('hand', '--cli', 'codex', '--count', '2')).code).toBe(0);
  expect(file().match(/sandbox: default/g)).toHaveLength(3);
  expect(enter.asked.map((one) => one.includes(QUESTION))).toEqual([true, true]);
  // What exists stays as it is, and is not asked about again.
  await add('old', '--cli', 'claude');
  expect(enter.asked.filter((one) => one.includes(QUESTION))).toHaveLength(2);
  expect((await host.run('actor', 'add', 'script', '--cli', 'claude')).code).toBe(0);
  expect((await add('asked', '--cli', 'claude', '--no-sandbox')).code).toBe(0);
  expect(file().match(/sandbox: default/g)).toHaveLength(3);
  const shown = await host.run('host', 'show', '--json');
  expect((JSON.parse(shown.out) as { held: unknown[] }).held).toEqual([]);
});
