import {
  accessSync,
  constants,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Entry, Machine } from './mounts.ts';

/** The sockets with a path that processes of this machine have (proc(5), `/proc/net/unix`). */
function namesOfSockets(): string[] {
  try {
    const lines = readFileSync('/proc/net/unix', 'utf8').split('\n');
    return lines.flatMap((line) => /^(?:\S+ +){6}\d+ (\/.*)$/.exec(line)?.[1] ?? []);
  } catch {
    return [];
  }
}

/** This machine, as a sandbox is planned for it. What cannot be looked at is not there. */
export const thisMachine: Machine = {
  entries: (folder) => {
    try {
      return readdirSync(folder, { withFileTypes: true }).flatMap((entry): Entry[] => {
        const { name } = entry;
        if (entry.isSymbolicLink())
          return [{ name, kind: 'link', target: readlinkSync(join(folder, name)) }];
        if (entry.isDirectory()) return [{ name, kind: 'folder' }];
        return entry.isFile() ? [{ name, kind: 'file' }] : [];
      });
    } catch {
      return [];
    }
  },
  kindOf: (path) => {
    try {
      const found = statSync(path);
      return found.isDirectory() ? 'folder' : 'file';
    } catch {
      return 'none';
    }
  },
  sockets: () => {
    const found = new Set<string>();
    for (const path of namesOfSockets()) {
      try {
        accessSync(path, constants.W_OK);
        found.add(realpathSync(path));
      } catch {
        // Nothing is there any more, or it is not for this user.
      }
    }
    return [...found];
  },
};
