import { skillFor, skillAt } from '../../bus/automation/skills.ts';
import { SKILL_FILE } from '../../protocol/files/skill.ts';
import { skillAskedFor } from '../../protocol/text/skill-call.ts';
import { tipOf, type Context } from '../context.ts';
import { profileOf } from '../setup/actors.ts';

/** The skill for which a message asks. */
export interface AskedSkill {
  name: string;
  /** Where its SKILL.md is in the transport; null when the actor is not told it. */
  path: string | null;
  /** Why the actor is not told it; null when it is. */
  problem: string | null;
}

/** What an actor is told where a message asks for a skill; undefined, and nothing is read, for any other. */
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

/** Where the skills are for which messages ask, by name; null for a name that no skill has. */
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

/** The most skills that are looked for: whoever can push can ask for any number. */
const MOST = 100;
