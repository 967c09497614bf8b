import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { atPath } from '../at-path.ts';
import { makeFolder } from '../folder.ts';
import { plainFileAt } from '../plain-file.ts';
import { isRecord, writeDurably } from './files.ts';

/**
 * Which clone of a bus belongs to a project on this machine: one file for each project, named after its git
 * directory, so that nothing has to be written into the project.
 */

const MAX_FILE = 16 * 1024;

/** A project's clone of its bus. */
export interface ProjectBus {
  /** The folder of the clone. */
  clone: string;
  /** False where another repository is at the project's path by now. */
  isSame: boolean;
}

function fileOf(home: string, commonDir: string): string {
  return join(home, 'projects', `${digestOf(commonDir)}.json`);
}

/** A name for a project that is the same for as long as its git directory stays where it is. */
export function digestOf(commonDir: string): string {
  return createHash('sha256').update(commonDir).digest('hex').slice(0, 16);
}

/**
 * The bus of the project with this git directory; undefined where none was linked, or its clone is gone.
 *
 * @param home the folder of all transports' state
 * @param commonDir the git directory that linked work trees share, without symlinks
 */
export function busOfProject(home: string, commonDir: string): ProjectBus | undefined {
  const file = plainFileAt(fileOf(home, commonDir), MAX_FILE);
  if (file.kind !== 'text') return undefined;
  const value = parsed(file.text);
  const clone = isRecord(value) ? value['clone'] : undefined;
  if (!isRecord(value) || typeof clone !== 'string') return undefined;
  if (atPath(clone, { follow: true })?.isDirectory() !== true) return undefined;
  return { clone, isSame: value['birth'] === birthOf(commonDir) };
}

/** Remembers a project's clone of its bus. */
export async function linkProject(home: string, commonDir: string, clone: string): Promise<void> {
  const path = fileOf(home, commonDir);
  await makeFolder(dirname(path), 0o700);
  const record = { version: 1, project: commonDir, birth: birthOf(commonDir), clone };
  await writeDurably(path, `${JSON.stringify(record)}\n`);
}

/** Tells a git directory from one that was made later at the same path. */
function birthOf(commonDir: string): string | undefined {
  const found = atPath(commonDir, { follow: true });
  return found && `${String(found.ino)}:${String(Math.floor(found.birthtimeMs))}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
