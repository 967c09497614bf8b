import { access, constants, stat } from 'node:fs/promises';
import { fileSystemAt } from '../../state/place/file-system.ts';
import type { Check } from './check.ts';

/** Checks that the state directory is this user's alone, and this machine's. */
export async function stateDirectory(root: string): Promise<Check> {
  const closed = ((await stat(root)).mode & 0o077) === 0;
  const writable = await access(root, constants.W_OK).then(
    () => true,
    () => false,
  );
  const words = [closed ? '' : 'open to others', writable ? '' : 'not writable'];
  const wrong = words.filter((word) => word !== '').join(', ');
  const check = 'state directory';
  if (wrong !== '')
    return { check, ok: false, found: wrong, fix: `chmod 700 ${root}, and give it to yourself` };
  const on = await fileSystemAt(root);
  if (on.kind !== 'shared') return { check, ok: true, found: 'yours alone', fix: '' };
  const found = `${root} is on ${on.name}, which other machines may use at the same time`;
  const fix = 'give another with CROSSTALK_STATE_DIR, unless only this machine uses it';
  return { check, ok: false, warning: true, found, fix };
}
