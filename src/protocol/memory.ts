import { formatDocument, parseDocumentText, type Fields } from './frontmatter.ts';
import { isChannelId, isName } from './names.ts';
import { parsed, shown, unreadable, type Parsed } from './result.ts';

const FILE = /^\d{8}T\d{9}Z-[0-9a-f]{8,64}\.md$/;

/** A shared note (protocol.md §9), in a file of `data/memories/`. */
export interface Memory {
  from: string;
  /** ISO 8601 UTC. */
  timestamp: string;
  subject: string;
  /** `global` or a channel id. */
  scope: string;
  /** The file name of the memory this one replaces. */
  supersedes?: string;
  extra: Fields;
  body: string;
}

const KNOWN = new Set(['from', 'timestamp', 'subject', 'scope', 'supersedes']);

/** Whether a name is that of a memory file: `YYYYMMDDTHHMMSSmmmZ-<hex>.md`. */
export function isMemoryFile(name: unknown): name is string {
  return typeof name === 'string' && FILE.test(name);
}

/** The file name of a memory written at `at`; `suffix` as for messages. */
export function memoryFileAt(at: Date, suffix: string): string {
  return `${at.toISOString().replace(/[-:.]/g, '')}-${suffix}.md`;
}

/** Reads a memory, or says every problem found in it. A missing scope means `global`. */
export function parseMemory(text: string): Parsed<Memory> {
  const document = parseDocumentText(text);
  if (!document.ok) return document;
  const { fields, body } = document.value;
  const { from, timestamp, subject, scope = 'global', supersedes } = fields;
  const problems: string[] = [];
  if (!isName(from)) problems.push(`from is ${shown(from)}, expected a name`);
  if (typeof timestamp !== 'string' || Number.isNaN(Date.parse(timestamp))) {
    problems.push(`timestamp is ${shown(timestamp)}, expected ISO 8601 UTC`);
  }
  if (typeof subject !== 'string' || subject === '') problems.push('subject is missing');
  if (scope !== 'global' && !isChannelId(scope)) {
    problems.push(`scope is ${shown(scope)}, expected global or a channel id`);
  }
  if (supersedes !== undefined && !isMemoryFile(supersedes)) {
    problems.push(`supersedes is ${shown(supersedes)}, expected the file name of a memory`);
  }
  if (problems.length > 0) return unreadable(...problems);
  return parsed({
    from: from as string,
    timestamp: timestamp as string,
    subject: subject as string,
    scope: scope as string,
    ...(typeof supersedes === 'string' ? { supersedes } : {}),
    extra: Object.fromEntries(Object.entries(fields).filter(([key]) => !KNOWN.has(key))),
    body,
  });
}

/** Writes a memory; `parseMemory` of the result gives it back unchanged. */
export function formatMemory(memory: Memory): string {
  const { from, timestamp, subject, scope, supersedes } = memory;
  const fields: Fields = { from, timestamp, subject, scope };
  if (supersedes !== undefined) fields['supersedes'] = supersedes;
  return formatDocument({ ...fields, ...memory.extra }, memory.body);
}

/** The memories in force: those that no other one supersedes. */
export function current(memories: ReadonlyMap<string, Memory>): Map<string, Memory> {
  const gone = new Set([...memories.values()].map(({ supersedes }) => supersedes));
  return new Map([...memories].filter(([file]) => !gone.has(file)));
}
