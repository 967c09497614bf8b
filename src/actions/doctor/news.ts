import { ago } from '../../present/times.ts';
import { nobodysMail, profileLine } from '../../present/findings.ts';
import { writtenAt } from '../../protocol/layout.ts';
import { shown } from '../../protocol/text/result.ts';
import { tipOf, type Context } from '../context.ts';
import type { Facts } from '../health/report.ts';
import { asWarning, isBroken, type Check } from './check.ts';

/** The most lines about one subject, so that a flood cannot hide other checks. */
const MOST = 5;

/** Checks for profiles that came or were changed, and mail for names that nobody serves. */
export function newsChecks({ profile_changes: changes, unserved }: Facts, now: Date): Check[] {
  return [
    ...listed('profile', '', changes.map(profileLine)),
    ...listed(
      'mail for nobody',
      'send it to whom you mean, serve the name with: crosstalk actor add <name> --cli <command>, or take it back with: crosstalk cancel <message> (--as-operator, if others wrote it)',
      unserved.map(
        (one) => `${nobodysMail(one)} (waits for ${ago(writtenAt(one.oldest) ?? '', now)})`,
      ),
    ).map(asWarning),
  ];
}

/** Reports the channels whose name another one had before, and those of which history does not tell the first. */
export async function doubleChannels(context: Context): Promise<Check[]> {
  const tip = await tipOf(context);
  const open = (await context.reader.channels(tip)).filter((one) => one.archived !== true);
  const names = new Set<string>();
  const lines: string[] = [];
  for (const { id, name } of open) {
    const called = name === id ? (await context.reader.channel(tip, id)).name : name;
    if (called !== name)
      lines.push(
        `${id} is also called ${shown(called)}, a name that another channel had before: it is meant only by its id`,
      );
    else if (names.has(name))
      lines.push(
        `${id} is also called ${shown(name)}, and history does not tell which channel had the name first: each is meant only by its id`,
      );
    names.add(name);
  }
  const fix = 'crosstalk channel archive <id>, unless you want it';
  return listed('channel', fix, lines).map(asWarning);
}

/** @param fix the remedy; empty where the lines only inform */
function listed(check: string, fix: string, lines: readonly string[]): Check[] {
  const more = lines.length - MOST;
  const shown = [...lines.slice(0, MOST), ...(more > 0 ? [`and ${String(more)} more`] : [])];
  return shown.map((found) => ({ check, ok: fix === '', found, fix }));
}

/** Returns the last line where `status` knows of nothing that is stuck. @param others the other checks */
export function backlog(others: readonly Check[]): Check {
  const broken = others.filter(isBroken).length;
  const found =
    broken === 0
      ? 'nothing is stuck'
      : `no mail is known to be stuck, but ${broken === 1 ? 'one check' : `${String(broken)} checks`} above found something broken`;
  return { check: 'mail', ok: true, found, fix: '' };
}
