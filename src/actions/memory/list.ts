import { CrosstalkError } from '../../errors.ts';
import { searchNotes } from '../../index/search.ts';
import { excerptOf } from '../../protocol/text/excerpt.ts';
import { agedScore } from '../../protocol/files/memory-age.ts';
import { isActorScope, type Memory } from '../../protocol/files/memory.ts';
import { shown } from '../../protocol/text/result.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import {
  isInForce,
  memoryFiles,
  noteUnreadable,
  readMemories,
  resolveMemory,
  type Memories,
  type StoredMemory,
} from './memories.ts';
import { withIndex } from '../index/indexing.ts';
import { resolveChannel } from '../lookup/resolve.ts';
import { SEARCH } from '../../present/parameters.ts';
import { EXCERPT_BYTES, requireWords } from '../reading/search.ts';

/** A memory with the name of its channel; null for `global` and `actor:<name>`. */
export interface ListedMemory extends StoredMemory {
  channel: string | null;
}

/** Resolves a scope: `global`, `actor:<name>`, or the id of a channel in any form of its name. */
export async function resolveScope(context: Context, given: string): Promise<string> {
  const isScope: boolean = given === 'global' || isActorScope(given);
  if (isScope) return given;
  if (given.startsWith('actor:'))
    throw new CrosstalkError(
      'usage',
      `--scope is ${shown(given)}, expected the name of an actor after the colon, such as actor:librarian`,
    );
  return (await resolveChannel(context, given)).id;
}

/**
 * Lists the memories, newest first, without bodies; files that cannot be read are noted.
 *
 * @param input `scope`: only those of this channel or actor and the global ones, or only the global ones
 *   for `global`; `all`: also superseded and forgotten ones, and those that forget them
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
    (one) =>
      (input.all || isInForce(one)) &&
      (scope === undefined || one.memory.scope === scope || one.memory.scope === 'global'),
  );
  const channelOf = await channelNames(context, chosen);
  return chosen.map((one) => ({ ...one, channel: channelOf(one) }));
}

/** A memory with its body, and the locally known subjects of the memories it is linked to. */
export interface ShownMemory extends ListedMemory {
  /**
   * Subjects of the memories that this one supersedes, in their order, and is superseded by; null when
   * they are not known locally.
   */
  subjects: { supersedes: (string | null)[]; superseded_by: string | null };
}

/**
 * Returns one memory with its body.
 *
 * @param given its file name or a unique hex suffix
 * @throws CrosstalkError as {@link resolveMemory}
 */
export async function showMemory(context: Context, given: string): Promise<ShownMemory> {
  await refreshOrNote(context);
  return shownOf(context, await readMemories(context, { bodies: false }), given);
}

/**
 * Finds one memory with its body among those that were read.
 *
 * @throws CrosstalkError as {@link resolveMemory}
 */
export async function shownOf(
  context: Context,
  all: Memories,
  given: string,
): Promise<ShownMemory> {
  const chosen = resolveMemory(all, given);
  const channelOf = await channelNames(context, [chosen]);
  const { memory, superseded_by } = chosen;
  return {
    ...chosen,
    memory: await wholeMemory(context, chosen),
    channel: channelOf(chosen),
    subjects: {
      supersedes: memory.supersedes.map((file) => subjectOf(all, file)),
      superseded_by: subjectOf(all, superseded_by ?? undefined),
    },
  };
}

/** Reads a memory with its body. */
export async function wholeMemory(
  context: Context,
  { file, memory }: Pick<StoredMemory, 'file' | 'memory'>,
): Promise<Memory> {
  for await (const { parsed } of memoryFiles(context, (name) => name === file))
    if (parsed.ok) return parsed.value;
  return memory;
}

function subjectOf({ memories }: Memories, file: string | undefined): string | null {
  return memories.find((one) => one.file === file)?.memory.subject ?? null;
}

/** Returns a function for the name of a memory's channel, or its id if the channel has no description. */
export async function channelNames(
  context: Context,
  memories: readonly StoredMemory[],
): Promise<(one: StoredMemory) => string | null> {
  const tip = await tipOf(context);
  const names = new Map<string, string | null>([['global', null]]);
  for (const { memory } of memories) {
    const { scope } = memory;
    if (isActorScope(scope)) names.set(scope, null);
    if (!names.has(scope)) names.set(scope, (await context.reader.channel(tip, scope)).name);
  }
  return ({ memory }) => names.get(memory.scope) ?? null;
}

/**
 * Finds memories by their words, best first: subject and alias count more than the text, and of equally
 * good ones the newer one comes first, except that decisions and references do not age.
 *
 * @param input `scope` and `all` as for {@link listMemories}; `age`: whether age counts
 * @throws CrosstalkError `usage` for words that cannot match anything
 */
export async function searchMemories(
  context: Context,
  input: { words: string; scope?: string; all: boolean; age?: boolean },
): Promise<(ListedMemory & { excerpt: string })[]> {
  requireWords(input.words);
  const listed = await listMemories(context, input);
  const scores = await scoresOf(context, input.words, input);
  const found = listed
    .flatMap((one) => {
      const score = scores(one);
      return score === undefined ? [] : [{ one, score }];
    })
    .sort((a, b) => b.score - a.score)
    .slice(0, SEARCH.limit.most);
  const bodies = await bodiesOf(context, new Set(found.map(({ one }) => one.file)));
  return found.map(({ one }) => {
    const body = bodies.get(one.file) ?? '';
    return { ...one, excerpt: excerptOf(body, input.words, EXCERPT_BYTES).text };
  });
}

async function bodiesOf(
  context: Context,
  files: ReadonlySet<string>,
): Promise<Map<string, string>> {
  const bodies = new Map<string, string>();
  if (files.size === 0) return bodies;
  for await (const { file, parsed } of memoryFiles(context, (name) => files.has(name)))
    if (parsed.ok) bodies.set(file, parsed.value.body);
  return bodies;
}

/**
 * Returns a function for the scores of memories for some words; undefined for those without the words, or
 * not among the best.
 *
 * @param options `age`: whether age counts; it does by default
 * @throws CrosstalkError `usage` for words that cannot match anything
 */
export async function scoresOf(
  context: Context,
  words: string,
  { age = true }: { age?: boolean } = {},
): Promise<(one: StoredMemory) => number | undefined> {
  requireWords(words);
  const scores = await withIndex(context, {}, (index) => searchNotes(index.database, words));
  const now = context.now();
  return ({ file, memory }) => {
    const score = scores.get(file);
    return score === undefined || !age ? score : agedScore(score, memory, now);
  };
}
