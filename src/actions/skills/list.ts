import { besideSkill, skillAt, skillNames } from '../../bus/automation/skills.ts';
import { CrosstalkError } from '../../errors.ts';
import { SKILL_FILE } from '../../protocol/files/skill.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { shown } from '../../protocol/text/result.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';

/** A skill of a transport, as `skill list` shows it. */
export interface SkillInfo {
  name: string;
  /** The description; empty for a skill that cannot be read. */
  description: string;
  /** Path of its SKILL.md in the transport. */
  path: string;
  /** The reason why it cannot be read; null for a skill that can be read. */
  problem: string | null;
}

/** A skill with its text and the files next to it. */
export interface ShownSkill extends SkillInfo {
  body: string;
  /** Files that a run receives in its directory, by their paths below the folder of the skill. */
  files: string[];
  /** Files that a run does not receive, each with the reason. */
  left: string[];
}

/** Lists every skill of the transport, including those that cannot be read. */
export async function listSkills(context: Context): Promise<SkillInfo[]> {
  await refreshOrNote(context);
  return knownSkills(context);
}

/** Returns the names of all skills known locally, including those that cannot be read. */
export async function namesOfSkills(context: Context): Promise<string[]> {
  return skillNames(context.transport, await tipOf(context));
}

/** Lists the same skills as known locally, without asking the remote. */
export async function knownSkills(context: Context): Promise<SkillInfo[]> {
  const { transport } = context;
  const tip = await tipOf(context);
  const listed: SkillInfo[] = [];
  for (const name of await skillNames(transport, tip)) {
    const found = await skillAt(transport, tip, name);
    if (found.kind === 'absent') continue;
    const path = `${found.folder}/${SKILL_FILE}`;
    listed.push(
      found.kind === 'found'
        ? { name, description: found.skill.description, path, problem: null }
        : { name, description: '', path, problem: found.problem },
    );
  }
  return listed;
}

/**
 * Returns one skill with its text.
 *
 * @throws CrosstalkError `not_found` for a name that no skill has, `refused` for one that cannot be read
 */
export async function showSkill(context: Context, name: string): Promise<ShownSkill> {
  const all = await listSkills(context);
  const info = namedSkill(all, name);
  const { transport } = context;
  const tip = await tipOf(context);
  const found = await skillAt(transport, tip, name);
  if (found.kind !== 'found')
    throw new CrosstalkError(
      'refused',
      `${info.path} cannot be read: ${info.problem ?? 'it is gone'}; correct it, and replace it with: crosstalk skill add <dir>`,
    );
  const { files, left } = await besideSkill(transport, tip, found.folder);
  return { ...info, body: found.skill.body, files: files.map((file) => file.name).sort(), left };
}

/**
 * Returns the skill of a name.
 *
 * @throws CrosstalkError `not_found` when none of the skills has this name
 */
export function namedSkill(all: readonly SkillInfo[], name: string): SkillInfo {
  const info = all.find((one) => one.name === name);
  if (info === undefined) {
    const names = all.map((one) => one.name);
    const known = names.length === 0 ? 'none' : names.slice(0, 20).join(', ');
    throw new CrosstalkError(
      'not_found',
      `no skill ${shown(name)}${didYouMean(name, names)}; this transport has ${known}; add one with: crosstalk skill add <dir>`,
    );
  }
  return info;
}
