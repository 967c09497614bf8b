import { shown } from '../../protocol/text/result.ts';
import type { z as Zod } from './sdk.ts';

/** The arguments of a call as a tool takes them. */
export interface Taken {
  members: Record<string, unknown>;
  /** What was passed over, in words. */
  notes: string[];
}

/**
 * Takes arguments as clients and models send them: null and empty text for what is left out, lists, numbers and
 * booleans as text, numbers in the place of text, and members of their own. What a member means is never guessed:
 * it is taken in another form only if its schema refuses the one that was given.
 */
export function takenOf(input: Zod.ZodObject, given: unknown): Taken | undefined {
  const all = given ?? {};
  if (typeof all !== 'object' || Array.isArray(all)) return undefined;
  const names = Object.keys(input.shape);
  const unknown = Object.keys(all).filter((name) => !names.includes(name));
  const members: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(all)) {
    const schema = input.shape[name] as Zod.ZodType | undefined;
    if (schema === undefined || (isEmpty(value) && schema.safeParse(undefined).success)) continue;
    members[name] = fitting(schema, value);
  }
  const notes = unknown.map((name) => `${shown(name)} was passed over: there is no such argument`);
  return { members, notes };
}

function isEmpty(value: unknown): boolean {
  return value === null || value === '';
}

/** The value in the first form that a schema takes, else as it is. */
function fitting(schema: Zod.ZodType, value: unknown): unknown {
  const forms = [value, ...otherForms(value)];
  return forms.find((form) => schema.safeParse(form).success) ?? value;
}

/** What a text may stand for, a value in JSON or the only one of a list; and the text for a number. */
function otherForms(value: unknown): unknown[] {
  if (typeof value === 'number' || typeof value === 'boolean') return [String(value)];
  if (typeof value !== 'string') return [];
  // Python writes them so.
  const text = /^(?:True|False)$/.test(value) ? value.toLowerCase() : value;
  try {
    return [JSON.parse(text), [value]];
  } catch {
    return [[value]];
  }
}
