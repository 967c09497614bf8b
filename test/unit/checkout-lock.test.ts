import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import type { Repository } from '../../src/transport/clone/handle.ts';

it('a full disk leaves no lock of the index behind', async () => {
  vi.resetModules();
  vi.doMock('node:fs', () => ({
    ...fs,
    /** As on a disk where there is room for a name, but not for a byte. */
    writeFileSync: (file: string | number) => {
      if (typeof file === 'string') fs.closeSync(fs.openSync(file, 'wx'));
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    },
  }));
  const { whileLocked } = await import('../../src/transport/checkout/on-checkout.ts');
  const gitDir = fs.mkdtempSync(join(tmpdir(), 'lock-'));
  const repository = { clone: { gitDir }, gitDir } as unknown as Repository;
  expect(await whileLocked(repository, () => Promise.resolve(undefined))).toContain('ENOSPC');
  expect(fs.existsSync(join(gitDir, 'index.lock'))).toBe(false);
});
