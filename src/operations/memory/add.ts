import { CrosstalkError } from '../../errors.ts';
import { memoryFile } from '../../protocol/layout.ts';
import { formatMemory, memoryFileAt, type Memory } from '../../protocol/files/memory.ts';
import { isOneLine } from '../../protocol/text/one-line.ts';
import { MAX_MESSAGE_BYTES } from '../../protocol/message.ts';
import { isName } from '../../protocol/names.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import { shown } from '../../protocol/text/result.ts';
import { refreshOrNote, type Context } from '../context.ts';
import { deliverOrNote, type Delivered } from '../deliver.ts';
import { readMemories, resolveMemory, type StoredMemory } from './memories.ts';
import { resolveScope } from './list.ts';
import { resolveFrom } from '../lookup/resolve.ts';

export interface MemoryInput {
  subject: string;
  body: string;
  /** `global`, or a channel in any form in which a channel may be named. */
  scope: string;
  /** The memory that this one replaces: its file name or a unique hex suffix. */
  supersedes?: string;
  alias: readonly string[];
  from?: string;
  /** A person lets it go whatever looks like a secret in it; a run cannot. */
  allowSecret?: boolean;
  login: string;
}

export interface AddedMemory {
  file: string;
  memory: Memory;
  delivered: Delivered;
}

/**
 * Writes a shared note (protocol.md §9) in a commit of its own.
 *
 * @throws CrosstalkError `usage` for invalid input, and the errors of resolving the scope and the
 *   superseded memory; nothing is written then
 */
export async function addMemory(context: Context, input: MemoryInput): Promise<AddedMemory> {
  assertInput(input);
  const from = resolveFrom(context, input.from, input.login);
  const { scope, old } = await withNews(context, async () => ({
    scope: await resolveScope(context, input.scope),
    old: await replaced(context, input.supersedes),
  }));
  if (typeof old?.superseded_by === 'string') {
    context.note(
      `${old.file} is superseded already, by ${old.superseded_by}; that one stays in force beside this one`,
    );
  }
  const at = context.now();
  const memory: Memory = {
    from,
    timestamp: at.toISOString(),
    subject: input.subject,
    scope,
    ...(old === undefined ? {} : { supersedes: old.file }),
    alias: [...new Set(input.alias)],
    extra: {},
    body: input.body,
  };
  const content = formatMemory(memory);
  assertSize(content);
  const file = memoryFileAt(at, context.suffix());
  const { host } = context.dispatch;
  const commit = {
    at: memory.timestamp,
    author: authorOf(from, isName(host) ? host : context.hostname),
    subject: `crosstalk: memory from ${from}`,
    files: [{ path: memoryFile(file), content }],
  };
  const allowSecret = input.allowSecret === true;
  const delivered = await deliverOrNote(context, [commit], { allowSecret });
  return { file, memory, delivered };
}

function assertInput({ subject, body, alias }: MemoryInput): void {
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
  if (body.trim() === '') {
    throw new CrosstalkError(
      'usage',
      'the note is empty; give its text as an argument, on stdin, or with --file <path>',
    );
  }
}

/**
 * The remote is asked for news only if what is known locally does not suffice; the push builds on
 * its tip anyway.
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

async function replaced(
  context: Context,
  given: string | undefined,
): Promise<StoredMemory | undefined> {
  if (given === undefined) return undefined;
  return resolveMemory(await readMemories(context, { bodies: false }), given);
}

function assertSize(content: string): void {
  const size = Buffer.byteLength(content);
  if (size <= MAX_MESSAGE_BYTES) return;
  throw new CrosstalkError(
    'usage',
    `the note is ${String(size)} bytes long, more than the limit of 1 MiB; put the bulk elsewhere and note where it is`,
  );
}
