import { searchNotes } from '../../index/search.ts';
import { excerptOf } from '../../protocol/text/excerpt.ts';
import type { Memory } from '../../protocol/files/memory.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import {
  memoryFiles,
  noteUnreadable,
  readMemories,
  resolveMemory,
  type Memories,
  type StoredMemory,
} from './memories.ts';
import { withIndex } from '../index/indexing.ts';
import { resolveChannel } from '../lookup/resolve.ts';
import { EXCERPT_BYTES, MAX_HITS, requireWords } from '../reading/search.ts';

/** The most notes that are ranked before scope and supersession are applied. */
const MAX_RANKED_NOTES = 1000;

/** A memory with the name of the channel it applies to; null for `global`. */
export interface ListedMemory extends StoredMemory {
  channel: string | null;
}

/** `global`, or the id of a channel named in any form in which a channel may be named. */
export async function resolveScope(context: Context, given: string): Promise<string> {
  return given === 'global' ? given : (await resolveChannel(context, given)).id;
}

/**
 * The memories, newest first, without bodies; files that cannot be read are noted.
 *
 * @param input `scope`: only those of this channel and the global ones, or only the global ones for
 *   `global`; `all`: also superseded ones
 * @throws CrosstalkError `not_found` or `ambiguous` for the scope
 */
export async function listMemories(
  context: Context,
  input: { scope?: string; all: boolean },
): Promise<ListedMemory[]> {
  await refreshOrNote(context);
  const scope = input.scope === undefined ? undefined : await resolveScope(context, input.scope);
  const { memories, unreadable } = await readMemories(context, { bodies: false });
  noteUnreadable(context, unreadable);
  const chosen = memories.filter(
    ({ memory, superseded_by }) =>
      (input.all || superseded_by === null) &&
      (scope === undefined || memory.scope === scope || memory.scope === 'global'),
  );
  const channelOf = await channelNames(context, chosen);
  return chosen.map((one) => ({ ...one, channel: channelOf(one) }));
}

/** A memory with its body, and what is known locally about the memories it is linked to. */
export interface ShownMemory extends ListedMemory {
  /**
   * Subjects of the memories this one supersedes and is superseded by; null when they are not known
   * locally.
   */
  subjects: { supersedes: string | null; superseded_by: string | null };
}

/**
 * One memory with its body.
 *
 * @param given its file name or a unique hex suffix
 * @throws CrosstalkError as {@link resolveMemory}
 */
export async function showMemory(context: Context, given: string): Promise<ShownMemory> {
  await refreshOrNote(context);
  const all = await readMemories(context, { bodies: false });
  const chosen = resolveMemory(all, given);
  const channelOf = await channelNames(context, [chosen]);
  const { memory, superseded_by } = chosen;
  return {
    ...chosen,
    memory: await whole(context, chosen),
    channel: channelOf(chosen),
    subjects: {
      supersedes: subjectOf(all, memory.supersedes),
      superseded_by: subjectOf(all, superseded_by ?? undefined),
    },
  };
}

async function whole(context: Context, { file, memory }: StoredMemory): Promise<Memory> {
  for await (const { parsed } of memoryFiles(context, (name) => name === file))
    if (parsed.ok) return parsed.value;
  return memory;
}

function subjectOf({ memories }: Memories, file: string | undefined): string | null {
  return memories.find((one) => one.file === file)?.memory.subject ?? null;
}

/** The name of the channel to which a memory applies, or its id if the channel has no description. */
async function channelNames(
  context: Context,
  memories: readonly StoredMemory[],
): Promise<(one: StoredMemory) => string | null> {
  const tip = await tipOf(context);
  const names = new Map<string, string | null>([['global', null]]);
  for (const { memory } of memories) {
    const { scope } = memory;
    if (!names.has(scope)) names.set(scope, (await context.reader.channel(tip, scope)).name);
  }
  return ({ memory }) => names.get(memory.scope) ?? null;
}

/**
 * Finds memories by their words, best first: subject and alias count more than the text.
 *
 * @param input `scope` and `all` as for {@link listMemories}
 * @throws CrosstalkError `usage` for words that cannot match anything
 */
export async function searchMemories(
  context: Context,
  input: { words: string; scope?: string; all: boolean },
): Promise<(ListedMemory & { excerpt: string })[]> {
  requireWords(input.words);
  const listed = await listMemories(context, input);
  const ranks = await withIndex(context, {}, (index) => {
    const files = searchNotes(index.database, input.words, MAX_RANKED_NOTES);
    return new Map(files.map((file, rank) => [file, rank]));
  });
  const rank = ({ file }: ListedMemory): number => ranks.get(file) ?? Infinity;
  const found = listed
    .filter((one) => rank(one) < Infinity)
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, MAX_HITS);
  return Promise.all(
    found.map(async (one) => {
      const { body } = await whole(context, one);
      return { ...one, excerpt: excerptOf(body, input.words, EXCERPT_BYTES).text };
    }),
  );
}
