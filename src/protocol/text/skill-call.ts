/** The names of the open SKILL.md form, so that nothing of a path can be a skill's name. */
const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;
/** Only at the very beginning of a text, as a word of its own: `/tmp/x is full` asks for nothing. */
const CALL = /^\/([a-z0-9][a-z0-9-]{0,63})(?=\s|$)/;

/** Whether a text can be the name of a skill: lower-case letters, digits and hyphens, at most 64. */
export function isSkillName(text: unknown): text is string {
  return typeof text === 'string' && NAME.test(text);
}

/** The name of the skill that a message asks for by beginning with `/name`; undefined for any other. */
export function skillAskedFor(body: string): string | undefined {
  return body.startsWith('/') ? CALL.exec(body)?.[1] : undefined;
}

/** What a message asks for, in a few words. @param path of its SKILL.md; null where there is none of that name */
export function askedText({ name, path }: { name: string; path: string | null }): string {
  return `asks for skill ${name} (${path ?? 'there is none of that name'})`;
}
