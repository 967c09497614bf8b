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

/** Characters of a text in which JSON is looked for among words. */
const MOST_LOOSE = 256 * 1024;

/** A code fence somewhere in a text. */
const FENCES = /^(`{3,})(?:json)?[ \t]*\r?\n([\s\S]*?)\r?\n?^\1[ \t]*$/gim;

/**
 * What a run printed without the blanks, the code fence and the words around it, if one JSON document is
 * left then; where there may be several, the whole text.
 */
export function unfenced(text: string): string {
  const whole = text.trim();
  const inside = FENCED.exec(whole)?.groups?.['inside']?.trim();
  const isOne = inside !== undefined && !/^`{3}/m.test(inside);
  if (isOne || isJson(whole) || whole.length > MOST_LOOSE) return inside ?? whole;
  const fenced = [...whole.matchAll(FENCES)].flatMap(([, , one = '']) =>
    isJson(one) ? [one.trim()] : [],
  );
  if (fenced.length > 0) return fenced.length === 1 ? (fenced[0] ?? whole) : whole;
  const begin = whole.search(/[[{]/);
  const among = whole.slice(begin, Math.max(whole.lastIndexOf('}'), whole.lastIndexOf(']')) + 1);
  return begin >= 0 && isJson(among) ? among : whole;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
