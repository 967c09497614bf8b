import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DueNotices } from '../../src/state/notices.ts';

it('a notice is due once its letter is written, not while an older letter is still there', async () => {
  const notices = new DueNotices(join(mkdtempSync(join(tmpdir(), 'notices-')), 'notices'));
  let meanwhile: string[] = ['not looked'];
  await notices.before('01J0000000000000000000000A', async () => {
    meanwhile = await notices.all();
  });

  expect(meanwhile).toEqual([]);
  expect(await notices.all()).toEqual(['01J0000000000000000000000A']);
});

it('a notice whose letter could not be written is due all the same, so that nothing is forgotten', async () => {
  const notices = new DueNotices(join(mkdtempSync(join(tmpdir(), 'notices-')), 'notices'));
  const full = (): Promise<void> => Promise.reject(new Error('ENOSPC'));
  await expect(notices.before('01J0000000000000000000000A', full)).rejects.toThrow('ENOSPC');

  expect(await notices.all()).toEqual(['01J0000000000000000000000A']);
});
