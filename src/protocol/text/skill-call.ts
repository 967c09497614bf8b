/** Names of the open SKILL.md form, so that a skill's name is never a path. */
const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;
/** A call, only at the very beginning of a text, as a word of its own: `/tmp/x is full` requests nothing. */
const CALL = /^\/([a-z0-9][a-z0-9-]{0,63})(?=\s|$)/;

/** Whether a text can be the name of a skill: lower-case letters, digits and hyphens, at most 64. */
export function isSkillName(text: unknown): text is string {
  return typeof text === 'string' && NAME.test(text);
}

/** Returns the name of the skill that a message requests by beginning with `/name`; undefined for any other. */
export function skillAskedFor(body: string): string | undefined {
  return body.startsWith('/') ? CALL.exec(body)?.[1] : undefined;
}

/**
 * Describes the request of a skill in a few words.
 *
 * @param path of its SKILL.md; null if there is none of that name
 */
export function askedText({ name, path }: { name: string; path: string | null }): string {
  return `asks for skill ${name} (${path ?? 'there is none of that name'})`;
}
