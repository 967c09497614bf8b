import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Entry, Machine } from './mounts.ts';

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
};
