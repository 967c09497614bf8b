import { lstat, readdir, realpath } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { BESIDE_LIMITS, whyNotBeside } from '../../bus/automation/skills.ts';
import { CrosstalkError, reasonOf } from '../../errors.ts';
import { readPlainFile } from '../../plain-file.ts';
import {
  MAX_SKILL_BYTES,
  parseSkill,
  SKILL_FILE,
  skillFolders,
} from '../../protocol/files/skill.ts';
import { isSkillName } from '../../protocol/text/skill-call.ts';
import { parseHandWritten } from '../../protocol/text/hand-written.ts';
import { shown } from '../../protocol/text/result.ts';
import { MAX_MESSAGE_BYTES } from '../../protocol/message.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { deliverOrNote, type Delivered } from '../deliver.ts';
import { resolveFrom } from '../lookup/resolve.ts';

/** A skill that was added to the bus. */
export interface AddedSkill {
  name: string;
  /** Path of its SKILL.md in the transport. */
  path: string;
  /** The files next to its SKILL.md. */
  files: string[];
  /** The entries of the folder that were left out, each with the reason. */
  left: string[];
  delivered: Delivered;
}

/** The files of a folder, by their paths below it. */
interface Folder {
  files: Map<string, string>;
  left: string[];
  bytes: number;
}

/**
 * Puts a skill from a folder of this machine into `local/skills/`, replacing a skill of the same name
 * there, in a separate commit.
 *
 * @param input `dir`: a folder with a SKILL.md; `allowSecret`: publishes it even if it looks like a
 *   secret
 * @throws CrosstalkError `usage` for a folder that is not a skill; nothing is written then
 */
export async function addSkill(
  context: Context,
  input: { dir: string; login: string; from?: string; allowSecret: boolean },
): Promise<AddedSkill> {
  const dir = await realpath(resolve(context.cwd, input.dir)).catch((error: unknown) => {
    throw refused(
      input.dir,
      `cannot be read: ${reasonOf(error)}; name a folder with a ${SKILL_FILE}`,
    );
  });
  const { name, text } = await readSkill(dir, input.dir);
  const beside: Folder = { files: new Map(), left: [], bytes: 0 };
  await readBeside(dir, '', beside, input.dir);
  await refreshOrNote(context);
  await tipOf(context);
  const from = resolveFrom(context, input.from, input.login);
  const [folder] = skillFolders(name);
  const path = `${folder}/${SKILL_FILE}`;
  const files = [...beside.files].map(([file, content]) => ({
    path: `${folder}/${file}`,
    content,
  }));
  const delivered = await deliverOrNote(
    context,
    [
      {
        at: context.now().toISOString(),
        author: authorOf(from, context.hostname),
        subject: `crosstalk: skill ${name}`,
        files: [{ path, content: text }, ...files],
        clear: folder,
      },
    ],
    { allowSecret: input.allowSecret },
  );
  return { name, path, files: [...beside.files.keys()], left: beside.left, delivered };
}

function refused(dir: string, why: string): CrosstalkError {
  return new CrosstalkError('usage', `${shown(dir)} ${why}`);
}

/** Reads a SKILL.md. The name of the skill is the one in SKILL.md, with any name of the folder on this machine. */
async function readSkill(dir: string, given: string): Promise<{ name: string; text: string }> {
  const found = await readPlainFile(join(dir, SKILL_FILE), MAX_SKILL_BYTES, { whole: true });
  if (found.kind === 'absent')
    throw refused(given, `has no ${SKILL_FILE}; name the folder that holds it`);
  if (found.kind === 'odd') throw refused(join(given, SKILL_FILE), found.why);
  const document = parseHandWritten(found.text);
  const named = document.ok ? document.value.fields['name'] : undefined;
  const name = isSkillName(named) ? named : basename(dir);
  const parsed = parseSkill(found.text, name);
  if (!parsed.ok || !isSkillName(name))
    throw refused(
      join(given, SKILL_FILE),
      `is no skill: ${parsed.ok ? `its name is ${shown(name)}` : parsed.problems.join('; ')}; it begins with a line ---, then name: <lower-case letters, digits, hyphens> and description: <one line>, then ---, then what the actor is told`,
    );
  return { name, text: found.text };
}

/** Reads the files next to a SKILL.md; symlinks are not followed. */
async function readBeside(dir: string, below: string, into: Folder, given: string): Promise<void> {
  const depth = below.split('/').length;
  for (const name of (await readdir(join(dir, below))).sort()) {
    const file = `${below}${name}`;
    if (file === SKILL_FILE) continue;
    const stats = await lstat(join(dir, file));
    const why = whyNotBeside(name) ?? (stats.isSymbolicLink() ? 'it is a symlink' : undefined);
    if (why !== undefined) {
      into.left.push(`${shown(file)}, because ${why}`);
    } else if (stats.isDirectory()) {
      if (depth >= BESIDE_LIMITS.depth)
        throw refused(given, `has folders that are nested too deep`);
      await readBeside(dir, `${file}/`, into, given);
    } else {
      into.files.set(file, await textOf(join(dir, file)));
      into.bytes += stats.size;
    }
    if (into.files.size > BESIDE_LIMITS.files || into.bytes > BESIDE_LIMITS.bytes)
      throw refused(
        given,
        `has more than ${String(BESIDE_LIMITS.files)} files or 10 MiB; a skill is a text with a few files`,
      );
  }
}

async function textOf(path: string): Promise<string> {
  const found = await readPlainFile(path, MAX_MESSAGE_BYTES, { follow: false, whole: true });
  if (found.kind !== 'text')
    throw refused(path, found.kind === 'odd' ? found.why : 'was removed meanwhile');
  if (found.text.includes('\0'))
    throw refused(path, 'is no text; only texts can stand beside a skill');
  return found.text;
}
