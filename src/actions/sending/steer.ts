import { CrosstalkError } from '../../errors.ts';
import { addressedTo } from '../../index/inbox.ts';
import { formatAddress, EVERYONE, parseAddress, type Address } from '../../protocol/address.ts';
import { isQuestion, isTo } from '../../protocol/causality.ts';
import { takesMore } from '../../protocol/files/tier-options.ts';
import { chooseTier, type HostFile } from '../../protocol/files/host-file.ts';
import { parseMessage, type Located, type Message } from '../../protocol/message.ts';
import { type MessageRef, byTime } from '../../protocol/layout.ts';
import { whyNotSteering } from '../../protocol/steer.ts';
import { excerptOf } from '../../protocol/text/excerpt.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { shown } from '../../protocol/text/result.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { unservedOrPerson } from '../lookup/people.ts';
import { queuedMessages } from '../lookup/queued.ts';
import { resolveChannel, resolveFrom } from '../lookup/resolve.ts';
import { findMessage, readMessage } from '../reading/read.ts';
import { hostsOf } from '../view.ts';
import { Board } from '../waiting/board.ts';
import { withIndex } from '../index/indexing.ts';
import type { SendInput, Sent } from './input.ts';
import { send, senderIn, type Sender, type SendOptions } from './send.ts';

/** The input of a message for running work, from any interface. */
export interface SteerInput extends SendInput {
  /** The question that is worked on, in any form of its name; by default the only open one. */
  about?: string | undefined;
}

/** The text shown after sending, as the effect cannot be known here. */
export const WHAT_HAPPENS =
  'if a run is at work on it, its agent is told this now, or begins again with both; otherwise this is the next message of that thread. What happened says: crosstalk explain';

/** Maximum number of questions that an error names. */
const MOST_NAMED = 5;

/**
 * Sends a message for the work on an open question (warm.md, "Steering"), which only the asker of that
 * question may do, to an actor whose tier keeps its process.
 *
 * @throws CrosstalkError `usage` when no run could receive it, with the reason; as {@link send} does;
 *   nothing is written then
 */
export async function steer(
  context: Context,
  { about, ...input }: SteerInput,
  { hands, ...options }: SendOptions & { hands?: Sender['hands'] } = {},
): Promise<Sent & { steers: string }> {
  if (context.dispatch.id !== undefined)
    throw new CrosstalkError('usage', '--now is for people: a run asks again instead');
  const to = oneActor(input.to);
  const wrong = (
    [
      ['--tier', input.tier],
      ['--schema', input.schema],
      ['--one', input.one],
    ] as const
  ).find(([, given]) => given !== undefined);
  const laid = (options.attachments ?? []).length > 0 ? '--attach' : wrong?.[0];
  const more = (input.options ?? []).length > 0 ? '--option' : laid;
  if (more !== undefined)
    throw new CrosstalkError(
      'usage',
      `--now and ${more} do not go together, as ${more} is for a run that begins; leave one of them out`,
    );
  await refreshOrNote(context);
  const from = resolveFrom(context, input.from, input.login);
  const serving = await servingOf(context, to);
  const question =
    about === undefined
      ? await onlyOpen(context, { from, to, channel: input.channel })
      : await openAt(context, about, { from, to });
  assertKept(serving, to, question);
  const steers = `${question.channel}/${question.relPath}`;
  const said = { ...input, from, channel: question.channel, steers };
  const sent = await send(senderIn(context, hands), said, options);
  return { ...sent, steers: question.relPath };
}

type Question = MessageRef & Located;

interface Meant {
  from: string;
  to: Address;
}

function oneActor(given: string): Address {
  const address = parseAddress(given);
  if (address.ok && address.value.name !== EVERYONE) return address.value;
  throw new CrosstalkError(
    'usage',
    `--now is for one actor, and --to is ${shown(given)}; name the actor that is at work: --to <name>`,
  );
}

/** Finds the named question, if it is open and the sender's. */
async function openAt(context: Context, about: string, { from, to }: Meant): Promise<Question> {
  const ref = await findMessage(context, about);
  const { message } = await readMessage(context, `${ref.channel}/${ref.relPath}`);
  const { relPath } = ref;
  const why = whyNotSteering({ from, re: [], type: 'text' }, message, to.name);
  if (why !== undefined) {
    const whose = escapeInvisible(message.from);
    const asked = message.host === undefined ? whose : `${whose}@${escapeInvisible(message.host)}`;
    throw new CrosstalkError(
      'usage',
      message.from === from && message.host === undefined
        ? `--about ${relPath}: ${escapeInvisible(why)}; name a question of yours to ${to.name}`
        : `${relPath} was asked by ${asked}, and only who asked may say more while it is worked on, not ${from}; send it without --now`,
    );
  }
  const [found] = await (
    await Board.at(context, await tipOf(context), [ref])
  ).look({ isLive: true, explains: false });
  if (found !== undefined && found.state !== 'PENDING')
    throw new CrosstalkError(
      'usage',
      `${relPath} is not open any more: it is ${stateOf(found.state)}; to ask on, reply to what answers it, or send without --now`,
    );
  return { ...ref, message };
}

function stateOf(state: string): string {
  return state === 'REPLIED' ? 'answered' : state.toLowerCase();
}

/** Finds the only open question of the sender to the actor in a channel. */
async function onlyOpen(
  context: Context,
  { from, to, channel: given }: Meant & { channel: string | undefined },
): Promise<Question> {
  const channel = await resolveChannel(context, given);
  const open = await openIn(context, channel.id, { from, to });
  const paths = new Set(open.map(({ relPath }) => relPath));
  const own = open.filter(({ message }) => !paths.has(message.steers ?? ''));
  const [only, ...others] = own;
  if (only !== undefined && others.length === 0) return only;
  const where = `in ${shown(channel.name)}`;
  if (only === undefined)
    throw new CrosstalkError(
      'usage',
      `${from} has no open question to ${formatAddress(to)} ${where}, so that there is no work under way to say more about; send it without --now`,
    );
  const named = own
    .slice(-MOST_NAMED)
    .map(({ relPath, message }) => `${relPath} (${shown(excerptOf(message.body, '', 60).text)})`);
  const rest = own.length > named.length ? ` and ${String(own.length - named.length)} more` : '';
  throw new CrosstalkError(
    'ambiguous',
    `${from} has ${String(own.length)} open questions to ${formatAddress(to)} ${where}: ${named.join(', ')}${rest}; say which with --about <message>`,
  );
}

/**
 * Maximum number of messages to an actor, the newest, among which open ones are searched; an older one
 * can be named.
 */
const MOST_LOOKED_AT = 200;

async function openIn(context: Context, channel: string, { from, to }: Meant): Promise<Question[]> {
  const tip = await tipOf(context);
  const refs = await withIndex(context, {}, (index) =>
    Promise.resolve(addressedTo(index, to.name, MOST_LOOKED_AT)),
  );
  const here = refs.filter((ref) => ref.channel === channel).map(({ relPath }) => relPath);
  const read = await context.reader.messages(tip, channel, here);
  const queued = (await queuedMessages(context)).flatMap((one): Located[] => {
    const parsed = one.channel === channel ? parseMessage(Buffer.from(one.content)) : undefined;
    return parsed?.ok === true ? [{ relPath: one.relPath, message: parsed.value }] : [];
  });
  const all = new Map([...read, ...queued].map((one) => [one.relPath, { ...one, channel }]));
  const asked = [...all.values()].filter(
    ({ message }) => isQuestion(message) && !isOfOther(message, from) && isTo(message, to.name),
  );
  const board = await Board.at(context, tip, asked);
  const found = await board.look({ isLive: true, explains: false });
  const open = new Set(
    found.filter(({ state }) => state === 'PENDING').map(({ ref }) => ref.relPath),
  );
  return asked
    .filter(({ relPath }) => open.has(relPath))
    .sort((one, other) => byTime(one.relPath, other.relPath));
}

function isOfOther({ from, host, cancels }: Message, sender: string): boolean {
  return from !== sender || host !== undefined || cancels !== undefined;
}

/** Returns the host files that serve the actor; refuses an actor that nobody serves, with the probable name. */
async function servingOf(context: Context, to: Address): Promise<HostFile[]> {
  const entries = await hostsOf(context);
  const hosts = entries.flatMap(({ result }) => (result.ok ? [result.value] : []));
  const serving = hosts.filter(
    ({ alias, actors }) => actors.has(to.name) && (to.host ?? alias) === alias,
  );
  if (serving.length > 0) return serving;
  const all = hosts.map(({ alias, actors }) => ({ alias, actors: [...actors.keys()] }));
  throw new CrosstalkError(
    'usage',
    `--now: ${await unservedOrPerson(context, await tipOf(context), to, all)}`,
  );
}

/** Refuses a message that no tier could receive, by the host files that serve the actor. */
function assertKept(serving: readonly HostFile[], to: Address, { message }: Question): void {
  const tiers = serving.map(({ alias, actors }) => ({
    alias,
    tier: chooseTier(actors.get(to.name) ?? [], [message.tier]),
  }));
  if (tiers.some(({ tier }) => tier !== undefined && takesMore(tier))) return;
  const [{ alias, tier } = { alias: '', tier: undefined }] = tiers;
  const what =
    tier?.session === 'warm'
      ? 'has a gate, so that it works only by what was approved'
      : `has session: ${tier?.session ?? 'fresh'}, so that its runs take nothing once they have begun`;
  throw new CrosstalkError(
    'usage',
    `--now is for a tier with session: warm, and ${to.name}.${tier?.name ?? ''} of hosts/${alias}.md ${what}; send it without --now, as the next message`,
  );
}
