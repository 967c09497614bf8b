import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isAgentSetting } from '../../src/agents/settings.ts';
import { bury, clearGraveyard } from '../../src/state/removal.ts';
import { Workspaces } from '../../src/state/workspaces.ts';
import { Bus, scratch } from '../support/bus.ts';
import { until } from '../support/wait.ts';

const isSetting = (name: string): boolean => isAgentSetting(name, 'claude -p');

const OF = { actor: 'worker', channel: 'c', root: '2026/06/09/190000000Z-1f2e3d4c5b6a.md' };

const NAMES = Array.from({ length: 4000 }, (_, n) => `file${String(n)}`);

/** Waits until the folder is being removed, then puts a symlink in its place. */
const SWAPPER = `
const { readdirSync, renameSync, symlinkSync } = require('node:fs');
const [, workspace, outside, count] = process.argv;
process.chdir(workspace);
symlinkSync(outside, 'link');
process.stdout.write('ready');
try {
  while (readdirSync('.claude').length === Number(count));
  renameSync('.claude', 'aside');
  renameSync('link', '.claude');
} catch {}
process.stdout.write('swapped');`;

test('what a run puts in the place of a setting while it is removed leads nowhere', async () => {
  const outside = scratch();
  for (const name of NAMES) writeFileSync(join(outside, name), 'of the operator');
  const workspaces = new Workspaces(join(scratch(), 'work'));
  const { dir } = await workspaces.open(OF, '1f2e3d4c5b6a', new Date(), isSetting);
  mkdirSync(join(dir, '.claude'));
  for (const name of NAMES) writeFileSync(join(dir, '.claude', name), '');
  const swapper = spawn(process.execPath, ['-e', SWAPPER, dir, outside, String(NAMES.length)]);
  let said = '';
  swapper.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  try {
    await until('the attacker', () => said.includes('ready'));
    workspaces.leave(dir);
    await workspaces.open(OF, '1f2e3d4c5b6a', new Date(), isSetting);
    await until('the attack', () => said.includes('swapped'));
  } finally {
    swapper.kill('SIGKILL');
  }
  expect(readdirSync(outside)).toHaveLength(NAMES.length);
});

test('a graveyard goes with whatever a run has made: deep, closed, linked and of names that are no text', async () => {
  const root = scratch();
  const kept = join(root, 'kept');
  writeFileSync(kept, 'of the operator');
  const folder = join(root, 'folder');
  let deepest = folder;
  for (let depth = 0; depth < 300; depth++) deepest = join(deepest, 'd');
  mkdirSync(deepest, { recursive: true });
  mkdirSync(join(folder, 'closed', 'inner'), { recursive: true });
  const unreadable = Buffer.from(`${folder}/r\xe9sidue`, 'latin1');
  mkdirSync(unreadable);
  writeFileSync(Buffer.concat([unreadable, Buffer.from('/file')]), '');
  chmodSync(join(folder, 'closed', 'inner'), 0);
  chmodSync(join(folder, 'closed'), 0o500);
  chmodSync(folder, 0o500);
  const graveyard = join(root, 'gone');
  await bury(folder, graveyard);
  await bury(join(root, 'never there'), graveyard);
  expect(existsSync(folder)).toBe(false);
  await clearGraveyard(graveyard);
  expect(readdirSync(root)).toEqual(['kept']);
});

test(
  'two runs of one thread at a time have a workspace each: neither can put settings into the other’s',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const second = join(bus.root, 'second');
    const worker = `if mkdir ${bus.root}/first 2>/dev/null; then crosstalk send --to operator part >/dev/null; n=0; while [ ! -e ${second} ] && [ $n -lt 300 ]; do mkdir -p .claude; echo evil > .claude/hook; sleep 0.1; n=$((n+1)); done; echo first; else cat .claude/hook > ${second}.found 2>/dev/null; pwd > ${second}.tmp; mv ${second}.tmp ${second}; echo second; fi; cat >/dev/null`;
    const host = await bus.host('laptop', { worker: { default: { cli: worker, count: 2 } } });
    const running = host.start();
    const question = await host.send('worker', 'go');
    await until('the first run’s question', () => bus.from('worker').length === 1);
    const part = bus.from('worker')[0]?.relPath ?? '';
    host.edit({
      [`data/channels/${host.channel()}/2026/06/09/190000000Z-0a1b2c3d4e5f.md`]: `---\nfrom: operator\nto: worker\ntype: text\ntimestamp: 2026-06-09T19:00:00.000Z\nre: ${part}\n---\nhere it is\n`,
    });
    await host.run('wake');
    await until('the second run', () => existsSync(second));
    await running.stop();
    const thread = /-([0-9a-f]+)\.md$/.exec(question)?.[1] ?? '';
    expect(readFileSync(second, 'utf8').trim()).toBe(
      join(host.state, 'work', 'worker', `${thread}~2`),
    );
    expect(readFileSync(`${second}.found`, 'utf8')).toBe('');
  },
);
