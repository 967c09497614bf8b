import { lstatSync, readFileSync } from 'node:fs';
import { nameText } from '../../protocol/approval/approval.ts';
import { shown } from '../../protocol/text/result.ts';
import type { HostShown } from '../setup/approvals.ts';
import type { Context } from '../context.ts';
import type { Check } from './check.ts';

/** The most tiers or sockets that are named. */
const MAX_NAMED = 5;

/**
 * Returns the accesses that are open on this machine by the choice of its operator: facts with the command that
 * changes them, not faults (trust.md §7). A machine that serves nobody has none.
 */
export function openHere(
  { transport }: Context,
  { host }: HostShown,
  isRoot = process.getuid?.() === 0,
): Check[] {
  const tiers = [...(host?.inForce ?? [])].flatMap(([actor, all]) =>
    all.map((tier) => ({ ...tier, name: `${nameText(actor)} (${nameText(tier.name)})` })),
  );
  const unboxed = tiers.filter(({ sandbox }) => sandbox === undefined);
  const forAll = unboxed.filter(({ onlyFrom }) => onlyFrom === undefined);
  const masters = unboxed.length === 0 ? [] : sshMasters();
  return [
    ...(isRoot && tiers.length > 0
      ? note(
          'user',
          'you are root, and so is all that runs here; for a user without such rights: crosstalk service install --system --user <name>',
        )
      : []),
    ...(transport.origin !== undefined && forAll.length > 0
      ? note(
          'who may give tasks',
          `all who can push to the remote, to runs without a sandbox: ${some(forAll.map(({ name }) => name))}; to keep them in: crosstalk actor set <name> sandbox=default, to choose who may: crosstalk actor set <name> only_from=<names>`,
        )
      : []),
    ...(masters.length > 0
      ? note(
          'shared ssh connections',
          `a run without a sandbox can give commands over ${some(masters.map((path) => shown(path)))}; to close one: ssh -S <path> -O exit any`,
        )
      : []),
  ];
}

function note(check: string, found: string): Check[] {
  return [{ check, ok: true, found, fix: '' }];
}

function some(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  return `${names.slice(0, MAX_NAMED).join(', ')}${more > 0 ? ` and ${String(more)} more` : ''}`;
}

/**
 * Returns the sockets over which a program of this user can use a connection of ssh (`ControlMaster`). OpenSSH binds
 * each beside its place, under a name with sixteen random characters more, which the kernel goes on showing, and
 * links it. So a socket is not seen that was bound by a relative path, was renamed later, or on a system without
 * `/proc`.
 */
function sshMasters(): string[] {
  let lines: string[];
  try {
    lines = readFileSync('/proc/net/unix', 'utf8').split('\n');
  } catch {
    return [];
  }
  const uid = process.getuid?.();
  const paths = lines.flatMap((line) => {
    const at = line.indexOf(' /');
    return at > 0 && /\.[A-Za-z0-9]{16}$/.test(line) ? [line.slice(at + 1, -17)] : [];
  });
  return [...new Set(paths)].filter((path) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    return found?.isSocket() === true && found.uid === uid;
  });
}
