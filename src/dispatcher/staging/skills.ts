import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { skillFor, BESIDE_LIMITS, besideSkill } from '../../bus/automation/skills.ts';
import { reasonOf } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { SKILL_FILE } from '../../protocol/files/skill.ts';
import { skillAskedFor } from '../../protocol/text/skill-call.ts';
import type { Located } from '../../protocol/message.ts';
import type { SkillInPrompt } from '../../protocol/text/structure.ts';
import { writeNewFile } from '../../plain-file.ts';
import type { Transport } from '../../transport/transport.ts';

/** Most skills in a prompt, however many messages ask for others. */
const MAX_TOLD = 8;
/** The most messages that an event names. */
const MAX_NAMED = 20;

/**
 * Returns the skills that messages of a batch ask for, at the commit at which the batch is read. Nothing is read for
 * a batch of which no message begins with `/`.
 *
 * @param only the skills that the profile of the actor allows; undefined for all
 * @param runDir the directory of the run, in which the files of the skills are staged
 */
export async function skillsOf(
  { transport, log }: { transport: Transport; log: Log },
  { id, actor, tip }: { id: string; actor: string; tip: string },
  batch: readonly Located[],
  only: readonly string[] | undefined,
  runDir: string,
): Promise<SkillInPrompt[]> {
  const asked = new Map<string, string[]>();
  for (const { relPath, message } of batch) {
    const name = skillAskedFor(message.body);
    if (name !== undefined) asked.set(name, [...(asked.get(name) ?? []), relPath]);
  }
  const about = (skill: string, refs: readonly string[]) => ({
    ...{ id, actor, skill },
    refs: refs.slice(0, MAX_NAMED),
  });
  const skills: SkillInPrompt[] = [];
  for (const [name, refs] of [...asked].slice(0, MAX_TOLD)) {
    const skill = await oneSkill(transport, { tip, actor, name, only, runDir });
    if (skill.told === undefined)
      log('skill_missing', { ...about(name, refs), problem: skill.problem });
    else log('skill_told', { ...about(name, refs), path: skill.told.path });
    skills.push({ name, refs, ...skill });
  }
  for (const [name, refs] of [...asked].slice(MAX_TOLD, MAX_TOLD + 1)) {
    const problem = `these messages ask for ${String(asked.size)} skills, and a prompt tells ${String(MAX_TOLD)}; ask for the others in messages of their own`;
    log('skill_missing', { ...about(name, refs), problem });
    skills.push({ name, refs, problem });
  }
  return skills;
}

async function oneSkill(
  transport: Transport,
  {
    runDir,
    ...asked
  }: {
    tip: string;
    actor: string;
    name: string;
    only?: readonly string[] | undefined;
    runDir: string;
  },
): Promise<Pick<SkillInPrompt, 'told' | 'problem'>> {
  const { tip, name } = asked;
  const found = await skillFor(transport, asked);
  if (found.kind === 'untold') return { problem: found.problem };
  const path = `${found.folder}/${SKILL_FILE}`;
  const { files, left } = await besideSkill(transport, tip, found.folder);
  const dir = join(runDir, 'skills', name);
  const laid = files.length === 0 ? [] : await stage(transport, files, dir, left);
  return {
    told: {
      path,
      body: found.skill.body,
      ...(laid.length > 0 && { files: { dir, names: laid } }),
      left,
    },
  };
}

/**
 * Stages the files beside a SKILL.md in the directory of the run, read-only and never executable.
 *
 * @param left receives the files that could not be staged, with the reason
 * @returns the names of those that were staged
 */
async function stage(
  transport: Transport,
  files: readonly { name: string; oid: string }[],
  dir: string,
  left: string[],
): Promise<string[]> {
  await transport.prefetch(files.map(({ oid }) => oid));
  const laid: string[] = [];
  let bytes = 0;
  for (const { name, oid } of files) {
    const object = await transport.objects.read(oid);
    bytes += object?.content?.length ?? 0;
    if (object?.content === undefined || bytes > BESIDE_LIMITS.bytes) {
      left.push(`${JSON.stringify(name)}, because it is too large, or missing from this clone`);
      continue;
    }
    try {
      await mkdir(dirname(join(dir, name)), { recursive: true, mode: 0o700 });
      await writeNewFile(join(dir, name), object.content, 0o400);
      laid.push(name);
    } catch (error) {
      left.push(`${JSON.stringify(name)}, because ${reasonOf(error)}`);
    }
  }
  return laid;
}
