import { formatDocument, parseDocumentText, type HeaderFields } from '../text/frontmatter.ts';
import { fileText } from '../message.ts';
import { isMemoryFile, MEMORY_FILE, MEMORY_KINDS, type MemoryKind } from './memory-names.ts';
import { isChannelId, isName, isSender, isOrigin } from '../layout.ts';
import { isOneLine } from '../text/quoted.ts';
import { parsed, shown, unreadable, type Parsed } from '../text/result.ts';
import { isoOf, utcOf } from '../text/times.ts';

const TIME = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{3})Z/;

/** The form of the names that {@link memoryFileAt} creates, for error messages about other names. */
export const MEMORY_FORM = 'YYYYMMDDTHHMMSSmmmZ-<hex>.md';

export { isMemoryFile, MEMORY_KINDS, type MemoryKind };

/** Changes of an existing note; a note without this field was newly written. */
export const MEMORY_CHANGES = ['forget', 'restore', 'alias'] as const;
export type MemoryChange = (typeof MEMORY_CHANGES)[number];

/** Most memories that one replaces, and most messages that one covers. */
export const MAX_SUPERSEDED = 100;
export const MAX_COVERED = 500;

/** A shared note (protocol.md §9), in a file of `data/memories/`. */
export interface Memory {
  from: string;
  /** ISO 8601 UTC. */
  timestamp: string;
  /** The topic, on one line. */
  subject: string;
  /** `global`, a channel id, or `actor:<name>`. */
  scope: string;
  /** File names of the memories this one replaces; the first is in the field of plain 6.0. */
  supersedes: string[];
  /** Other words by which it should be found; an empty list stands for an absent field. */
  alias: string[];
  /** Name under which it can be rewritten; of one name and scope at most one is in force. */
  name?: string;
  /** Absent for a `note`. */
  kind?: Exclude<MemoryKind, 'note'>;
  /** Kind of change that it makes; `forget`: it only ends those it supersedes. */
  change?: MemoryChange;
  /** Author of the change, if `from` and `timestamp` are still those of the text. */
  changedBy?: string;
  /** The messages that it summarizes, as `<channel id>/<relPath>`. */
  covers?: string[];
  /** Unknown fields, unchanged. */
  extra: HeaderFields;
  /** Markdown, byte for byte. */
  body: string;
}

const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;

/** Whether a text is the name of a memory: lower-case letters, digits and hyphens, at most 64. */
export function isMemoryName(text: unknown): text is string {
  return typeof text === 'string' && NAME.test(text);
}

/** Returns the scope of the notes for one actor. */
export function actorScope(actor: string): string {
  return `${ACTOR}${actor}`;
}

const ACTOR = 'actor:';

/** Whether a scope is that of one actor: `actor:<name>`. */
export function isActorScope(scope: unknown): scope is string {
  return typeof scope === 'string' && scope.startsWith(ACTOR) && isName(scope.slice(ACTOR.length));
}

function isScope(scope: unknown): scope is string {
  return scope === 'global' || isChannelId(scope) || isActorScope(scope);
}

/** Returns the file name of a memory written at `at`; `suffix` as for messages. */
export function memoryFileAt(at: Date, suffix: string): string {
  return `${at.toISOString().replace(/[-:.]/g, '')}-${suffix}.md`;
}

/**
 * Returns the time at which a memory was written, according to its file name: ISO 8601 in UTC, even if there
 * is no such time.
 */
export function memoryTime(file: string): string {
  return file.slice(0, 19).replace(TIME, '$1-$2-$3T$4:$5:$6.$7Z');
}

/** Returns the hex suffix of a memory's file name, by which it may be named if it is unique. */
export function memorySuffix(file: string): string {
  return MEMORY_FILE.exec(file)?.[1] ?? '';
}

/**
 * Parses a file of `data/memories/`. Limits are those of a message (protocol.md §2): at most 1 MiB,
 * UTF-8, YAML.
 */
export function parseMemoryFile(bytes: Uint8Array): Parsed<Memory> {
  const text = fileText(bytes);
  return text.ok ? parseMemory(text.value) : text;
}

/**
 * Parses a memory, or returns every problem found in it. A missing scope means `global`. Fields unknown to
 * plain 6.0 whose value is not of the form defined here are kept as unknown ones.
 */
export function parseMemory(text: string): Parsed<Memory> {
  const document = parseDocumentText(text);
  if (!document.ok) return document;
  const { fields, body } = document.value;
  const { from, timestamp, subject, scope = 'global' } = fields;
  const problems: string[] = [];
  if (!isSender(from)) problems.push(`from is ${shown(from)}, expected a name`);
  const at = utcOf(timestamp) ?? isoOf(timestamp);
  if (at === undefined) {
    problems.push(`timestamp is ${shown(timestamp)}, expected ISO 8601 UTC`);
  }
  if (typeof subject !== 'string' || subject === '') problems.push('subject is missing');
  if (!isScope(scope)) {
    problems.push(`scope is ${shown(scope)}, expected global, a channel id or actor:<name>`);
  }
  const replaced = replacedIn(fields, problems);
  const alias = words(fields['alias']);
  if (alias === undefined) {
    problems.push(`alias is ${shown(fields['alias'])}, expected a word or a list of them`);
  }
  if (problems.length > 0 || alias === undefined || at === undefined)
    return unreadable(...problems);
  const own = ownFields(fields);
  const known = new Set([...KNOWN, ...replaced.fields, ...Object.keys(own.fields)]);
  return parsed({
    from: from as string,
    timestamp: at,
    subject: subject as string,
    scope: scope as string,
    supersedes: replaced.files,
    alias,
    ...own.values,
    extra: Object.fromEntries(Object.entries(fields).filter(([key]) => !known.has(key))),
    body,
  });
}

const KNOWN = ['from', 'timestamp', 'subject', 'scope', 'supersedes', 'alias'];
/** Field for all but the first, since readers of plain 6.0 expect one file name in `supersedes`. */
const ALSO = 'supersedes_also';

/** Returns the memories that a memory replaces, and the fields besides `supersedes` that list them. */
function replacedIn(
  { supersedes, [ALSO]: also }: HeaderFields,
  problems: string[],
): { files: string[]; fields: string[] } {
  const none = { files: [], fields: [] };
  const first = filesIn(supersedes);
  if (first === undefined) {
    problems.push(`supersedes is ${shown(supersedes)}, expected the file name of a memory`);
    return none;
  }
  const more = filesIn(also);
  const files = [...new Set([...first, ...(more ?? [])])];
  if (files.length > MAX_SUPERSEDED) {
    problems.push(
      `supersedes names ${String(files.length)} memories, at most ${String(MAX_SUPERSEDED)} are allowed`,
    );
    return none;
  }
  return { files, fields: more === undefined ? [] : [ALSO] };
}

function filesIn(value: unknown): string[] | undefined {
  if (value === undefined) return [];
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.every(isMemoryFile) ? list : undefined;
}

type OwnValues = Pick<Memory, 'name' | 'kind' | 'change' | 'changedBy' | 'covers'>;

/** Parses the fields unknown to plain 6.0, as far as their values are valid. */
function ownFields(fields: HeaderFields): { values: OwnValues; fields: HeaderFields } {
  const { name, kind, change, changed_by: changedBy, covers } = fields;
  const isKind = MEMORY_KINDS.find((one) => one === kind);
  const isChange = MEMORY_CHANGES.find((one) => one === change);
  const covered = messagesIn(covers);
  const values: OwnValues = {
    ...(isMemoryName(name) && { name }),
    ...(isKind !== undefined && isKind !== 'note' && { kind: isKind }),
    ...(isChange !== undefined && { change: isChange }),
    ...(isSender(changedBy) && { changedBy }),
    ...(covered !== undefined && { covers: covered }),
  };
  return { values, fields: { ...(isKind === 'note' && { kind }), ...headerOf(values) } };
}

function messagesIn(value: unknown): string[] | undefined {
  const list: unknown[] = Array.isArray(value) ? value : [];
  const isCount = list.length > 0 && list.length <= MAX_COVERED;
  return isCount && list.every(isOrigin) ? list : undefined;
}

function headerOf({ name, kind, change, changedBy, covers }: OwnValues): HeaderFields {
  return {
    ...(name !== undefined && { name }),
    ...(kind !== undefined && { kind }),
    ...(change !== undefined && { change }),
    ...(changedBy !== undefined && { changed_by: changedBy }),
    ...(covers !== undefined && { covers }),
  };
}

/** Formats a memory; `parseMemory` of the result returns it unchanged. */
export function formatMemory(memory: Memory): string {
  const { from, timestamp, subject, scope, supersedes, alias } = memory;
  const fields: HeaderFields = { from, timestamp, subject, scope };
  const [first, ...also] = supersedes;
  if (first !== undefined) fields['supersedes'] = first;
  if (also.length > 0) fields[ALSO] = also;
  if (alias.length > 0) fields['alias'] = alias.length === 1 ? alias[0] : [...alias];
  return formatDocument({ ...fields, ...headerOf(memory), ...memory.extra }, memory.body);
}

function words(value: unknown): string[] | undefined {
  if (value === undefined || value === '') return [];
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.every(isOneLine) ? list : undefined;
}
