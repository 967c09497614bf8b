import { changeText } from '../../protocol/approval/text.ts';
import { writtenAt } from '../../protocol/names.ts';
import { type Status } from '../health/report.ts';
import { isBroken, type Check } from './check.ts';
import { ago } from '../../present/times.ts';
import { nobodysMail, profileLine } from '../../present/findings.ts';

/** The most lines about one subject, so that a flood cannot hide other checks. */
const MOST = 5;

/**
 * Checks what others have pushed that an operator may have to decide about: malformed files, keys without a
 * meaning, profiles, held changes, and mail for names that nobody serves; and locks that a killed git left.
 */
export function newsChecks(facts: Status, now: Date): Check[] {
  const { host, profile_problems: problems, profile_changes: changes, held, unserved } = facts;
  const path = host?.path ?? '';
  return [
    ...listed('messages', 'crosstalk status', facts.warnings).map(asWarning),
    ...facts.stale_locks.map((lock) => ({
      ...{ check: 'lock', ok: false, found: `${lock} was left by a git that was killed` },
      fix: `if no git runs there: rm ${lock}`,
    })),
    ...listed('host file', `correct it in ${path}`, host?.unknown ?? []),
    ...listed('profile', 'crosstalk actor edit <name>', problems),
    ...listed('profile', '', changes.map(profileLine)),
    ...held.slice(0, MOST).map((change) => ({
      ...{ check: 'held change', ok: false, found: changeText(change) },
      fix: `crosstalk host show, then crosstalk host approve ${change.digest}`,
    })),
    ...(held.length > MOST
      ? listed('held change', 'crosstalk host show', [`and ${String(held.length - MOST)} more`])
      : []),
    ...listed(
      'mail for nobody',
      'send it to whom you mean, serve the name with: crosstalk actor add <name> --cli <command>, or take it back with: crosstalk cancel <message> (--as-operator, if others wrote it)',
      unserved.map(
        (one) => `${nobodysMail(one)} (waits for ${ago(writtenAt(one.oldest) ?? '', now)})`,
      ),
    ).map(asWarning),
  ];
}

function asWarning(check: Check): Check {
  return { ...check, warning: true };
}

/** @param fix what to do; empty where the lines only inform */
function listed(check: string, fix: string, lines: readonly string[]): Check[] {
  const more = lines.length - MOST;
  const shown = [...lines.slice(0, MOST), ...(more > 0 ? [`and ${String(more)} more`] : [])];
  return shown.map((found) => ({ check, ok: fix === '', found, fix }));
}

/** The verdict of `status`, without what another check says. @param others what else was looked at */
export function backlog(
  { health: { ok, problems } }: Pick<Status, 'health'>,
  others: readonly Check[],
): Check {
  const broken = others.filter(isBroken).length;
  const well =
    broken === 0
      ? 'nothing is stuck'
      : `no mail is known to be stuck, but ${broken === 1 ? 'one check' : `${String(broken)} checks`} above found something broken`;
  const told = others.filter((one) => !one.ok);
  const untold = problems.filter((problem) => !told.some(({ found }) => problem.includes(found)));
  const stuck = untold.length > 0 ? untold.join(' · ') : 'what is said above keeps it from moving';
  return { check: 'mail', ok, found: ok ? well : stuck, fix: 'crosstalk status' };
}
