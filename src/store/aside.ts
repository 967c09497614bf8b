import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { hasCode } from '../errors.ts';

/**
 * Keeps a text at `<path>.broken`, in a file that was not there: in its place may be a symlink to somebody's file,
 * or a named pipe that lets nobody go on.
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
