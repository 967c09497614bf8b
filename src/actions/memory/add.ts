import { CrosstalkError } from '../../errors.ts';
import {
  isMemoryName,
  MAX_SUPERSEDED,
  MEMORY_KINDS,
  type Memory,
  type MemoryKind,
  formatMemory,
  memoryFileAt,
  parseMemory,
} from '../../protocol/files/memory.ts';
import { namedHeads } from '../../protocol/files/memory-links.ts';
import { isOneLine } from '../../protocol/text/quoted.ts';
import { shown } from '../../protocol/text/result.ts';
import { refreshOrNote, type Context } from '../context.ts';
import { readMemories, resolveMemory, type Memories, type StoredMemory } from './memories.ts';
import { resolveScope } from './list.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { memoryFile, isName } from '../../protocol/layout.ts';
import { MAX_MESSAGE_BYTES } from '../../protocol/message.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import { deliverOrNote, type Delivered } from '../deliver.ts';

export interface MemoryInput {
  subject: string;
  body: string;
  /** `global`, `actor:<name>`, or a channel in any form of its name. */
  scope: string;
  /** The memories that this one replaces: file names, unique hex suffixes or names. */
  supersedes: readonly string[];
  alias: readonly string[];
  /** The name of the memory, which replaces others of this name in its scope. */
  name?: string;
  /** One of {@link MEMORY_KINDS}; `note` by default. */
  kind?: string;
  /** The messages that it summarizes, as `<channel id>/<relPath>`. */
  covers?: readonly string[];
  from?: string;
  /** Whether a person releases it although it seems to contain a secret; a run cannot. */
  allowSecret?: boolean;
  login: string;
}

/**
 * Writes a shared note (protocol.md §9) in a commit of its own.
 *
 * @throws CrosstalkError `usage` for invalid input, and the errors of resolving the scope and the
 *   superseded memories; nothing is written then
 */
export async function addMemory(context: Context, input: MemoryInput): Promise<AddedMemory> {
  const kind = assertInput(input);
  const { name, covers = [] } = input;
  const from = resolveFrom(context, input.from, input.login);
  // Memories that others have written under the name in the meantime must be replaced too.
  if (name !== undefined) await refreshOrNote(context);
  const { scope, supersedes } = await withNews(context, async () => {
    const into = await resolveScope(context, input.scope);
    return { scope: into, supersedes: await replaced(context, input, into) };
  });
  const at = context.now();
  const memory: Memory = {
    from,
    timestamp: at.toISOString(),
    subject: input.subject,
    scope,
    supersedes,
    alias: [...new Set(input.alias)],
    ...(name !== undefined && { name }),
    ...(kind !== 'note' && { kind }),
    ...(covers.length > 0 && { covers: [...covers] }),
    extra: {},
    body: input.body,
  };
  return writeMemory(context, memory, { at, by: from, allowSecret: input.allowSecret === true });
}

/** Pattern of texts that are looked up as a suffix of a file name. */
const SUFFIX = /^[0-9a-f]{4,}$/;

function assertInput({ subject, body, alias, name, kind = 'note' }: MemoryInput): MemoryKind {
  if (!isOneLine(subject)) {
    throw new CrosstalkError(
      'usage',
      `--subject is ${shown(subject)}, expected one line that says what the note is about; the rest goes into the text`,
    );
  }
  for (const word of alias) {
    if (isOneLine(word)) continue;
    throw new CrosstalkError(
      'usage',
      `--alias is ${shown(word)}, expected a word under which the note should be found; give several as --alias <word> --alias <word>`,
    );
  }
  if (name !== undefined && (!isMemoryName(name) || SUFFIX.test(name))) {
    const why = isMemoryName(name) ? ', which reads like the suffix of a file name' : '';
    throw new CrosstalkError(
      'usage',
      `--name is ${shown(name)}${why}; expected lower-case letters, digits and hyphens, at most 64, such as release-day`,
    );
  }
  const known = MEMORY_KINDS.find((one) => one === kind);
  if (known === undefined) {
    throw new CrosstalkError(
      'usage',
      `--kind is ${shown(kind)}, expected one of ${MEMORY_KINDS.join(', ')}`,
    );
  }
  if (body.trim() === '') {
    throw new CrosstalkError(
      'usage',
      'the note is empty; give its text as an argument, on stdin, or with --file <path>',
    );
  }
  return known;
}

/**
 * Repeats work after a fetch only if it fails with the local data; the push builds on the remote's tip
 * anyway.
 */
async function withNews<T>(context: Context, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof CrosstalkError)) throw error;
    await refreshOrNote(context);
    return work();
  }
}

/** Returns the file names of the memories that a note replaces: those that it lists, and those of its name. */
async function replaced(
  context: Context,
  { supersedes, name }: MemoryInput,
  scope: string,
): Promise<string[]> {
  if (supersedes.length === 0 && name === undefined) return [];
  const all = await readMemories(context, { bodies: false });
  const old = supersedes.map((given) => resolveMemory(all, given));
  for (const { file, superseded_by: by } of old)
    if (by !== null)
      context.note(
        `${file} is superseded already, by ${by}; that one stays in force beside this one`,
      );
  return withNamed(all, old, name === undefined ? undefined : { name, scope });
}

/**
 * Returns the file names of memories, and of those that have a name.
 *
 * @throws CrosstalkError `usage` when they are more than one memory may replace
 */
export function withNamed(
  { memories }: Memories,
  chosen: readonly StoredMemory[],
  named: { name: string; scope: string } | undefined,
): string[] {
  const files = chosen.map(({ file }) => file);
  const linked = new Map(memories.map(({ file, memory }) => [file, memory]));
  const heads = named === undefined ? [] : namedHeads(linked, named);
  const all = [...new Set([...files, ...heads])];
  if (files.length <= MAX_SUPERSEDED) return all.slice(0, MAX_SUPERSEDED);
  throw new CrosstalkError(
    'usage',
    `${String(files.length)} notes are to be replaced, and one may replace ${String(MAX_SUPERSEDED)}; do it in several steps`,
  );
}

export interface AddedMemory {
  file: string;
  memory: Memory;
  delivered: Delivered;
}

/**
 * Writes a memory in a commit of its own, under a unique name.
 *
 * @param by its writer, who is the author of the commit
 * @throws CrosstalkError `usage` for one that is too large as a whole or above its text; nothing is
 *   written then
 */
export async function writeMemory(
  context: Context,
  memory: Memory,
  { at, by, allowSecret }: { at: Date; by: string; allowSecret: boolean },
): Promise<AddedMemory> {
  const content = formatMemory(memory);
  assertReadable(content);
  const file = memoryFileAt(at, context.suffix());
  const { host } = context.dispatch;
  const commit = {
    at: at.toISOString(),
    author: authorOf(by, isName(host) ? host : context.hostname),
    subject: `crosstalk: memory from ${by}`,
    files: [{ path: memoryFile(file), content }],
  };
  return { file, memory, delivered: await deliverOrNote(context, [commit], { allowSecret }) };
}

/** Refuses a note that nobody could read, as the notes that it should replace would stay in force. */
function assertReadable(content: string): void {
  const size = Buffer.byteLength(content);
  if (size > MAX_MESSAGE_BYTES)
    throw new CrosstalkError(
      'usage',
      `the note is ${String(size)} bytes long, more than the limit of 1 MiB; put the bulk elsewhere and note where it is`,
    );
  const read = parseMemory(content);
  if (read.ok) return;
  throw new CrosstalkError(
    'usage',
    `the note could not be read again: ${read.problems.join('; ')}; shorten its subject and its other words`,
  );
}
