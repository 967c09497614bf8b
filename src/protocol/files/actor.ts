import { parseDocumentText } from '../text/frontmatter.ts';
import { parsed, shown, unreadable, type Parsed } from '../text/result.ts';

/** An actor's profile (protocol.md §6): `name` equals the file's stem, the body is its system prompt. */
export interface Profile {
  name: string;
  /** Empty if it is missing: a description is recommended, but a profile without one is valid. */
  description: string;
  body: string;
}

/**
 * Parses an actor profile, or returns every problem found in it.
 *
 * @param stem of the file's name, which `name` has to equal; undefined leaves this check to the
 *   caller, for content that appears under several names
 */
export function parseProfile(text: string, stem: string | undefined): Parsed<Profile> {
  const document = parseDocumentText(text);
  if (!document.ok) return document;
  const { name, description } = document.value.fields;
  const problems: string[] = [];
  if (typeof name !== 'string' || (stem !== undefined && name !== stem)) {
    problems.push(
      name === undefined
        ? 'name is missing'
        : `name is ${shown(name)}, expected ${stem === undefined ? 'a text' : `"${stem}"`} as in the file's name`,
    );
  }
  if (description !== undefined && typeof description !== 'string')
    problems.push(`description is ${shown(description)}, expected a text`);
  if (problems.length > 0) return unreadable(...problems);
  return parsed({
    name: name as string,
    description: typeof description === 'string' ? description : '',
    body: document.value.body,
  });
}
