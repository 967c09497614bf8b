import { skillFor, skillAt } from '../../bus/automation/skills.ts';
import { SKILL_FILE } from '../../protocol/files/skill.ts';
import { skillAskedFor } from '../../protocol/text/skill-call.ts';
import { tipOf, type Context } from '../context.ts';
import { profileOf } from '../setup/actors.ts';

/** The skill for which a message asks. */
export interface AskedSkill {
  name: string;
  /** Path of its SKILL.md in the transport; null when the actor does not receive it. */
  path: string | null;
  /** Reason why the actor does not receive it; null when it does. */
  problem: string | null;
}

/**
 * Returns the skill that an actor receives where a message asks for one; undefined, and nothing is read, for any
 * other message.
 */
export async function askedSkill(
  context: Context,
  actor: string,
  { body }: { body: string },
): Promise<AskedSkill | undefined> {
  const name = skillAskedFor(body);
  if (name === undefined) return undefined;
  const [tip, { profile }] = await Promise.all([tipOf(context), profileOf(context, actor)]);
  const found = await skillFor(context.transport, { tip, actor, name, only: profile?.skills });
  return found.kind === 'found'
    ? { name, path: `${found.folder}/${SKILL_FILE}`, problem: null }
    : { name, path: null, problem: found.problem };
}

/** Returns the paths of the skills for which messages ask, by name; null for a name that no skill has. */
export async function askedSkills(
  { transport }: Context,
  tip: string,
  bodies: readonly string[],
): Promise<Map<string, string | null>> {
  const places = new Map<string, string | null>();
  for (const body of bodies) {
    const name = skillAskedFor(body);
    if (name === undefined || places.has(name) || places.size === MOST) continue;
    const found = await skillAt(transport, tip, name);
    places.set(name, found.kind === 'absent' ? null : `${found.folder}/${SKILL_FILE}`);
  }
  return places;
}

/** Most skills that are looked for: anybody who can push can ask for any number. */
const MOST = 100;
