import { runInNewContext } from 'node:vm';
import type { OutputUnit } from '@cfworker/json-schema';
import type * as packages from './schema-packages.ts';
import { reasonOf } from '../errors.ts';
import { MAX_SCHEMA_BYTES, schemaIn, unfenced } from '../protocol/talk.ts';
import { parsed, shown, unreadable, type Parsed } from '../protocol/text/result.ts';
import { inLine } from '../protocol/text/structure.ts';

type Packages = typeof packages;
type Schema = ConstructorParameters<Packages['Validator']>[0];
type Draft = '4' | '7' | '2019-09' | '2020-12';

/**
 * Milliseconds that a check may take. A genuine one takes a few; the pattern of a schema that anybody may
 * have pushed can take for ever.
 */
const LIMIT_MS = 5000;

/** Result of a check: `impossible` when the schema itself is the cause. */
export type Fit =
  { kind: 'fits'; text: string } | { kind: 'misfit' | 'impossible'; detail: string };

/** Most errors that are listed. */
const MAX_NAMED = 5;
/** Most characters of an error. */
const MAX_ERROR = 200;
/** Deepest nesting of JSON that is checked: each level takes room on the stack. */
const MAX_DEPTH = 200;
/** Most bytes of JSON of which all errors are found; of more, only the first. */
const MAX_ALL_BYTES = 64 * 1024;

/**
 * Loads the validator. A caller that awaits it before a run can check the output, whatever is installed in
 * the meantime.
 */
export const checker = (): Promise<typeof packages> => import('./schema-packages.ts');

/**
 * Checks the output of a run against the JSON Schemas of the questions it answers (talk.md, "Answers for programs"). A
 * schema is hostile until checked: it is interpreted, never compiled, within {@link LIMIT_MS}, and a reference out of
 * it is not followed.
 *
 * @param schemas as `schemaIn` returns them
 * @returns for `fits` the JSON itself, without words and a code fence around it
 */
export async function fitOf(printed: string, schemas: readonly string[]): Promise<Fit> {
  const text = unfenced(printed);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { kind: 'misfit', detail: `stdout is not JSON: ${line(reasonOf(error))}` };
  }
  if (isDeeper(value, MAX_DEPTH))
    return { kind: 'misfit', detail: `stdout is JSON nested deeper than ${String(MAX_DEPTH)}` };
  const used = await checker();
  const most = Buffer.byteLength(text) <= MAX_ALL_BYTES ? MAX_NAMED : 1;
  try {
    for (const schema of schemas) {
      const errors = errorsOf(used, JSON.parse(schema) as object, value, most);
      if (errors.length > 0)
        return { kind: 'misfit', detail: `stdout does not fit the schema: ${errors.join('; ')}` };
    }
    return { kind: 'fits', text };
  } catch (error) {
    return { kind: 'impossible', detail: `the schema cannot be used: ${wordsOf(error)}` };
  }
}

/**
 * Returns the text of a JSON Schema in the form that a message carries.
 *
 * @param given the schema, as JSON text
 * @returns every problem because of which nothing could fit it, or its answer could not be checked
 */
export async function schemaText(given: string): Promise<Parsed<string>> {
  let schema: unknown;
  try {
    schema = JSON.parse(given);
  } catch (error) {
    return unreadable(`it is not JSON: ${line(reasonOf(error))}`);
  }
  const text = JSON.stringify(schema);
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_SCHEMA_BYTES)
    return unreadable(
      `it has ${String(bytes)} bytes as JSON without blanks, and a message takes ${String(MAX_SCHEMA_BYTES)}; leave out descriptions, or use $defs for what is there twice`,
    );
  if (schemaIn(text) === undefined)
    return unreadable(`it is ${shown(text)}, expected a JSON object such as {"type":"object"}`);
  const used = await checker();
  try {
    const draft = draftOf(schema as object);
    if (draft === undefined)
      return unreadable(
        `its $schema is ${shown((schema as Named).$schema)}, expected draft 4, 7, 2019-09 or 2020-12, or none`,
      );
    if (isDeeper(schema, MAX_DEPTH))
      return unreadable(`it is nested deeper than ${String(MAX_DEPTH)}`);
    const wrong = errorsOf(used, metaschema(used, draft), schema, MAX_NAMED);
    if (wrong.length > 0) return unreadable(`it is no JSON Schema: ${wrong.join('; ')}`);
    const lost = unresolved(used, schema as Schema);
    if (lost !== undefined) return unreadable(`its $ref ${shown(lost)} leads nowhere inside it`);
    // A reference that leads back to itself before it examines any part of a value fails for each of these.
    for (const value of SAMPLES) errorsOf(used, schema as object, value, 1);
    return parsed(text);
  } catch (error) {
    return unreadable(`it cannot be used: ${wordsOf(error)}`);
  }
}

/**
 * Finds the errors of a value, at most `most`, each on one line.
 *
 * @throws for a schema that cannot be used, or takes too long
 */
function errorsOf({ Validator }: Packages, schema: object, value: unknown, most: number): string[] {
  const check = (): string[] => {
    const { valid, errors } = new Validator(schema, draftOf(schema), most === 1).validate(value);
    if (valid) return [];
    return telling(errors.slice(0, MAX_WEIGHED))
      .slice(0, most)
      .map(({ instanceLocation: at, error }) => line(`${at.replace(/^#/, '') || '/'}: ${error}`));
  };
  // The timeout also ends code that is called from there, even within a pattern.
  return runInNewContext('check()', { check }, { timeout: LIMIT_MS }) as string[];
}

/** Most errors from which the telling ones are selected. */
const MAX_WEIGHED = 200;
/** Keywords whose errors say only that there is one inside. */
const AROUND = ['properties', 'items', 'prefixItems', 'allOf', '$ref', 'patternProperties'];

/** Selects the errors that name the mistake, rather than those about what contains it. */
function telling(errors: OutputUnit[]): OutputUnit[] {
  const inner = errors.filter(({ keyword }) => keyword !== 'false' && !AROUND.includes(keyword));
  const isOuter = ({ keyword, instanceLocation: at }: OutputUnit): boolean =>
    keyword === 'additionalProperties' &&
    inner.some(({ instanceLocation }) => instanceLocation.startsWith(`${at}/`));
  const found = inner.filter((error) => !isOuter(error));
  return found.length > 0 ? found : errors;
}

const DRAFTS: [RegExp, Draft][] = [
  [/draft-04/, '4'],
  [/draft-0[67]/, '7'],
  [/2019-09/, '2019-09'],
  [/2020-12/, '2020-12'],
];

interface Named {
  $schema?: unknown;
}

function draftOf(schema: object): Draft | undefined {
  const { $schema: named } = schema as Named;
  if (named === undefined) return '2020-12';
  return typeof named === 'string' ? DRAFTS.find(([form]) => form.test(named))?.[1] : undefined;
}

/** A value of each type. */
const SAMPLES = [null, true, 0, '', [null], { a: null }];

/** Whether a value of JSON has more levels than `most`. */
function isDeeper(value: unknown, most: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > most) return true;
    level = level.flatMap((one): unknown[] =>
      typeof one === 'object' && one !== null ? Object.values(one) : [],
    );
  }
  return false;
}

/**
 * Builds the schema of schemas: that of draft 7, whose keywords have the same form in the later ones, and the
 * later keywords that hold schemas. Draft 4 differs in the two that make a bound exclusive.
 */
function metaschema({ draft7 }: Packages, draft: Draft): object {
  const { properties, definitions } = draft7;
  const own = { $ref: '#' };
  const flag = { type: 'boolean' };
  const map = { type: 'object', additionalProperties: own };
  return {
    ...structuredClone(draft7),
    definitions: structuredClone(definitions),
    properties: {
      ...structuredClone(properties),
      $defs: map,
      dependentSchemas: map,
      prefixItems: { $ref: '#/definitions/schemaArray' },
      unevaluatedItems: own,
      unevaluatedProperties: own,
      ...(draft === '4' && { exclusiveMinimum: flag, exclusiveMaximum: flag }),
    },
  };
}

/** Finds the first `$ref` of a schema that names nothing inside it. */
function unresolved({ Validator }: Packages, schema: Schema): string | undefined {
  const { lookup } = new Validator(schema) as unknown as { lookup: Record<string, unknown> };
  for (const part of Object.values(lookup)) {
    if (typeof part !== 'object' || part === null) continue;
    const { $ref, __absolute_ref__: target } = part as Record<string, unknown>;
    if (typeof target === 'string' && typeof $ref === 'string' && !(target in lookup)) return $ref;
  }
  return undefined;
}

function wordsOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT')
    return `checking took more than ${String(LIMIT_MS / 1000)} s, because of a costly pattern or of uniqueItems for a long list`;
  // An error of another context is not an instance of this one's class.
  return (error as Partial<Error>).name === 'RangeError'
    ? 'a $ref in it leads back to itself without end'
    : line(reasonOf(error));
}

function line(text: string): string {
  return inLine(text.split('\n')[0] ?? '').slice(0, MAX_ERROR);
}
