import { EVERYONE } from '../address.ts';
import { isName } from '../layout.ts';
import { isSkillName } from '../text/skill-call.ts';
import { parsed, shown, unreadable, type Parsed } from '../text/result.ts';
import { parseProfile, type Profile } from './actor.ts';
import { parseSkill, SKILL_FILE } from './skill.ts';

/** An actor exported for others: its profile, the skills that the profile names, its tools without secrets. */
export interface ExportedActor {
  /** Version of this format. */
  crosstalk_actor: 1;
  name: string;
  /** The text of its profile. */
  profile: string;
  skills: { name: string; files: { path: string; content: string }[] }[];
  /** The names of the secrets that its tools need. */
  secrets: string[];
}

/** The parsed content of such a file. */
export interface ReadActor extends ExportedActor {
  parsed: Profile;
}

const MOST_SKILLS = 50;

/**
 * Parses an exported actor, which may come from anybody.
 *
 * @param whyNot reason why a file or folder of this name may not be in a skill
 */
export function parseExportedActor(
  text: string,
  whyNot: (name: string) => string | undefined,
  limits: { files: number; depth: number },
): Parsed<ReadActor> {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return unreadable('it is no JSON');
  }
  if (!isMapping(value) || value['crosstalk_actor'] !== 1)
    return unreadable(
      'it has no "crosstalk_actor": 1; make such a file with: crosstalk actor export',
    );
  const { name, profile, skills } = value;
  if (!isName(name) || name === EVERYONE)
    return unreadable(`its name is ${shown(name)}, which is no name for an actor`);
  const read = parseProfile(typeof profile === 'string' ? profile : '', name);
  if (!read.ok) return unreadable(...read.problems.map((one) => `its profile: ${one}`));
  if (!Array.isArray(skills) || skills.length > MOST_SKILLS)
    return unreadable(`its skills are no list of at most ${String(MOST_SKILLS)}`);
  const problems: string[] = [];
  const checked = skills.flatMap((one: unknown) => skillIn(one, whyNot, limits, problems) ?? []);
  const names = new Set(checked.map((one) => one.name));
  if (names.size < checked.length) problems.push('it has one skill twice');
  if (problems.length > 0) return unreadable(...problems);
  return parsed({
    crosstalk_actor: 1,
    name,
    profile: profile as string,
    skills: checked,
    secrets: [],
    parsed: read.value,
  });
}

function skillIn(
  value: unknown,
  whyNot: (name: string) => string | undefined,
  limits: { files: number; depth: number },
  problems: string[],
): ExportedActor['skills'][number] | undefined {
  const { name, files } = isMapping(value) ? value : {};
  if (!isSkillName(name) || !Array.isArray(files) || files.length > limits.files + 1) {
    problems.push(
      `its skill ${shown(name)} has no name of a skill, or not at most ${String(limits.files)} files`,
    );
    return undefined;
  }
  const checked = new Map<string, string>();
  for (const file of files as unknown[]) {
    const { path, content } = isMapping(file) ? file : {};
    if (typeof path !== 'string' || typeof content !== 'string') {
      problems.push(`its skill ${name} has a file without path and content`);
      return undefined;
    }
    const parts = path.split('/');
    const why =
      path === SKILL_FILE
        ? undefined
        : parts.length > limits.depth
          ? 'it is nested too deep'
          : parts.map(whyNot).find((one) => one !== undefined);
    if (why !== undefined)
      problems.push(`its skill ${name} has ${shown(path)}, which is not taken: ${why}`);
    checked.set(path, content);
  }
  if (checked.size < files.length || areInTheWay([...checked.keys()]))
    problems.push(`its skill ${name} has two files of one name, or one within another`);
  const skill = parseSkill(checked.get(SKILL_FILE) ?? '', name);
  if (!skill.ok) problems.push(`its skill ${name}: ${skill.problems.join('; ')}`);
  return { name, files: [...checked].map(([path, content]) => ({ path, content })) };
}

/** Whether these paths conflict in a checkout, as on a disk where case makes no difference. */
function areInTheWay(paths: readonly string[]): boolean {
  const all = new Set(paths.map((path) => path.toLowerCase()));
  const folders = [...all].flatMap((path) =>
    path.split('/').map((_, depth, parts) => parts.slice(0, depth).join('/')),
  );
  return all.size < paths.length || folders.some((folder) => all.has(folder));
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
