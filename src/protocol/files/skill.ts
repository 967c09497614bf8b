import { parseHandWritten } from '../text/hand-written.ts';
import { isOneLine } from '../text/quoted.ts';
import { parsed, shown, unreadable, type Parsed } from '../text/result.ts';

/** A skill (automation.md): `name` equals the name of its folder, the body is what an actor is told. */
export interface Skill {
  name: string;
  /** One line that says what it is for. */
  description: string;
  body: string;
}

/** The file of a skill in its folder. */
export const SKILL_FILE = 'SKILL.md';
/** A larger SKILL.md is not read: all of it would stand in the prompt. In bytes of UTF-8. */
export const MAX_SKILL_BYTES = 64 * 1024;
/** The longest description of the open SKILL.md form, in characters. */
const MAX_DESCRIPTION = 1024;

/** The folders in which a skill may be; the operator's own has precedence. */
export const skillFolders = (name: string): [local: string, upstream: string] => [
  `local/skills/${name}`,
  `upstream/skills/${name}`,
];

/**
 * Parses a SKILL.md, or returns every problem found in it. Fields that other programs read in such a
 * file are ignored: a skill can only tell an actor something.
 *
 * @param folder the name of the folder that it is in, which `name` has to equal
 */
export function parseSkill(text: string, folder: string): Parsed<Skill> {
  const size = Buffer.byteLength(text);
  if (size > MAX_SKILL_BYTES)
    return unreadable(`it has ${String(size)} bytes, more than ${String(MAX_SKILL_BYTES)}`);
  const document = parseHandWritten(text);
  if (!document.ok) return document;
  const { name, description } = document.value.fields;
  const { body } = document.value;
  const problems: string[] = [];
  if (name !== folder)
    problems.push(
      name === undefined
        ? 'name is missing'
        : `name is ${shown(name)}, expected "${folder}" as the folder is called`,
    );
  // In many skills of others it goes over several lines.
  const line =
    typeof description === 'string' ? description.replace(/\s+/g, ' ').trim() : description;
  if (line === undefined || line === '') problems.push('description is missing');
  else if (typeof line !== 'string' || !isOneLine(line) || line.length > MAX_DESCRIPTION)
    problems.push(
      `description is ${shown(line)}, expected one line of at most ${String(MAX_DESCRIPTION)} characters`,
    );
  if (body.trim() === '') problems.push('there is no text below the frontmatter');
  if (problems.length > 0) return unreadable(...problems);
  return parsed({ name: folder, description: line as string, body });
}
