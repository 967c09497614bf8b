import { SKILL_FILE } from '../../protocol/files/skill.ts';
import type { Transport } from '../../transport/transport.ts';
import { skillAt, skillNames, type FoundSkill } from './skills.ts';

/** Maximum number of skills that a line about a missing one names. */
const MAX_NAMED = 20;

/** A skill for an actor, or the reason why the actor does not receive it. */
type SkillFor = Extract<FoundSkill, { kind: 'found' }> | { kind: 'untold'; problem: string };

/**
 * Finds a requested skill for an actor at a commit.
 *
 * @param only the skills that its profile allows; undefined for all
 */
export async function skillFor(
  transport: Transport,
  {
    tip,
    actor,
    name,
    only,
  }: { tip: string; actor: string; name: string; only?: readonly string[] | undefined },
): Promise<SkillFor> {
  if (only?.includes(name) === false) {
    const takes = only.length === 0 ? 'no skill' : `only ${some(only)}`;
    return untold(`the profile of ${actor} says that it takes ${takes}`);
  }
  const found = await skillAt(transport, tip, name);
  if (found.kind === 'found') return found;
  if (found.kind === 'broken')
    return untold(`${found.folder}/${SKILL_FILE} cannot be read: ${found.problem}`);
  const known = (await skillNames(transport, tip)).filter((one) => only?.includes(one) !== false);
  const there = known.length === 0 ? 'there is none at all' : `there are ${some(known)}`;
  return untold(`there is no skill of that name; ${there}`);
}

function untold(problem: string): SkillFor {
  return { kind: 'untold', problem };
}

function some(names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? ` and ${String(names.length - MAX_NAMED)} more` : '';
  return `${names.slice(0, MAX_NAMED).join(', ')}${more}`;
}
