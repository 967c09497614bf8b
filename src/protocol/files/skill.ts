import { parseHandWritten } from '../text/hand-written.ts';
import { isOneLine } from '../text/quoted.ts';
import { parsed, shown, unreadable, type Parsed } from '../text/result.ts';

/** A skill (automation.md): `name` equals the name of its folder, the body is the text for an actor. */
export interface Skill {
  name: string;
  /** One line about its purpose. */
  description: string;
  body: string;
}

/** Name of the file of a skill in its folder. */
export const SKILL_FILE = 'SKILL.md';
/** Most bytes of a SKILL.md that is read, in UTF-8: all of it goes into the prompt. */
export const MAX_SKILL_BYTES = 64 * 1024;
/** Longest description of the open SKILL.md form, in characters. */
const MAX_DESCRIPTION = 1024;

/** Returns the folders in which a skill may be; the operator's own has precedence. */
export const skillFolders = (name: string): [local: string, upstream: string] => [
  `local/skills/${name}`,
  `upstream/skills/${name}`,
];

/**
 * Parses a SKILL.md, or returns every problem found in it. Fields that other programs read in such a file are ignored:
 * a skill is only text for an actor.
 *
 * @param folder the name of its folder, which `name` has to equal
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
  // Many skills of others spread it over several lines.
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
