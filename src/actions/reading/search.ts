import type { WebHit, WebSearch } from '../../api/messages.ts';
import { CrosstalkError } from '../../errors.ts';
import { searchIndex as find, termsOf, type Hit } from '../../index/search.ts';
import type { Index } from '../../index/index.ts';
import { formatAddress } from '../../protocol/address.ts';
import type { Channel } from '../../protocol/files/channel.ts';
import { excerptOf } from '../../protocol/text/excerpt.ts';
import type { Located } from '../../protocol/message.ts';
import { relPathAt } from '../../protocol/layout.ts';
import { shown } from '../../protocol/text/result.ts';
import { withIndex } from '../index/indexing.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { marked } from '../lookup/marked.ts';
import { resolveChannel } from '../lookup/resolve.ts';
import { SEARCH } from '../../present/parameters.ts';

export interface SearchInput {
  words: string;
  channel?: string;
  from?: string;
  /** Only messages written since this time. */
  since?: Date;
  /** Within the limits of {@link SEARCH}, as the others. */
  limit: number;
  /** The number of best hits to leave out, which were shown before; 0 by default. */
  skip?: number;
  /** The number of messages shown before and after each hit. */
  context: number;
}

export type { WebHit as SearchHit, WebSearch as SearchResult };

/** The most bytes of an excerpt. */
export const EXCERPT_BYTES = 1024;
/** The most items of context in one answer. */
const MAX_ITEMS = 16;
/** Milliseconds that a first search spends on building the index before it uses a part of it. */
const PATIENCE_MS = 5000;

/**
 * Finds messages by their words, best first.
 *
 * @throws CrosstalkError `usage` for words that cannot match anything
 */
export async function search(context: Context, input: SearchInput): Promise<WebSearch> {
  requireWords(input.words);
  const since = input.since && relPathAt(input.since, '');
  await refreshOrNote(context);
  const channel =
    input.channel === undefined ? undefined : await resolveChannel(context, input.channel);
  const tip = await tipOf(context);
  return withIndex(context, { patience: PATIENCE_MS }, async (index, complete) => {
    // One more than wanted shows whether there are more.
    const query = { ...input, limit: input.limit + 1, channel: channel?.id, since };
    const { hits, some, capped } = find(index.database, query);
    let items = MAX_ITEMS;
    const found: WebHit[] = [];
    for (const one of await readHits(context, tip, hits.slice(0, input.limit))) {
      const described = await describe(context, tip, one, input.words);
      // The limit counts both sides.
      const each = Math.min(input.context, SEARCH.context.most, Math.floor(items / 2));
      const neighbours = await neighboursOf(context, index, tip, one, each);
      items -= Math.max(0, neighbours.length - 1);
      found.push({ ...described, context: neighbours });
    }
    return { hits: found, more: hits.length > input.limit, some_words: some, capped, complete };
  });
}

/** A hit with its message, and whether its writer has signed it. */
type Found = Hit & Located;

async function readHits(context: Context, tip: string, hits: readonly Hit[]): Promise<Found[]> {
  const read: Found[] = [];
  for (const hit of hits) {
    const message = await context.reader.message(tip, hit.channel, hit.relPath);
    // The message may have been removed between the index and the tip.
    if (message !== undefined) read.push({ ...hit, message });
  }
  return marked(context, tip, read);
}

async function describe(
  { reader }: Context,
  tip: string,
  { channel: id, relPath, score, message, verified }: Found,
  words: string,
): Promise<Omit<WebHit, 'context'>> {
  const channel: Channel = await reader.channel(tip, id);
  return {
    channel: id,
    channel_name: channel.name,
    relPath,
    score: Math.round(score * 1000) / 1000,
    from: message.from,
    ...(verified !== undefined && { verified }),
    to: message.to.map(formatAddress),
    timestamp: message.timestamp,
    excerpt: excerptOf(message.body, words, EXCERPT_BYTES).text,
  };
}

async function neighboursOf(
  context: Context,
  index: Index,
  tip: string,
  { channel, relPath }: Hit,
  each: number,
): Promise<WebHit['context']> {
  if (each === 0) return [];
  const { before, after } = index.around(channel, relPath, each);
  const found = await context.reader.messages(tip, channel, [...before, relPath, ...after]);
  const placed = found.map((one) => ({ ...one, channel }));
  return (await marked(context, tip, placed)).map(
    ({ relPath: path, message: { from, body }, verified }) => ({
      relPath: path,
      from,
      ...(verified !== undefined && { verified }),
      excerpt: excerptOf(body, '', EXCERPT_BYTES).text,
      hit: path === relPath,
    }),
  );
}

/** @throws CrosstalkError `usage` for words that cannot match anything */
export function requireWords(words: string): void {
  if (termsOf(words).length > 0) return;
  throw new CrosstalkError(
    'usage',
    `${shown(words)} holds no word to search for; give words, a "phrase", or a beginning*`,
  );
}
