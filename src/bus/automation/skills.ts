import { isAgentSetting } from '../../agents/settings.ts';
import {
  MAX_SKILL_BYTES,
  parseSkill,
  SKILL_FILE,
  skillFolders,
  type Skill,
} from '../../protocol/files/skill.ts';
import { isSkillName } from '../../protocol/text/skill-call.ts';
import { shown } from '../../protocol/text/result.ts';
import type { Transport } from '../../transport/transport.ts';

/** The result of looking up a skill: the skill with its folder, or the reason why it cannot be read. */
export type FoundSkill =
  | { kind: 'found'; skill: Skill; folder: string }
  | { kind: 'broken'; folder: string; problem: string }
  | { kind: 'absent' };

/**
 * Reads a skill at a commit, the operator's before the one that came with Crosstalk. If the operator's
 * own cannot be read, the other one does not replace it, as its content differs.
 */
export async function skillAt(
  transport: Transport,
  commit: string,
  name: string,
): Promise<FoundSkill> {
  const folders = skillFolders(name);
  for (const folder of folders) {
    const object = await transport.objects.read(`${commit}:${folder}/${SKILL_FILE}`);
    if (object === undefined) continue;
    const parsed =
      object.type === 'blob' && object.content !== undefined
        ? parseSkill(object.content.toString('utf8'), name)
        : undefined;
    if (parsed?.ok === true) return { kind: 'found', skill: parsed.value, folder };
    const problem =
      parsed?.problems.join('; ') ??
      (object.type === 'blob'
        ? `it has ${String(object.size)} bytes, more than ${String(MAX_SKILL_BYTES)}`
        : 'it is no file');
    return { kind: 'broken', folder, problem };
  }
  const files = folders.map((folder) => `${folder}/${SKILL_FILE}`);
  const [lacking] = await transport.standing(commit, files);
  if (lacking === undefined) return { kind: 'absent' };
  const folder = lacking.slice(0, -SKILL_FILE.length - 1);
  return { kind: 'broken', folder, problem: 'its content is missing from this clone' };
}

/** Maximum number of skills that are listed. */
export const MAX_SKILLS = 500;

/**
 * Lists the names of the skills at a commit, in alphabetical order.
 *
 * @param parents the folders of skills
 */
export async function skillNames(
  transport: Transport,
  commit: string,
  parents: readonly string[] = ['local/skills', 'upstream/skills'],
): Promise<string[]> {
  const names = new Set<string>();
  // One folder at a time, which starts no process.
  for (const parent of parents)
    for (const { path, type } of await transport.list(commit, [parent])) {
      const name = path.slice(parent.length + 1);
      if (type === 'tree' && isSkillName(name)) names.add(name);
    }
  return [...names].sort().slice(0, MAX_SKILLS);
}

/** A file next to a SKILL.md; `name` is its path below the folder of the skill. */
interface BesideFile {
  name: string;
  oid: string;
}

/** The files next to a SKILL.md, and those left out, each as a name and the reason. */
export interface Beside {
  files: BesideFile[];
  left: string[];
}

/** Limits of the files next to a SKILL.md. */
export const BESIDE_LIMITS = { files: 100, depth: 4, bytes: 10 * 1024 * 1024 };
/** Maximum number of left-out files that are named. */
const MAX_LEFT = 10;
/** Plain names only: hidden ones are settings, and others differ from file system to file system. */
const PLAIN = /^[A-Za-z0-9_][A-Za-z0-9._ -]{0,99}$/;

/** Returns the reason why a file or folder of this name is never copied; undefined when it may be. */
export function whyNotBeside(name: string): string | undefined {
  if (name.startsWith('.') || isAgentSetting(name, ''))
    return 'an agent CLI could take it for its settings';
  if (name.toLowerCase() === SKILL_FILE.toLowerCase()) return 'it is a skill of its own';
  if (!PLAIN.test(name) || name.endsWith('.') || name.endsWith(' '))
    return 'its name has other characters than letters, digits, blanks and ._-';
  return undefined;
}

/**
 * Finds the files next to a SKILL.md. Files that an agent CLI might load automatically are left out in
 * every folder, as are symlinks, submodules, and everything beyond {@link BESIDE_LIMITS}.
 */
export async function besideSkill(
  transport: Transport,
  commit: string,
  folder: string,
): Promise<Beside> {
  const files: BesideFile[] = [];
  const left: string[] = [];
  const leave = (name: string, why: string): void => {
    if (left.length < MAX_LEFT) left.push(`${shown(name)}, because ${why}`);
    else left[MAX_LEFT] = 'and more';
  };
  const waiting = [{ path: folder, depth: 1 }];
  for (let at = waiting.shift(); at !== undefined; at = waiting.shift()) {
    for (const { path, oid, mode, type } of await transport.list(commit, [at.path])) {
      if (path === `${folder}/${SKILL_FILE}`) continue;
      const name = path.slice(folder.length + 1);
      const why = whyNotBeside(path.slice(at.path.length + 1));
      if (why !== undefined) leave(name, why);
      else if (type === 'tree') {
        const isNear = at.depth < BESIDE_LIMITS.depth && waiting.length < BESIDE_LIMITS.files;
        if (isNear) waiting.push({ path, depth: at.depth + 1 });
        else leave(name, 'folders are nested too deep there, or are too many');
      } else if (!mode.startsWith('100')) leave(name, 'it is no plain file');
      else if (files.length < BESIDE_LIMITS.files) files.push({ name, oid });
      else leave(name, `there are more than ${String(BESIDE_LIMITS.files)} files`);
    }
  }
  return { files, left };
}

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
