import { readFileSync } from 'node:fs';

export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  anyOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean;
  items?: Schema;
  format?: string;
}

interface Operation {
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

export interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

export function readOpenApi(): OpenApi {
  const file = new URL('../../docs/openapi.json', import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')) as OpenApi;
}

/**
 * The places where a value does not match a schema, for the part of JSON Schema that
 * docs/openapi.json uses.
 */
export function problemsOf(api: OpenApi, schema: Schema, value: unknown, at = '$'): string[] {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? '';
    const target = api.components.schemas[name];
    return target === undefined ? [`${at}: no ${name}`] : problemsOf(api, target, value, at);
  }
  const problems = (schema.allOf ?? []).flatMap((part) => problemsOf(api, part, value, at));
  if (schema.anyOf?.every((part) => problemsOf(api, part, value, at).length > 0) === true)
    problems.push(`${at}: none of the choices: ${JSON.stringify(value)}`);
  const types = [schema.type ?? []].flat();
  if (types.length > 0 && !types.includes(typeOf(value)))
    return [...problems, `${at}: ${typeOf(value)}, not ${types.join(' or ')}`];
  if (schema.enum?.includes(value) === false)
    problems.push(`${at}: ${JSON.stringify(value)} is not one of ${JSON.stringify(schema.enum)}`);
  if (schema.format === 'date-time' && typeof value === 'string' && Number.isNaN(Date.parse(value)))
    problems.push(`${at}: ${value} is no time`);
  if (Array.isArray(value) && schema.items !== undefined) {
    const { items } = schema;
    problems.push(
      ...value.flatMap((item, index) => problemsOf(api, items, item, `${at}[${String(index)}]`)),
    );
  }
  if (schema.properties === undefined || typeof value !== 'object' || value === null)
    return problems;
  const fields = value as Record<string, unknown>;
  for (const name of schema.required ?? [])
    if (!Object.hasOwn(fields, name)) problems.push(`${at}.${name} is missing`);
  for (const [name, field] of Object.entries(fields)) {
    const part = schema.properties[name];
    if (part !== undefined) problems.push(...problemsOf(api, part, field, `${at}.${name}`));
    else if (schema.additionalProperties === false) problems.push(`${at}.${name} is not described`);
  }
  return problems;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
