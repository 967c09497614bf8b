import type { Context } from '../operations/context.ts';
import { inboxHere, type InboxEntry } from '../operations/lookup/inbox.ts';
import { optionLines } from '../protocol/choice.ts';
import { search } from '../operations/reading/search.ts';
import { status } from '../operations/health/status.ts';
import { thread, type ThreadNode } from '../operations/tracing/thread.ts';
import { shownMessage } from '../operations/reading/read.ts';
import { CANCELLED } from '../protocol/cancel.ts';
import { formatAddress } from '../protocol/address.ts';
import { suffixOf } from '../protocol/names.ts';
import { bodyShown } from './from-bus.ts';
import { describeState } from './states.ts';

const SHORT = 8;
const HITS = 10;

/** A thread as a tree, one line per message. @throws CrosstalkError as `thread` does */
export async function threadLines(context: Context, message: string): Promise<string[]> {
  const { roots } = await thread(context, message);
  return roots.flatMap((root) => branch(root));
}

function branch(node: ThreadNode): string[] {
  const states = node.states.map((state) => describeState(state, undefined)).join(', ');
  const head = [
    `${node.from}${markOf(node)} > ${node.to.join(', ')}`,
    suffixOf(node.relPath).slice(0, SHORT),
    ...(node.mark === null ? [] : [node.mark]),
    ...(states === '' ? [] : [states]),
    oneLine(node.excerpt),
  ].join('  ');
  return [head, ...node.children.flatMap((child) => branch(child).map((line) => `  ${line}`))];
}

/** One whole message below a line that says whose it is. @throws CrosstalkError as `shownMessage` does */
export async function messageLines(context: Context, given: string): Promise<string[]> {
  const { message, relPath, ...shown } = await shownMessage(context, given);
  const to = message.to.map(formatAddress).join(', ');
  const head = `${message.from}${markOf(shown)} > ${to}  ${suffixOf(relPath).slice(0, SHORT)}  ${message.timestamp}`;
  return [
    head,
    '',
    ...bodyShown(message).trimEnd().split('\n'),
    ...optionLines(message.options ?? []),
  ];
}

/** The most messages of the list of what came. */
const NEWEST = 20;

/** What came for somebody, unread first, with what asks them something marked. */
export async function inboxLines(context: Context, name: string): Promise<string[]> {
  const { entries } = await inboxHere(context, { name, questions: false, limit: NEWEST }, {});
  const asking = await inboxHere(context, { name, questions: true, limit: NEWEST }, {});
  const keys = new Set(entries.map(messageKeyOf));
  const older = asking.entries.filter((entry) => !keys.has(messageKeyOf(entry)));
  const all = [...entries, ...older];
  if (all.length === 0) return ['nothing came for you yet'];
  return all.flatMap(({ relPath, message, channel, unread, asks, verified }) => [
    [
      unread ? 'new' : '   ',
      message.timestamp.slice(0, 16).replace('T', ' '),
      `${message.from}${markOf({ verified })}`,
      `#${channel.name}`,
      suffixOf(relPath).slice(0, SHORT),
      ...(asks ? ['asks you'] : []),
      ...(message.failed === undefined
        ? []
        : [message.failed.reason === CANCELLED ? 'cancelled' : 'failed']),
    ].join('  '),
    `      ${oneLine(message.body.slice(0, MOST_SHOWN))}`,
    ...optionLines(message.options ?? []).map((line) => `      ${line}`),
  ]);
}

const MOST_SHOWN = 200;

function messageKeyOf({ channel, relPath }: InboxEntry): string {
  return `${channel.id}/${relPath}`;
}

/** The results of a search in a channel, best first. @throws CrosstalkError as `search` does */
export async function searchLines(
  context: Context,
  channel: string,
  words: string,
): Promise<string[]> {
  const found = await search(context, { words, channel, limit: HITS, context: 0 });
  if (found.hits.length === 0) return ['nothing found'];
  return found.hits.flatMap((hit) => [
    `${hit.timestamp.slice(0, 16).replace('T', ' ')}  ${hit.from}${markOf(hit)}  ${suffixOf(hit.relPath).slice(0, SHORT)}`,
    `  ${oneLine(hit.excerpt)}`,
  ]);
}

/** The health of the bus and what is stuck, as in `crosstalk status`. */
export async function statusLines(context: Context): Promise<string[]> {
  const {
    health,
    warnings,
    dispatcher,
    outbox,
    dead_letters: all,
  } = await status(context, undefined);
  const letters = all.filter(({ state }) => state !== 'cancelled');
  return [
    health.ok ? 'all is well' : 'not well:',
    ...health.problems.map((problem) => `  ${problem}`),
    ...warnings.map((warning) => `warning: ${warning}`),
    dispatcher === null
      ? 'no dispatcher runs on this machine; start one with: crosstalk dispatch'
      : `dispatcher: process ${String(dispatcher.pid)}, host ${dispatcher.host ?? 'unknown'}, ${String(dispatcher.running.length)} running`,
    `outbox: ${String(outbox.length)}`,
    `dead letters: ${String(letters.length)}`,
    ...letters.map(({ id, actor, state, detail }) => `  ${id}  ${state}  ${actor}: ${detail}`),
  ];
}

/** A word behind the name of a writer of whom a key is pinned here. */
function markOf({ verified }: { verified?: boolean | undefined }): string {
  if (verified === undefined) return '';
  return verified ? ' (verified)' : ' (unverified)';
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
