import { formatDocument, parseDocumentText, type HeaderFields } from '../text/frontmatter.ts';
import { fileText } from '../message.ts';
import { isChannelId, isSender } from '../names.ts';
import { isOneLine } from '../text/one-line.ts';
import { parsed, shown, unreadable, type Parsed } from '../text/result.ts';
import { utcOf } from '../text/timestamp.ts';

const FILE = /^\d{8}T\d{9}Z-([0-9a-fA-F]{8,64})\.md$/;

/** The form of the names that {@link memoryFileAt} creates, for error messages about other names. */
export const MEMORY_FORM = 'YYYYMMDDTHHMMSSmmmZ-<hex>.md';

/** A shared note (protocol.md §9), in a file of `data/memories/`. */
export interface Memory {
  from: string;
  /** ISO 8601 UTC. */
  timestamp: string;
  /** The topic, on one line. */
  subject: string;
  /** `global` or a channel id. */
  scope: string;
  /** The file name of the memory this one replaces. */
  supersedes?: string;
  /** Other words by which it should be found; an empty list stands for an absent field. */
  alias: string[];
  /** Unknown fields, kept as they were read. */
  extra: HeaderFields;
  /** Markdown, byte for byte. */
  body: string;
}

const KNOWN = new Set(['from', 'timestamp', 'subject', 'scope', 'supersedes', 'alias']);

/** Whether a name is that of a memory file: `YYYYMMDDTHHMMSSmmmZ-<hex>.md`. */
export function isMemoryFile(name: unknown): name is string {
  return typeof name === 'string' && FILE.test(name);
}

/** The file name of a memory written at `at`; `suffix` as for messages. */
export function memoryFileAt(at: Date, suffix: string): string {
  return `${at.toISOString().replace(/[-:.]/g, '')}-${suffix}.md`;
}

/** The hex suffix of a memory's file name, by which it may be named if it is unique. */
export function memorySuffix(file: string): string {
  return FILE.exec(file)?.[1] ?? '';
}

/**
 * Parses a file of `data/memories/`. Limits are those of a message (protocol.md §2): at most 1 MiB,
 * UTF-8, YAML.
 */
export function parseMemoryFile(bytes: Uint8Array): Parsed<Memory> {
  const text = fileText(bytes);
  return text.ok ? parseMemory(text.value) : text;
}

/** Parses a memory, or returns every problem found in it. A missing scope means `global`. */
export function parseMemory(text: string): Parsed<Memory> {
  const document = parseDocumentText(text);
  if (!document.ok) return document;
  const { fields, body } = document.value;
  const { from, timestamp, subject, scope = 'global', supersedes } = fields;
  const problems: string[] = [];
  if (!isSender(from)) problems.push(`from is ${shown(from)}, expected a name`);
  const at = utcOf(timestamp) ?? timestamp;
  if (typeof at !== 'string' || Number.isNaN(Date.parse(at))) {
    problems.push(`timestamp is ${shown(timestamp)}, expected ISO 8601 UTC`);
  }
  if (typeof subject !== 'string' || subject === '') problems.push('subject is missing');
  if (scope !== 'global' && !isChannelId(scope)) {
    problems.push(`scope is ${shown(scope)}, expected global or a channel id`);
  }
  if (supersedes !== undefined && !isMemoryFile(supersedes)) {
    problems.push(`supersedes is ${shown(supersedes)}, expected the file name of a memory`);
  }
  const alias = words(fields['alias']);
  if (alias === undefined) {
    problems.push(`alias is ${shown(fields['alias'])}, expected a word or a list of them`);
  }
  if (problems.length > 0 || alias === undefined) return unreadable(...problems);
  return parsed({
    from: from as string,
    timestamp: at as string,
    subject: subject as string,
    scope: scope as string,
    ...(typeof supersedes === 'string' ? { supersedes } : {}),
    alias,
    extra: Object.fromEntries(Object.entries(fields).filter(([key]) => !KNOWN.has(key))),
    body,
  });
}

/** Formats a memory; `parseMemory` of the result returns it unchanged. */
export function formatMemory(memory: Memory): string {
  const { from, timestamp, subject, scope, supersedes, alias } = memory;
  const fields: HeaderFields = { from, timestamp, subject, scope };
  if (supersedes !== undefined) fields['supersedes'] = supersedes;
  if (alias.length > 0) fields['alias'] = alias.length === 1 ? alias[0] : [...alias];
  return formatDocument({ ...fields, ...memory.extra }, memory.body);
}

/**
 * The memories that are superseded (protocol.md §9), each with the newest one that replaces it; all
 * others are in force. A memory that is not among the given ones replaces nothing.
 *
 * Memories that supersede each other in a cycle would all be hidden, and a note would be lost.
 * Therefore nothing in the cycle replaces its newest member by file name, although a memory outside
 * may. So following the replacements from any memory leads to one that is in force. Apart from that
 * names decide nothing: a machine whose clock is slow may replace what was written by one whose
 * clock is fast.
 */
export function supersededBy(
  memories: ReadonlyMap<string, Pick<Memory, 'supersedes'>>,
): Map<string, string> {
  const ignored = closingLinks(memories);
  const by = new Map<string, string>();
  for (const [file, { supersedes }] of memories) {
    if (supersedes === undefined || !memories.has(supersedes) || ignored.has(file)) continue;
    const known = by.get(supersedes);
    if (known === undefined || known < file) by.set(supersedes, file);
  }
  return by;
}

/** For each cycle, the memory that supersedes the newest one in it. */
function closingLinks(memories: ReadonlyMap<string, Pick<Memory, 'supersedes'>>): Set<string> {
  const found = new Set<string>();
  const walked = new Set<string>();
  for (const start of memories.keys()) {
    const trail: string[] = [];
    let file: string | undefined = start;
    while (file !== undefined && memories.has(file) && !walked.has(file)) {
      walked.add(file);
      trail.push(file);
      file = memories.get(file)?.supersedes;
    }
    const begin = file === undefined ? -1 : trail.indexOf(file);
    if (begin < 0) continue;
    const cycle = trail.slice(begin);
    const newest = cycle.reduce(
      (latest, one, index) => (one > (cycle[latest] ?? '') ? index : latest),
      0,
    );
    // Each one supersedes the next, and the last one the first.
    found.add(cycle.at(newest - 1) ?? '');
  }
  return found;
}

function words(value: unknown): string[] | undefined {
  if (value === undefined || value === '') return [];
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.every(isOneLine) ? list : undefined;
}
