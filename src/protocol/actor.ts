import { parseDocumentText } from './frontmatter.ts';
import { parsed, shown, unreadable, type Parsed } from './result.ts';

/** An actor's profile (protocol.md §6): `name` equals the file's stem, the body is its system prompt. */
export interface Profile {
  name: string;
  description: string;
  body: string;
}

/** Reads an actor profile, or says every problem found in it. */
export function parseProfile(text: string, stem: string): Parsed<Profile> {
  const document = parseDocumentText(text);
  if (!document.ok) return document;
  const { name, description } = document.value.fields;
  const problems: string[] = [];
  if (name !== stem) {
    problems.push(
      name === undefined
        ? 'name is missing'
        : `name is ${shown(name)}, expected "${stem}" as in the file's name`,
    );
  }
  if (typeof description !== 'string' || description === '')
    problems.push('description is missing');
  if (problems.length > 0) return unreadable(...problems);
  return parsed({ name: stem, description: description as string, body: document.value.body });
}
