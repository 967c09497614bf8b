import { CrosstalkError } from '../../errors.ts';
import { optionsProblem } from '../../protocol/talk.ts';
import type { Channel } from '../../protocol/files/channel.ts';
import {
  formatMessage,
  parseMessage,
  isTier,
  MAX_MESSAGE_BYTES,
  type Message,
  type Located,
} from '../../protocol/message.ts';
import { outgoing } from '../../protocol/outgoing.ts';
import { sendMessages } from '../../protocol/reply.ts';
import { isOrigin, placeOfRef, refFrom } from '../../protocol/reference.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { shown } from '../../protocol/text/result.ts';
import { parseRecipients, type Address } from '../../protocol/address.ts';
import { type Context, tipOf } from '../context.ts';
import { resolveChannel, resolveFrom } from '../lookup/resolve.ts';
import { assertFiles } from './attached.ts';
import type { Prepared, SendInput } from './input.ts';
import { suffixOf, type Marks } from './marks.ts';
import { asQuestion, targetOf, textOf, writerOf, type Target } from './target.ts';
import type { RemoteNews } from './remote-news.ts';
import { linkOf, type DispatchLink } from '../../agents/dispatch-variables.ts';
import { chainLevels, type Lookup } from '../../protocol/causality.ts';
import { isChannelId, isName, isRelPath } from '../../protocol/names.ts';
import { cancelMessage, mayCancel, NO_REASON } from '../../protocol/cancel.ts';
import { whoHas } from '../lookup/people.ts';
import { readMessage } from '../reading/read.ts';

/**
 * Creates the messages of a `send`. In a dispatch they are linked to the messages being processed.
 *
 * @throws CrosstalkError `usage` for invalid input
 */
export async function prepareMessages(
  context: Context,
  given: SendInput,
  { at, seed }: Marks,
  news: RemoteNews,
): Promise<Prepared> {
  const from = resolveFrom(context, given.from, given.login);
  const input = await withSchema(given);
  if (input.cancels !== undefined) return prepareCancel(context, input, from, { at, seed });
  const target = await targetOf(context, input, from);
  assertDecided(context, input, from, target);
  const to = recipients(context, input, target);
  if (input.awaited === true) assertOthers(to, from);
  const body = textOf(context, input, target);
  assertInput({ ...input, body });
  const channel = await channelOf(context, target?.channel ?? input.channel, news);
  if (target === undefined && context.dispatch.id === undefined) assertOpen(channel);
  const dispatch = await linked(context, channel.id, input, target);
  const { files = [] } = input;
  assertFiles(context, files);
  const messages = sendMessages(
    {
      ...dispatch,
      to,
      body,
      channel: channel.id,
      ...(input.tier === undefined ? {} : { tier: input.tier }),
    },
    {
      actor: from,
      at: new Date(at),
      ...(dispatch.host === undefined ? {} : { host: dispatch.host }),
    },
    dispatch.lookup,
  );
  const steering =
    input.steers === undefined ? {} : steersBy(input.steers, channel.id, dispatch.id !== undefined);
  const asked = messages.map((one) => ({
    ...one,
    message: {
      ...asQuestion(one.message, input, dispatch.id === undefined ? target : undefined),
      ...steering,
      ...(files.length > 0 && { files }),
    },
  }));
  for (const { message } of asked) assertSize(message);
  if (input.schema !== undefined && asked.every(({ message }) => message.schema === undefined))
    throw new CrosstalkError(
      'usage',
      '--schema is for a question, and this goes to its addressee as an answer; leave --schema out, or ask anew with --new',
    );
  const origin = dispatch.host ?? context.hostname;
  return {
    channel: channel.id,
    from,
    dispatch: dispatch.id,
    messages: asked.map(({ channel: where, message }, serial) => ({
      channel: where,
      message,
      ...outgoing(message, where, origin, suffixOf(seed, serial)),
    })),
  };
}

/**
 * What a message has that is for the work on a question: without `re` it is a task to whoever knows no more, and
 * `cause` has it in the thread of that question.
 */
function steersBy(
  ref: string,
  channel: string,
  isInRun: boolean,
): Pick<Message, 'steers' | 'cause'> {
  if (isInRun) throw new CrosstalkError('usage', 'a run says nothing for work under way');
  const place = isOrigin(ref) ? placeOfRef('', ref) : undefined;
  if (place?.channel !== channel)
    throw new CrosstalkError(
      'usage',
      `${shown(ref)} is no question to say more about: expected <channel id>/<relPath>, in its channel`,
    );
  return { steers: place.relPath, cause: [place.relPath] };
}

/** The input with its schema as a message carries it; a schema that nothing could fit is refused. */
async function withSchema(input: SendInput): Promise<SendInput> {
  if (input.schema === undefined) return input;
  const { schemaText } = await import('../../runner/schema.ts');
  const schema = await schemaText(input.schema);
  if (schema.ok) return { ...input, schema: schema.value };
  throw new CrosstalkError('usage', `--schema: ${schema.problems.join('; ')}`);
}

function recipients({ dispatch }: Context, input: SendInput, target?: Target): Address[] {
  if (target !== undefined && input.to === '') return [writerOf(target)];
  const inAnswer = dispatch.id !== undefined || target !== undefined;
  const { to, problems } = parseRecipients(input.to, inAnswer);
  if (problems.length === 0) return to;
  throw new CrosstalkError(
    'usage',
    `--to: ${problems.join('; ')}; several are separated by commas`,
  );
}

/**
 * A plain reply to a question for permission permits nothing, and would start a run. One to a plan may be
 * meant, and is planned for; whoever decides is told that it decides nothing.
 */
function assertDecided(
  { dispatch, note }: Context,
  { decision }: SendInput,
  from: string,
  target?: Target,
): void {
  if (target?.message.proposal !== true || decision !== undefined) return;
  if (dispatch.id !== undefined) return;
  const { relPath, message } = target;
  const how = `crosstalk approve ${relPath} or crosstalk deny ${relPath} "<why>"`;
  if (message.permission !== undefined)
    throw new CrosstalkError(
      'usage',
      `${relPath} asks for permission, and a reply gives none; decide with: ${how}`,
    );
  if (message.to.some(({ name }) => name === from))
    note(`this reply decides nothing on ${relPath}; decide with: ${how}`);
}

/** Whoever asks and waits would wait for ever for an answer of their own. */
function assertOthers(to: readonly Address[], from: string): void {
  if (to.every(({ name }) => name !== from)) return;
  throw new CrosstalkError(
    'usage',
    `${from} is who asks, and a message never wakes its own sender; ask others, or say who asks with --from <name>`,
  );
}

function assertInput({ tier, body, options = [] }: SendInput): void {
  const problem = optionsProblem(options);
  if (problem !== undefined) throw new CrosstalkError('usage', `--option: ${problem}`);
  if (tier !== undefined && !isTier(tier)) {
    throw new CrosstalkError(
      'usage',
      `--tier ${shown(tier)} is not a tier name; see the tiers with: crosstalk status`,
    );
  }
  if (body.trim() === '') {
    throw new CrosstalkError(
      'usage',
      'the message is empty; give its text as an argument, on stdin, or with --file <path>',
    );
  }
}

async function channelOf(
  context: Context,
  given: string | undefined,
  news: RemoteNews,
): Promise<Channel> {
  try {
    return await resolveChannel(context, given);
  } catch (error) {
    if (!(error instanceof CrosstalkError)) throw error;
    await news.ask();
    return resolveChannel(context, given);
  }
}

/** @throws CrosstalkError `refused` for a channel in which nothing new is begun */
function assertOpen({ id, name, archived }: Channel): void {
  if (archived === true)
    throw new CrosstalkError(
      'refused',
      `the channel ${escapeInvisible(name)} is archived; send it elsewhere with --channel, or bring the channel back with: crosstalk channel archive --undo ${id}`,
    );
}

/** A message that no dispatcher could read must not count as sent. */
function assertSize(message: Message): void {
  const bytes = Buffer.from(formatMessage(message));
  const size = bytes.byteLength;
  if (size <= MAX_MESSAGE_BYTES) {
    const read = parseMessage(bytes);
    if (read.ok) return;
    throw new CrosstalkError(
      'usage',
      `nobody could read this message: ${read.problems.join('; ')}; it names ${String(message.to.length)} addressees and ${String(message.files?.length ?? 0)} files: send to fewer at a time, or pack the files into one`,
    );
  }
  throw new CrosstalkError(
    'usage',
    `the message is ${String(size)} bytes long, more than the limit of 1 MiB; attach the bulk as a file: crosstalk send --attach <file>`,
  );
}

const OID = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

/** The part of the sender's dispatch that concerns the message. */
interface Linked {
  id?: string;
  host?: string;
  /** The messages being processed that the message is about. */
  triggers: Located[];
  /** The id of their channel. */
  home: string;
  /**
   * Whether an answer goes to the channel in which its addressee asked, because no other channel
   * was chosen.
   */
  follows: boolean;
  /** The messages that the triggers answer, and those that caused them. */
  lookup: Lookup;
  /** In a run: the only message that may be answered, because it was named. */
  named?: Located;
}

/**
 * Determines how the dispatch in which a `send` is made links its messages.
 *
 * @param channel id of the channel it is for
 * @param target the message to which it is a reply
 *
 * @throws CrosstalkError `usage` when `for` names none of the messages being processed, or several;
 *   in a run, when `target` is none of those that led to it
 */
async function linked(
  context: Context,
  channel: string,
  input: SendInput,
  target?: Target,
): Promise<Linked> {
  const { isNew } = input;
  const link = linkOf(context.dispatch);
  const { id, host } = link;
  if (target !== undefined && (id === undefined || isNew)) return answering(context, target);
  const home = isChannelId(link.channel) ? link.channel : channel;
  const paths = processed(link, input).filter(isRelPath);
  const isLinked = !isNew && paths.length > 0;
  const tip = await readAt(context, link.tip);
  const triggers = isLinked ? await context.reader.messages(tip, home, paths) : [];
  const lookup = await context.reader.chain(tip, home, triggers);
  return {
    ...(id === undefined ? {} : { id }),
    ...(host === undefined || !isName(host) ? {} : { host }),
    triggers,
    home,
    follows: id !== undefined && (home === channel || target !== undefined),
    lookup,
    ...(target && { named: inChain(target, home, chainLevels(triggers, lookup).flat()) }),
  };
}

/** Links a reply that is written outside a run to the message that it answers, and to nothing else. */
async function answering(context: Context, target: Target): Promise<Linked> {
  const { channel, relPath, message } = target;
  const triggers = [{ relPath, message }];
  const behind = await context.reader.chain(await tipOf(context), channel, triggers);
  // It may wait in the outbox, which the reader does not know.
  const lookup: Lookup = (ref) => (ref === relPath ? message : behind(ref));
  return { triggers, home: channel, follows: false, lookup };
}

/**
 * A run replies to what it processes, and to what led to that: an answer to anything else would be
 * one that nobody in this thread waits for.
 */
function inChain({ channel, relPath }: Target, home: string, chain: readonly Located[]): Located {
  const ref = refFrom(home, channel, relPath);
  const found = chain.find((located) => located.relPath === ref);
  if (found !== undefined) return found;
  throw new CrosstalkError(
    'usage',
    `${relPath} is none of the messages being processed, nor did it lead to them; write to its sender with: crosstalk send --to <name>`,
  );
}

/**
 * The commit at which the processed messages are read: the one the run received, since they may
 * have left the bus meanwhile, because history was set back or files were removed.
 */
async function readAt(context: Context, tip = ''): Promise<string> {
  const isHere = OID.test(tip) && (await context.transport.objects.read(`${tip}^{commit}`));
  return isHere ? tip : tipOf(context);
}

/** The messages being processed that it is about: all of them, or the one that is named. */
function processed(
  { triggers = [] }: DispatchLink,
  { isNew, for: about }: SendInput,
): readonly string[] {
  if (about === undefined) return triggers;
  const problem = (text: string): CrosstalkError =>
    new CrosstalkError('usage', `--for ${shown(about)} ${text}`);
  if (isNew) throw problem('and --new contradict each other; leave one of them out');
  if (triggers.length === 0) throw problem('is for a run, which is handed messages; leave it out');
  const found = about === '' ? [] : triggers.filter((path) => stem(path).endsWith(stem(about)));
  if (found.length === 1) return found;
  throw problem(
    `names ${found.length === 0 ? 'none' : 'several'} of the messages being processed: ${triggers.slice(0, 5).join(', ')}; give the ref of one`,
  );
}

function stem(path: string): string {
  return path.replace(/\.md$/, '');
}

/**
 * Creates the message of a cancellation. A run has no such message (trust.md §3).
 *
 * @throws CrosstalkError `usage` when somebody else wrote the message, unless an operator takes back what no host
 *   serves
 */
async function prepareCancel(
  context: Context,
  { cancels = '', body, only = false, asOperator = false }: SendInput,
  from: string,
  { at, seed }: Omit<Marks, 'id'>,
): Promise<Prepared> {
  const problem = `${shown(cancels)} is no message to cancel: expected <channel id>/<relPath>`;
  if (!isOrigin(cancels)) throw new CrosstalkError('usage', problem);
  const { channel, relPath, message: target } = await readMessage(context, cancels);
  const writer = { actor: from, at: new Date(at) };
  if (target.cancels !== undefined)
    throw new CrosstalkError(
      'usage',
      `${relPath} takes ${target.cancels} back, which cannot be undone; send that message again`,
    );
  if (asOperator) await assertNobodys(context, relPath, target);
  else if (!mayCancel({ from }, target)) {
    const { from: name, host: where } = target;
    const whose = where === undefined ? name : `${name}@${where}`;
    throw new CrosstalkError(
      'usage',
      `${relPath} is from ${escapeInvisible(whose)}, and only its writer can cancel it, not ${from}`,
    );
  }
  const why = body.trim() === '' ? `${NO_REASON}\n` : body;
  const message = cancelMessage({ relPath, message: target }, why, writer, { only, asOperator });
  const written = outgoing(message, channel.id, context.hostname, suffixOf(seed, 0));
  return {
    channel: channel.id,
    from,
    dispatch: undefined,
    messages: [{ channel: channel.id, message, ...written }],
  };
}

/** Refuses to take back in place of its writer what somebody serves, or has in an inbox. */
async function assertNobodys(context: Context, relPath: string, { to }: Message): Promise<void> {
  const why = await whoHas(context, to);
  if (why === undefined) return;
  throw new CrosstalkError(
    'usage',
    `${relPath}: ${why}, so only its writer can cancel it; --as-operator is for what nobody serves`,
  );
}
