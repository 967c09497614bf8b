import { CrosstalkError } from '../errors.ts';
import { isRelPath, isSender } from '../protocol/layout.ts';
import { shown } from '../protocol/text/result.ts';
import { parseSince } from '../protocol/text/times.ts';
import type {
  WebChannelRequest,
  WebDecideRequest,
  WebFile,
  WebSeenRequest,
  WebSendRequest,
  WebUpload,
} from '../api/api.ts';
import { isSha256 } from '../protocol/attached.ts';

/** A kind of parameter: its description in docs/openapi.json, and its parser. */
interface Parameter {
  /** A part of a JSON schema. */
  schema: { type: 'string'; format?: 'date-time' } | ({ type: 'integer' } & Bounds);
  required?: true;
  /** Set when it is neither in the path nor in the query. */
  in?: 'header';
  /** @throws CrosstalkError `usage` for any other value */
  read: (said: string | undefined, name: string, now: () => Date) => unknown;
}

export type Parameters = Readonly<Record<string, Parameter>>;
export type ValueOf<P extends Parameter> = ReturnType<P['read']>;

interface Bounds {
  minimum: number;
  maximum: number;
  default?: number;
}

/** A parameter with any text, which may be empty. */
export const text = {
  schema: { type: 'string' },
  read: (said: string | undefined) => said,
} as const satisfies Parameter;

export const header = { ...text, in: 'header' } as const satisfies Parameter;

/** A parameter whose text must be given. */
export const needed = {
  schema: { type: 'string' },
  required: true,
  read(said = '', name: string): string {
    if (said.trim() !== '') return said;
    throw new CrosstalkError('usage', `the parameter ${name} is missing; add ?${name}=…`);
  },
} as const satisfies Parameter;

/** A part of the path, which every request to the route has. */
export const part = {
  schema: { type: 'string' },
  required: true,
  read: (said = '') => said,
} as const satisfies Parameter;

/** A time in the format of browsers. */
export const time = {
  schema: { type: 'string', format: 'date-time' },
  read(said = '', name: string): Date | undefined {
    if (said === '') return undefined;
    const at = new Date(said);
    if (/^\d{4}-\d{2}-\d{2}T/.test(said) && !Number.isNaN(at.getTime())) return at;
    throw new CrosstalkError(
      'usage',
      `${name} is ${shown(said)}, expected a time as 2026-06-09T19:00:00Z`,
    );
  },
} as const satisfies Parameter;

/** Creates a parameter with a fixed set of values. */
export function oneOf<W extends string>(words: readonly W[]) {
  return {
    schema: { type: 'string' },
    read(said = '', name: string): W | undefined {
      if (said === '') return undefined;
      const found = words.find((word) => word === said);
      if (found !== undefined) return found;
      throw new CrosstalkError(
        'usage',
        `${name} is ${shown(said)}, expected one of: ${words.join(', ')}`,
      );
    },
  } as const satisfies Parameter;
}

/** A moment in the format of `--since`. */
export const moment = {
  schema: { type: 'string' },
  read(said = '', name: string, now: () => Date): Date | undefined {
    if (said === '') return undefined;
    const at = parseSince(said, now());
    if (at !== undefined) return at;
    throw new CrosstalkError(
      'usage',
      `${name} is ${shown(said)}, expected a date or so long ago: 2026-06-09, 2h, 3d, today`,
    );
  },
} as const satisfies Parameter;

/** A name, for example the one whose unread messages are counted. */
export const sender = {
  schema: { type: 'string' },
  read(said = '', name: string): string | undefined {
    if (said === '') return undefined;
    if (isSender(said)) return said;
    throw new CrosstalkError('usage', `${name} is ${shown(said)}, expected a name`);
  },
} as const satisfies Parameter;

/** Creates a parameter with a whole number. */
export function whole<const B extends Bounds>(
  bounds: B,
): {
  schema: { type: 'integer' } & B;
  read: (
    said: string | undefined,
    name: string,
  ) => B extends { default: number } ? number : number | undefined;
} {
  const { minimum, maximum, default: otherwise } = bounds;
  const read = (said = '', name: string): number | undefined => {
    if (said === '') return otherwise;
    const value = Number(said);
    if (/^\d+$/.test(said) && value >= minimum && value <= maximum) return value;
    throw new CrosstalkError(
      'usage',
      `${name} is ${shown(said)}, expected a number from ${String(minimum)} to ${String(maximum)}`,
    );
  };
  return { schema: { type: 'integer', ...bounds }, read: read as never };
}

/** The path of a message in its channel. */
export const relPath = {
  schema: { type: 'string' },
  read(said = '', name: string): string | undefined {
    if (said === '') return undefined;
    if (isRelPath(said)) return said;
    throw new CrosstalkError(
      'usage',
      `${name} is ${shown(said)}, expected the path of a message: YYYY/MM/DD/HHMMSSmmmZ-<hex>.md`,
    );
  },
} as const satisfies Parameter;

/**
 * Returns the only one of these that was given.
 *
 * @throws CrosstalkError `usage` for several
 */
export function only<K extends string>(given: readonly K[]): K | undefined {
  if (given.length > 1) throw new CrosstalkError('usage', `give only one of ${given.join(', ')}`);
  return given[0];
}

const SEND_FIELDS: Readonly<Record<keyof WebSendRequest, true>> = {
  to: true,
  body: true,
  channel: true,
  from: true,
  tier: true,
  re: true,
  cancels: true,
  about: true,
  files: true,
  option: true,
  options: true,
  schema: true,
};

/** The fields that are not text. */
const LISTS: readonly string[] = ['files', 'options'] satisfies (keyof WebSendRequest)[];

/**
 * Parses the body of a request that sends.
 *
 * @throws CrosstalkError `usage` for an invalid one
 */
export function sendRequest(value: unknown): WebSendRequest {
  const fields = Object.entries(typeof value === 'object' && value !== null ? value : {});
  for (const [key, field] of fields) {
    if (!Object.hasOwn(SEND_FIELDS, key))
      throw new CrosstalkError(
        'usage',
        `${shown(key)} is none of ${Object.keys(SEND_FIELDS).join(', ')}`,
      );
    if (!LISTS.includes(key) && typeof field !== 'string')
      throw new CrosstalkError('usage', `${key} is ${briefly(field)}, expected text`);
  }
  const { files, options, ...request } = Object.fromEntries(fields) as Partial<
    Record<string, string>
  >;
  const { to = '', body = '', ...said } = request;
  const rest = Object.entries(said).filter(([, field]) => field !== '');
  return {
    ...Object.fromEntries(rest),
    ...(files !== undefined && { files: fileRefs(files) }),
    ...(options !== undefined && { options: optionTexts(options) }),
    ...{ to, body },
  };
}

function optionTexts(value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  if (list.every((item) => typeof item === 'string')) return list;
  throw new CrosstalkError('usage', 'options is no list of texts');
}

function fileRefs(value: unknown): { sha256: string; name: string }[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.map((item) => {
    const { sha256, name } = (typeof item === 'object' && item ? item : {}) as Partial<WebFile>;
    if (isSha256(sha256) && typeof name === 'string') return { sha256, name };
    throw new CrosstalkError('usage', 'files is no list of { sha256, name }');
  });
}

/**
 * Parses the body of a request that names messages.
 *
 * @throws CrosstalkError `usage` for an invalid one
 */
export function seenRequest(value: unknown): WebSeenRequest {
  const { messages } = (typeof value === 'object' && value ? value : {}) as Partial<WebSeenRequest>;
  if (Array.isArray(messages) && messages.every((one) => typeof one === 'string'))
    return { messages };
  throw new CrosstalkError('usage', 'the body is no { messages }, a list of texts');
}

/**
 * Parses the body of a request that uploads a file.
 *
 * @throws CrosstalkError `usage` for an invalid one
 */
export function uploadRequest(value: unknown): WebUpload {
  const { name, base64 } = (typeof value === 'object' && value ? value : {}) as Partial<WebUpload>;
  if (typeof name === 'string' && typeof base64 === 'string') return { name, base64 };
  throw new CrosstalkError('usage', 'the body is no { name, base64 }');
}

/**
 * Parses the body of a request that makes a channel.
 *
 * @throws CrosstalkError `usage` for an invalid one
 */
export function channelRequest(value: unknown): WebChannelRequest {
  const given = (typeof value === 'object' && value ? value : {}) as Partial<WebChannelRequest>;
  const { name, parent = '', description = '' } = given;
  if ([name, parent, description].every((one) => typeof one === 'string'))
    return {
      name: name ?? '',
      ...(parent !== '' && { parent }),
      ...(description !== '' && { description }),
    };
  throw new CrosstalkError('usage', 'the body is no { name, parent?, description? } of texts');
}

/** Describes a JSON value that is not text; a nested one may be too deep to be formatted again. */
function briefly(value: unknown): string {
  if (typeof value !== 'object' || value === null) return shown(value);
  return Array.isArray(value) ? 'a list' : 'an object';
}

/**
 * Parses the body of a request that decides.
 *
 * @throws CrosstalkError `usage` for an invalid one
 */
export function decideRequest(value: unknown): WebDecideRequest {
  const fields = typeof value === 'object' && value !== null ? value : {};
  const { message, decision, note, digest } = fields as Record<string, unknown>;
  const isDecision = decision === 'approve' || decision === 'deny';
  const isNote = note === undefined || typeof note === 'string';
  if (typeof message === 'string' && typeof digest === 'string' && isDecision && isNote)
    return { message, decision, digest, ...(note !== undefined && { note }) };
  throw new CrosstalkError(
    'usage',
    'a decision has the texts message, decision (approve or deny), digest and, if it is wanted, note',
  );
}
