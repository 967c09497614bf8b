import type { WebBrokenFile, WebBrokenFiles } from '../../api/api.ts';
import { ScheduleFiles } from '../../bus/automation/schedules.ts';
import { skillAt, skillNames } from '../../bus/automation/skills.ts';
import { SubscriptionFiles } from '../../bus/automation/subscriptions.ts';
import { SKILL_FILE } from '../../protocol/files/skill.ts';
import { tipOf, type Context } from '../context.ts';

/** The most files that are named. */
const MOST = 100;

/**
 * Returns the operators' schedules, subscriptions and skills that cannot be read, at the newest commit known locally.
 * Those of other hosts are among them.
 */
export async function brokenFiles(context: Context): Promise<WebBrokenFiles> {
  const { transport } = context;
  const tip = await tipOf(context);
  const [schedules, subscriptions, skills] = await Promise.all([
    new ScheduleFiles(transport).at(tip),
    new SubscriptionFiles(transport).at(tip),
    brokenSkills(context, tip),
  ]);
  const files = [
    ...brokenOf('schedule', schedules.files),
    ...brokenOf('subscription', subscriptions.files),
    ...skills,
  ];
  return { files: files.slice(0, MOST), total: files.length };
}

function brokenOf(
  kind: 'schedule' | 'subscription',
  files: readonly {
    name: string;
    path: string;
    result: { ok: true } | { ok: false; problems: string[] };
  }[],
): WebBrokenFile[] {
  return files.flatMap(({ name, path, result }) =>
    result.ok ? [] : [{ kind, name, path, problem: result.problems.join('; ') }],
  );
}

async function brokenSkills({ transport }: Context, tip: string): Promise<WebBrokenFile[]> {
  const found: WebBrokenFile[] = [];
  for (const name of await skillNames(transport, tip, ['local/skills'])) {
    const skill = await skillAt(transport, tip, name);
    if (skill.kind !== 'broken') continue;
    const { folder, problem } = skill;
    found.push({ kind: 'skill', name, path: `${folder}/${SKILL_FILE}`, problem });
  }
  return found;
}
