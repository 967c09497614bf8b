import type { Stats } from 'node:fs';
import { dirname } from 'node:path';
import { atPath } from '../../at-path.ts';
import { CrosstalkError } from '../../errors.ts';
import { foreignContent, type Foreign, type StateNames } from './private.ts';

/**
 * Whose the places of the state are. What is approved in a state directory runs as this user, and
 * whoever owns the folder around it can put another one in its place (trust.md §5). So the directory has to
 * be this user's, and the folder this user's or root's.
 */

/** The variable by which another place can be named. */
type Variable = 'CROSSTALK_STATE_DIR' | 'XDG_STATE_HOME';

const ROOT = 0;

/**
 * Checks a state directory, and the folder that it is in. What is not there yet passes: it will be made by
 * this user. Nothing is checked where the system has no users.
 *
 * @throws CrosstalkError `refused` where one of them belongs to another user
 */
export function assertOwnState(root: string, variable: Variable): void {
  const found = foreignOwner(root, 'own') ?? foreignOwner(dirname(root), 'root');
  if (found !== undefined) throw refusal('the state directory', root, found, variable);
}

/**
 * Checks the folder of all transports' state, which holds what is known of each clone, and the folder that it
 * is in.
 *
 * @throws CrosstalkError `refused` where one of them belongs to another user
 */
export function assertOwnHome(home: string): void {
  const found = foreignOwner(home, 'root') ?? foreignOwner(dirname(home), 'root');
  if (found !== undefined)
    throw refusal('the folder of the state directories', home, found, 'XDG_STATE_HOME');
}

/**
 * Checks what is in a state directory that others may write to: what is approved there runs as this user.
 *
 * @throws CrosstalkError `refused` where another user has put something of ours there
 */
export async function assertOwnContent(
  root: string,
  names: StateNames,
  variable: Variable,
): Promise<void> {
  const found = await foreignContent(root, names.shared);
  if (found !== undefined) throw refusal('in the state directory', root, found, variable);
}

/**
 * The other user who owns a place or, where it is a symlink, what it leads to.
 *
 * @param allow `root` where it may be root's as well
 * @returns undefined too when there is nothing
 */
function foreignOwner(path: string, allow: 'own' | 'root'): Foreign | undefined {
  const self = process.getuid?.();
  if (self === undefined) return undefined;
  const isForeign = ({ uid }: Stats, isRootFine: boolean): boolean =>
    uid !== self && !(isRootFine && uid === ROOT);
  const there = atPath(path, { follow: false });
  if (there === undefined) return undefined;
  // What a symlink of root's leads to is root's decision.
  if (isForeign(there, allow === 'root' || there.isSymbolicLink())) return { path, uid: there.uid };
  const target = atPath(path, { follow: true });
  return target !== undefined && isForeign(target, allow === 'root')
    ? { path, uid: target.uid }
    : undefined;
}

function refusal(what: string, path: string, foreign: Foreign, variable: Variable): CrosstalkError {
  const inside = foreign.path.startsWith(`${path}/`) ? `${foreign.path} ` : undefined;
  const where = inside ?? (foreign.path === path ? '' : `the folder ${foreign.path} of `);
  const [owner, self] = [String(foreign.uid), String(process.getuid?.())];
  return new CrosstalkError(
    'refused',
    `${where}${what} ${path} belongs to the user ${owner}, not to you (user ${self}), and whoever owns it could have commands run as you; nothing was sent: name a folder of your own with ${variable}, or make this one your own if you know all that is in it`,
  );
}
