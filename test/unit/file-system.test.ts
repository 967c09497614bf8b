import { expect, it } from 'vitest';
import { fileSystemAt } from '../../src/state/place/file-system.ts';

const MOUNTS = `22 1 252:0 / / rw,relatime - ext4 /dev/vda rw
40 22 0:46 / /home/anna/shared rw,nosuid - virtiofs shared rw
41 22 0:47 / /home/anna/far rw shared:7 - fuse.sshfs anna@far:/ rw,user_id=0
42 22 4:331 / /home/anna/layers rw - fuse.fuse-overlayfs none rw
`;

/** What is found where statfs says this of a folder on this device. */
function found(type: number, device = 0): ReturnType<typeof fileSystemAt> {
  return fileSystemAt('/anywhere', {
    type: () => Promise.resolve(type),
    device: () => Promise.resolve(device),
    mounts: () => Promise.resolve(MOUNTS),
  });
}

const shared = (name: string): object => ({ kind: 'shared', name });

it.skipIf(process.platform !== 'linux').each([
  [0x6969, shared('NFS')],
  [0x517b, shared('SMB')],
  [0xfe534d42, shared('SMB')],
  [0xff534d42, shared('CIFS')],
  // As a processor of 32 bits says it.
  [0xff534d42 | 0, shared('CIFS')],
  [0x01021997, shared('9p')],
  [0xef53, { kind: 'kept' }],
  [0x01021994, { kind: 'kept' }],
  [0x1234, { kind: 'unknown' }],
])('a file system is known by the number that statfs has for it: %i', async (type, expected) => {
  expect(await found(type)).toEqual(expected);
});

it.skipIf(process.platform !== 'linux')(
  'of what a program serves the table of mounts says whether it is shared',
  async () => {
    const fuse = 0x65735546;
    expect(await found(fuse, 46)).toEqual(shared('virtiofs'));
    expect(await found(fuse, 47)).toEqual(shared('fuse.sshfs'));
    // 4:331, as stat(2) has it.
    expect(await found(fuse, 0x10044b)).toEqual({ kind: 'unknown' });
    expect(await found(fuse, 99)).toEqual({ kind: 'unknown' });
  },
);
