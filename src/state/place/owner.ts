import type { Stats } from 'node:fs';
import { dirname } from 'node:path';
import { atPath } from '../../at-path.ts';
import { CrosstalkError } from '../../errors.ts';
import { foreignContent, type Foreign, type StateNames } from './private.ts';

/**
 * The owners of the places of the state. An approval in a state directory makes commands run as this
 * user, and whoever owns the folder around it can put another one in its place (trust.md §5). So the
 * directory has to be this user's, and the folder this user's or root's.
 */

/** The variable that can name another place. */
type Variable = 'CROSSTALK_STATE_DIR' | 'XDG_STATE_HOME';

const ROOT = 0;

/**
 * Checks a state directory, and the folder that contains it. A missing one passes: it will be made by
 * this user. Nothing is checked when the system has no users.
 *
 * @throws CrosstalkError `refused` when one of them belongs to another user
 */
export function assertOwnState(root: string, variable: Variable): void {
  const found = foreignOwner(root, 'own') ?? foreignOwner(dirname(root), 'root');
  if (found !== undefined) throw refusal('the state directory', root, found, variable);
}

/**
 * Checks the folder of all transports' state, which holds the record of each clone, and the folder that
 * contains it.
 *
 * @throws CrosstalkError `refused` when one of them belongs to another user
 */
export function assertOwnHome(home: string): void {
  const found = foreignOwner(home, 'root') ?? foreignOwner(dirname(home), 'root');
  if (found !== undefined)
    throw refusal('the folder of the state directories', home, found, 'XDG_STATE_HOME');
}

/**
 * Checks the content of a state directory that others may write to, since an approval there makes
 * commands run as this user.
 *
 * @throws CrosstalkError `refused` when another user has put something of ours there
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
 * Returns the other user who owns a place or, for a symlink, its target.
 *
 * @param allow `root` when it may be root's as well
 * @returns undefined too when there is nothing
 */
function foreignOwner(path: string, allow: 'own' | 'root'): Foreign | undefined {
  const self = process.getuid?.();
  if (self === undefined) return undefined;
  const isForeign = ({ uid }: Stats, isRootFine: boolean): boolean =>
    uid !== self && !(isRootFine && uid === ROOT);
  const there = atPath(path, { follow: false });
  if (there === undefined) return undefined;
  // The target of root's symlink is root's decision.
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
