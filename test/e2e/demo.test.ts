import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const bin = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));

it('the demo answers, and leaves nothing below HOME', { tags: 'long' }, async () => {
  const root = mkdtempSync(join(tmpdir(), 'demo-'));
  const [home, tmp] = [join(root, 'home'), join(root, 'tmp')];
  for (const folder of [home, tmp]) mkdirSync(folder);
  const { stdout } = await promisify(execFile)(process.execPath, [bin, 'demo'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...process.env, HOME: home, TMPDIR: tmp },
    timeout: 200_000,
  });
  expect(stdout).toContain('concierge answers operator');
  expect(readdirSync(home, { recursive: true })).toEqual([]);
  // One folder, which the demo names.
  const [folder = '', ...others] = readdirSync(tmp);
  expect(others).toEqual([]);
  expect(stdout).toContain(`rm -r ${join(tmp, folder)}`);
});

it.each(['one bare git repository', 'asks concierge'])(
  'the demo that is interrupted at "%s" tells no further step, and names the folder that it leaves',
  async (step) => {
    const tmp = mkdtempSync(join(tmpdir(), 'demo-'));
    // A process group of its own, all of which a terminal would interrupt.
    const child = spawn(process.execPath, [bin, 'demo'], {
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
      env: { ...process.env, HOME: tmp, TMPDIR: tmp },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { pid = 0 } = child;
    let [told, before] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      told += text;
      if (before !== '' || !told.includes(step)) return;
      before = told;
      process.kill(-pid, 'SIGINT');
    });
    const [code] = (await once(child, 'close')) as [number | null];
    expect(code).toBeGreaterThan(0);
    const [folder = ''] = readdirSync(tmp);
    // What was on its way to the output at the moment of the signal may be one more line.
    const after = told.slice(before.length).trim().split('\n');
    expect(after.at(-1)).toBe(`rm -r ${join(tmp, folder)}    when you are done`);
    expect(after.length).toBeLessThanOrEqual(3);
    expect(told).not.toContain('concierge answers');
    // Nothing of its process group is left.
    expect(() => process.kill(-pid, 0)).toThrow('ESRCH');
  },
);
