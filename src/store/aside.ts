import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { hasCode } from '../errors.ts';

/**
 * Saves a text as `<path>.broken`, in a file that did not exist: in its place there may be a symlink to
 * somebody's file, or a named pipe that blocks the writer for ever.
 */
export function writeAside(path: string, content: string): void {
  const write = (name: string): void => {
    writeFileSync(`${name}.broken`, content, { mode: 0o600, flag: 'wx' });
  };
  try {
    write(path);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    write(`${path}.${randomBytes(8).toString('hex')}`);
  }
}
