import { formatAddress, parseAddress, type Address } from './address.ts';
import { formatDocument, parseDocumentText, type HeaderFields } from './text/frontmatter.ts';
import { isName, isRelPath, isSender, isOrigin } from './layout.ts';
import { parsed, shown, unreadable, type Parsed } from './text/result.ts';
import { isSignature } from './signed.ts';
import { talkFieldsIn, talkHeader, type TalkFields } from './talk.ts';
import { utcOf } from './text/times.ts';

/** Most bytes of a message's file, in UTF-8, header included; a larger one is malformed (protocol.md §2). */
export const MAX_MESSAGE_BYTES = 1024 * 1024;

/** A message (protocol.md §2). Empty lists stand for absent `re` and `cause`. */
export interface Message extends TalkFields {
  from: string;
  to: Address[];
  type: string;
  /** As ISO 8601 in UTC; a value written without `T` or `Z` is completed. */
  timestamp: string;
  re: string[];
  cause: string[];
  /**
   * The messages of other channels being processed, each as `<channel id>/<relPath>`; absent if
   * there were none.
   */
  origin?: string[];
  tier?: string;
  /** Alias of the host whose dispatcher wrote it. */
  host?: string;
  /** Signature that proves its writer (`signed.ts`); in the file it is the header's last line. */
  sig?: string;
  /** Unknown fields, unchanged. */
  extra: HeaderFields;
  /** Markdown, byte for byte. */
  body: string;
}

/** A message located in its channel. */
export interface Located {
  relPath: string;
  message: Message;
  /**
   * Whether its writer signed it; undefined if nobody has pinned a key of that name here (trust.md), and if
   * it was not checked.
   */
  verified?: boolean;
}

const KNOWN = new Set(['from', 'to', 'type', 'timestamp', 're', 'tier', 'host', 'cause']);
const TIER = /^[^\s\p{C}][^\p{C}]{0,63}$/u;

/** Parses a message file; every problem found makes it malformed, never an exception. */
export function parseMessage(bytes: Uint8Array): Parsed<Message> {
  const text = fileText(bytes);
  if (!text.ok) return text;
  const document = parseDocumentText(text.value);
  return document.ok ? fromFields(document.value.fields, document.value.body) : document;
}

/** Returns the unchanged text of a file, unless it is larger than 1 MiB or not UTF-8 (protocol.md §2). */
export function fileText(bytes: Uint8Array): Parsed<string> {
  if (bytes.byteLength > MAX_MESSAGE_BYTES) {
    return unreadable(`larger than 1 MiB: ${String(bytes.byteLength)} bytes`);
  }
  try {
    return parsed(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return unreadable('not UTF-8');
  }
}

function fromFields(fields: HeaderFields, body: string): Parsed<Message> {
  const problems: string[] = [];
  const wrong = (field: string, expected: string): void => {
    const value = fields[field];
    problems.push(
      value === undefined
        ? `${field} is missing`
        : `${field} is ${shown(value)}, expected ${expected}`,
    );
  };
  const optional = (
    field: string,
    valid: (value: unknown) => boolean,
    expected: string,
  ): string | undefined => {
    const value = fields[field];
    if (value === undefined) return undefined;
    if (!valid(value)) wrong(field, expected);
    return value as string;
  };
  const { from, type, timestamp } = fields;
  if (!isSender(from)) wrong('from', 'a name');
  const to = addresses(fields['to']);
  if (to === undefined) wrong('to', 'a name, name@host, all, or a list of these');
  if (!isTier(type)) wrong('type', 'text');
  const at = utcOf(timestamp);
  if (at === undefined) wrong('timestamp', 'ISO 8601 UTC');
  const re = relPaths(fields['re']);
  if (re === undefined) wrong('re', 'a message path or a list of them');
  const cause = relPaths(fields['cause']);
  if (cause === undefined) wrong('cause', 'a message path or a list of them');
  const origin = originsIn(fields['origin']);
  const tier = optional('tier', isTier, 'a tier name');
  const host = optional('host', isName, 'a host alias');
  const talk = talkFieldsIn(fields);
  const sig = isSignature(fields['sig']) ? fields['sig'] : undefined;
  if (problems.length > 0 || !to || !re || !cause || at === undefined)
    return unreadable(...problems);
  return parsed({
    from: from as string,
    to,
    type: type as string,
    timestamp: at,
    re,
    cause,
    ...(origin === undefined ? {} : { origin }),
    ...(tier === undefined ? {} : { tier }),
    ...(host === undefined ? {} : { host }),
    ...talk,
    ...(sig === undefined ? {} : { sig }),
    extra: Object.fromEntries(
      Object.entries(fields).filter(
        ([key]) =>
          !KNOWN.has(key) &&
          (key !== 'origin' || origin === undefined) &&
          (key !== 'sig' || sig === undefined) &&
          !Object.hasOwn(talk, key),
      ),
    ),
    body,
  });
}

/** Formats a message; `parseMessage` of the result returns it unchanged. */
export function formatMessage(message: Message): string {
  const one = (list: readonly string[]): unknown => (list.length === 1 ? list[0] : [...list]);
  const fields: HeaderFields = {
    from: message.from,
    to: one(message.to.map(formatAddress)),
    type: message.type,
    timestamp: message.timestamp,
  };
  if (message.re.length > 0) fields['re'] = one(message.re);
  if (message.cause.length > 0) fields['cause'] = one(message.cause);
  if (message.origin !== undefined) fields['origin'] = one(message.origin);
  if (message.tier !== undefined) fields['tier'] = message.tier;
  if (message.host !== undefined) fields['host'] = message.host;
  const header = { ...fields, ...talkHeader(message), ...message.extra };
  const { sig, body } = message;
  return formatDocument(sig === undefined ? header : { ...header, sig }, body);
}

/** Whether a value is a label of a tier or type: printable, on one line, at most 64 characters. */
export function isTier(value: unknown): value is string {
  return typeof value === 'string' && TIER.test(value);
}

function addresses(value: unknown): Address[] | undefined {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  const found: Address[] = [];
  for (const item of list) {
    const address = typeof item === 'string' ? parseAddress(item) : undefined;
    if (address?.ok !== true) return undefined;
    found.push(address.value);
  }
  return found.length > 0 ? found : undefined;
}

function relPaths(value: unknown): string[] | undefined {
  if (value === undefined) return [];
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.length > 0 && list.every(isRelPath) ? list : undefined;
}

/**
 * Parses a link into other channels. A plain 6.0 reader does not know this field, so an unreadable value
 * leaves the message valid, and the field is kept like any unknown one.
 */
function originsIn(value: unknown): string[] | undefined {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.length > 0 && list.every(isOrigin) ? list : undefined;
}
