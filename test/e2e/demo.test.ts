import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const bin = fileURLToPath(new URL('../../bin/crosstalk.js', import.meta.url));

it('the demo answers, and leaves nothing below HOME', async () => {
  const root = mkdtempSync(join(tmpdir(), 'demo-'));
  const [home, tmp] = [join(root, 'home'), join(root, 'tmp')];
  for (const folder of [home, tmp]) mkdirSync(folder);
  const { stdout } = await promisify(execFile)(process.execPath, [bin, 'demo'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...process.env, HOME: home, TMPDIR: tmp },
    timeout: 120_000,
  });
  expect(stdout).toContain('concierge answers operator');
  expect(readdirSync(home, { recursive: true })).toEqual([]);
  // One folder, which the demo names.
  const [folder = '', ...others] = readdirSync(tmp);
  expect(others).toEqual([]);
  expect(stdout).toContain(`rm -r ${join(tmp, folder)}`);
});
