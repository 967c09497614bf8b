import { createHash } from 'node:crypto';
import { chmod, lstat, readlink, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clone } from '../clone/clone.ts';
import type { FileChange } from '../objects/walk.ts';

let serial = 0;

/**
 * Makes plain files of what a checkout holds: no executable bit, and in the place of a symlink the
 * text of the link, as git writes it with core.symlinks=false (trust.md §1). 6.0.0 and a plain
 * `git clone` have written both.
 *
 * @param files what is on the bus at these paths; a link with another text is not what arrived
 */
export async function makePlain(clone: Clone, files: readonly FileChange[]): Promise<void> {
  for (const { path, oid } of files) {
    const file = join(clone.dir, path);
    const found = await lstat(file).catch(() => undefined);
    if (found?.isSymbolicLink() === true) await replaceLink(clone, file, oid);
    else if (found?.isFile() === true && (found.mode & 0o111) !== 0)
      await chmod(file, found.mode & 0o666);
  }
}

async function replaceLink(clone: Clone, file: string, oid: string): Promise<void> {
  const text = await readlink(file, { encoding: 'buffer' });
  if (blobId(text, oid.length) !== oid) return;
  // The file is replaced by a rename: a process that is killed in between must not leave a file
  // missing.
  const temporary = join(
    clone.gitDir,
    `crosstalk-plain.${String(process.pid)}.${String(serial++)}`,
  );
  try {
    await writeFile(temporary, text, { mode: 0o644 });
    await rename(temporary, file).catch(async () => {
      // The git directory may be on another disk.
      await rm(file);
      await writeFile(file, text, { mode: 0o644, flag: 'wx' });
    });
  } finally {
    await rm(temporary, { force: true });
  }
}

/** The id of a blob with some content, as long as the ids of the repository are. */
export function blobId(content: Buffer, length: number): string {
  return createHash(length === 64 ? 'sha256' : 'sha1')
    .update(`blob ${String(content.length)}\0`)
    .update(content)
    .digest('hex');
}
