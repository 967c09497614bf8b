import type { WebSkill, WebSkills, WebSkillWhole } from '../../api/api.ts';
import { besideSkill, MAX_SKILLS, skillAt } from '../../bus/automation/skills.ts';
import { skillFolders, SKILL_FILE } from '../../protocol/files/skill.ts';
import { tipOf, type Context } from '../context.ts';
import { knownActors, type ActorInfo } from '../setup/actors.ts';
import { knownSkills, namedSkill, type SkillInfo } from '../skills/list.ts';

/** The most actors that are named as those that take a skill. */
const MOST_TAKERS = 50;

/** Returns the skills known locally, for the page. */
export async function skillsPage(context: Context): Promise<WebSkills> {
  const [skills, actors, shipped] = await Promise.all([
    knownSkills(context),
    knownActors(context),
    shippedNames(context),
  ]);
  return {
    skills: skills.map((one) => shown(one, actors, shipped)),
    more: skills.length >= MAX_SKILLS,
  };
}

/**
 * Returns one skill with its text, also one that cannot be read.
 *
 * @throws CrosstalkError `not_found`
 */
export async function skillPage(context: Context, name: string): Promise<WebSkillWhole> {
  const { transport } = context;
  const info = namedSkill(await knownSkills(context), name);
  const tip = await tipOf(context);
  const [actors, shipped, found] = await Promise.all([
    knownActors(context),
    shippedNames(context),
    skillAt(transport, tip, name),
  ]);
  const isRead = found.kind === 'found';
  const beside = isRead ? await besideSkill(transport, tip, found.folder) : undefined;
  return {
    ...shown(info, actors, shipped),
    body: isRead ? found.skill.body : '',
    files: (beside?.files ?? []).map((file) => file.name).sort(),
    left: beside?.left ?? [],
  };
}

/** Returns the names of the skills that came with Crosstalk. */
async function shippedNames({ transport, ...context }: Context): Promise<Set<string>> {
  const tip = await tipOf({ transport, ...context });
  const folders = await transport.list(tip, ['upstream/skills']);
  return new Set(folders.map(({ path }) => path.slice('upstream/skills/'.length)));
}

function shown(
  { name, description, path, problem }: SkillInfo,
  actors: readonly ActorInfo[],
  shipped: ReadonlySet<string>,
): WebSkill {
  const takers = actors.filter(({ skills }) => skills?.includes(name) !== false);
  const isForAll = takers.length === actors.length;
  const [local] = skillFolders(name);
  return {
    ...{ name, description, path, problem },
    replaces_upstream: path === `${local}/${SKILL_FILE}` && shipped.has(name),
    taken_by: isForAll ? null : takers.slice(0, MOST_TAKERS).map((actor) => actor.name),
    taken_by_more: isForAll ? 0 : Math.max(0, takers.length - MOST_TAKERS),
  };
}
