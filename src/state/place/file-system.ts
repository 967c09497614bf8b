import { readFile, stat, statfs } from 'node:fs/promises';

/**
 * The file system of a folder: `kept`, one whose locks the kernel itself keeps for all of its processes;
 * `shared`, one that other machines may use at the same time; `unknown`, any other.
 */
export type FileSystem = { kind: 'kept' | 'unknown' } | { kind: 'shared'; name: string };

/** The source of Linux's data on a folder and on the mounts. */
interface Said {
  type: (folder: string) => Promise<number>;
  device: (folder: string) => Promise<number>;
  mounts: () => Promise<string>;
}

/** Local file systems by the numbers of statfs(2): ext2 to ext4, overlay, tmpfs, XFS, Btrfs, ZFS, F2FS. */
const KEPT = new Set([
  0xef53, 0x794c7630, 0x01021994, 0x58465342, 0x9123683e, 0x2fc12fc1, 0xf2f52010,
]);
const SHARED: Readonly<Record<number, string>> = {
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xfe534d42: 'SMB',
  0xff534d42: 'CIFS',
  0x01021997: '9p',
  0x00c36400: 'Ceph',
  0x0bd00bd0: 'Lustre',
  0x5346414f: 'AFS',
  0x6b414653: 'AFS',
  0x786f4256: 'a shared folder of VirtualBox',
};
/** The number of all file systems served by a program; the table of mounts distinguishes them. */
const FUSE = 0x65735546;
const SHARED_FUSE =
  /^(?:virtiofs|fuse\.(?:ceph|gcsfuse|glusterfs|grpcfuse|juicefs|osxfs|rclone|s3fs|sshfs|vmhgfs-fuse))$/;

const SYSTEM: Said = {
  type: async (folder) => (await statfs(folder)).type,
  device: async (folder) => (await stat(folder)).dev,
  mounts: () => readFile('/proc/self/mountinfo', 'utf8'),
};

/** Determines the file system of a folder, as far as its locks depend on it. Only Linux has reliable numbers. */
export async function fileSystemAt(folder: string, said = SYSTEM): Promise<FileSystem> {
  if (process.platform !== 'linux') return { kind: 'unknown' };
  try {
    const type = (await said.type(folder)) >>> 0;
    if (KEPT.has(type)) return { kind: 'kept' };
    const name = type === FUSE ? mountedAs(await said.mounts(), await said.device(folder)) : '';
    const shared = SHARED_FUSE.test(name) ? name : SHARED[type];
    return shared === undefined ? { kind: 'unknown' } : { kind: 'shared', name: shared };
  } catch {
    return { kind: 'unknown' };
  }
}

/** Returns the type of the mount of a device, from the lines of /proc/self/mountinfo. */
function mountedAs(mounts: string, device: number): string {
  const major = (device >>> 8) & 0xfff;
  const minor = (device & 0xff) | ((device >>> 12) & 0xfff00);
  const numbers = `${String(major)}:${String(minor)}`;
  const line = mounts.split('\n').find((one) => one.split(' ')[2] === numbers) ?? '';
  return / - (\S+)/.exec(line)?.[1] ?? '';
}
