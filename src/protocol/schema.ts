/** The most bytes of a JSON Schema in a message, as JSON in UTF-8 (talk.md). */
export const MAX_SCHEMA_BYTES = 16 * 1024;

/**
 * The JSON Schema in a message's header: a JSON object as text, since YAML is read here without types
 * (`minLength: 5` would be a word). Anything else means nothing.
 */
export function schemaIn(value: unknown): string | undefined {
  if (typeof value !== 'string' || Buffer.byteLength(value) > MAX_SCHEMA_BYTES) return undefined;
  try {
    const schema: unknown = JSON.parse(value);
    const isObject = typeof schema === 'object' && schema !== null && !Array.isArray(schema);
    return isObject ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Around the whole of a text: three backticks or more, with or without the word "json". */
const FENCED = /^(?<fence>`{3,})(?:json)?[ \t]*\r?\n(?<inside>[\s\S]*?)\r?\n?\k<fence>$/i;

/** What a run printed without the blanks around it, and without one code fence around all of it. */
export function unfenced(text: string): string {
  const whole = text.trim();
  return FENCED.exec(whole)?.groups?.['inside']?.trim() ?? whole;
}
