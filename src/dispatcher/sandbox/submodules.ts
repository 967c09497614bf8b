import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../errors.ts';
import { plainFileAt } from '../../plain-file.ts';
import { isWithin } from '../../runner/sandbox/mounts.ts';
import { closed, unsafe } from './places.ts';

/** An index of a million files is smaller. */
const MOST_BYTES = 200 * 1024 * 1024;
const MOST_SETTINGS = 1024 * 1024;
/** The mode of a submodule in an index, and where in an entry the mode, and the name of the object, stand. */
const SUBMODULE = 0o160000;
const AT = { mode: 24, object: 40 };

/**
 * Returns the folders of the submodules of a repository, by its index (gitformat-index(5)). No git is run for it: the
 * settings of the repository could have it execute something. Git executes programs that `.git` of these folders
 * contains or names when it is asked for the status of the repository around them, also where nothing is there yet.
 *
 * @throws CrosstalkError `refused` for an index that cannot be read
 */
export async function submodulesIn(git: string): Promise<string[]> {
  const names = await readdir(git).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return [];
    throw closed(git);
  });
  // A split index has most entries in a file of its own.
  const indexes = names.filter((name) => name === 'index' || name.startsWith('sharedindex.'));
  const found: string[] = [];
  for (const name of indexes) {
    const path = join(git, name);
    const bytes = await bytesOf(path).catch(() => undefined);
    // Hardly any repository has submodules.
    if (bytes?.includes(Buffer.from([0, 0, 0xe0, 0])) === false) continue;
    const hash = /objectformat *= *"?sha256/i.test(settingsOf(git)) ? 32 : 20;
    const listed = bytes && listedIn(bytes, hash);
    if (listed === undefined)
      throw unsafe(
        `the index ${path} cannot be read, so that submodules could be overlooked; give the actor a worktree instead of this folder`,
      );
    found.push(...listed);
  }
  return found;
}

/**
 * Returns the submodules of a copy of a repository whose folders are empty, as in any clone until somebody fills
 * them. A run may have written its index: unreadable entries, and those that are not in the copy, are left out.
 */
export async function emptySubmodules(dir: string): Promise<string[]> {
  const names = await submodulesIn(join(dir, '.git')).catch(() => []);
  const empty = await Promise.all(
    names.map(async (name) => {
      const there = await readdir(join(dir, name)).catch(() => undefined);
      return there?.length === 0 && isWithin(join(dir, name), dir) ? [name] : [];
    }),
  );
  return empty.flat();
}

/** Returns the content of a plain file that is not too large; a run may have put a pipe in its place. */
async function bytesOf(path: string): Promise<Buffer | undefined> {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
  const file = await open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  try {
    const found = await file.stat();
    return found.isFile() && found.size <= MOST_BYTES ? await file.readFile() : undefined;
  } finally {
    await file.close();
  }
}

function settingsOf(git: string): string {
  const found = plainFileAt(join(git, 'config'), MOST_SETTINGS);
  return found.kind === 'text' ? found.text : '';
}

/** Returns the names of submodules in an index; undefined if its format is not known. */
function listedIn(bytes: Buffer, hash: number): string[] | undefined {
  if (bytes.length < 12 || bytes.toString('latin1', 0, 4) !== 'DIRC') return undefined;
  const [version, count] = [bytes.readUInt32BE(4), bytes.readUInt32BE(8)];
  if (version < 2 || version > 4) return undefined;
  const found: string[] = [];
  let name = Buffer.alloc(0);
  for (let at = 12, n = 0; n < count; n++) {
    const start = at;
    const flagsAt = start + AT.object + hash;
    if (flagsAt + 4 > bytes.length) return undefined;
    // The second pair of flags is there if the first one has it set.
    at = flagsAt + ((bytes.readUInt16BE(flagsAt) & 0x4000) === 0 ? 2 : 4);
    let kept = 0;
    if (version === 4) {
      let byte = bytes[at++] ?? 0;
      let cut = byte & 127;
      while ((byte & 128) !== 0) {
        byte = bytes[at++] ?? 0;
        cut = ((cut + 1) << 7) | (byte & 127);
      }
      kept = name.length - cut;
    }
    const end = bytes.indexOf(0, at);
    if (end < 0 || kept < 0) return undefined;
    name = Buffer.concat([name.subarray(0, kept), bytes.subarray(at, end)]);
    at = version === 4 ? end + 1 : start + 8 * (Math.floor((end - start) / 8) + 1);
    if (bytes.readUInt32BE(start + AT.mode) === SUBMODULE) found.push(name.toString('utf8'));
  }
  return found;
}
