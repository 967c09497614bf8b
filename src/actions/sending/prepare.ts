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
import {
  isOrigin,
  placeOfRef,
  refFrom,
  isChannelId,
  isName,
  isRelPath,
} from '../../protocol/layout.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { shown } from '../../protocol/text/result.ts';
import { parseRecipients, type Address } from '../../protocol/address.ts';
import { type Context, tipOf } from '../context.ts';
import { resolveChannel, resolveFrom } from '../lookup/resolve.ts';
import { assertFiles } from './attached.ts';
import type { Prepared, SendInput } from './input.ts';
import { suffixOf, type IdempotencyKey } from './handed.ts';
import { asQuestion, assertAnyHost, targetOf, textOf, writerOf, type Target } from './target.ts';
import type { RemoteNews } from './remote-news.ts';
import { linkOf, type DispatchLink } from '../../agents/dispatch-variables.ts';
import { chainLevels, type Lookup } from '../../protocol/causality.ts';
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
  { at, seed }: IdempotencyKey,
  news: RemoteNews,
): Promise<Prepared> {
  const from = resolveFrom(context, given.from, given.login);
  const input = await withSchema(given);
  if (input.cancels !== undefined) return prepareCancel(context, input, from, { at, seed });
  const target = await targetOf(context, input, from);
  assertDecided(context, input, from, target);
  const to = recipients(context, input, target);
  if (input.awaited === true) assertOthers(to, from);
  if (input.one === true) assertAnyHost(to);
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
  for (const field of ['schema', 'one'] as const)
    if (input[field] !== undefined && asked.every(({ message }) => message[field] === undefined))
      throw new CrosstalkError(
        'usage',
        `--${field} is for a question, and this goes to its addressee as an answer; leave --${field} out, or ask anew with --new`,
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
 * Returns the fields of a message about the running work on a question: without `re` it is a task for a
 * host of an older version, and `cause` puts it into the thread of that question.
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

/** Returns the input with its schema in the form of a message; a schema that nothing can match is refused. */
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
 * Refuses a plain reply to a request for permission: it permits nothing, and would start a run. A reply
 * to a plan may be intended, and is planned for; its sender receives a note that it is not a decision.
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

/** Refuses a question to oneself: the asker would wait for their own answer for ever. */
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

/** @throws CrosstalkError `refused` for a channel in which nothing new is started */
function assertOpen({ id, name, archived }: Channel): void {
  if (archived === true)
    throw new CrosstalkError(
      'refused',
      `the channel ${escapeInvisible(name)} is archived; send it elsewhere with --channel, or bring the channel back with: crosstalk channel archive --undo ${id}`,
    );
}

/** Refuses a message that no dispatcher could read: it must not count as sent. */
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

/** The part of the sender's dispatch that the message depends on. */
interface Linked {
  id?: string;
  host?: string;
  /** The processed messages that the message is about. */
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
 * Determines the links of a `send` in a dispatch.
 *
 * @param channel id of the channel it is for
 * @param target the message that it replies to
 *
 * @throws CrosstalkError `usage` when `for` names none of the processed messages, or several; in a run,
 *   when `target` is none of those that led to it
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

/** Links a reply written outside a run to the message that it answers, and to nothing else. */
async function answering(context: Context, target: Target): Promise<Linked> {
  const { channel, relPath, message } = target;
  const triggers = [{ relPath, message }];
  const behind = await context.reader.chain(await tipOf(context), channel, triggers);
  // The target may wait in the outbox, which the reader does not know.
  const lookup: Lookup = (ref) => (ref === relPath ? message : behind(ref));
  return { triggers, home: channel, follows: false, lookup };
}

/**
 * Finds the target of a run's reply among the messages that it processes and those that led to them:
 * nobody in this thread would wait for an answer to any other.
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
 * Returns the commit at which the processed messages are read: the one that the run received, since they
 * may have left the bus in the meantime, because history was set back or files were removed.
 */
async function readAt(context: Context, tip = ''): Promise<string> {
  const isHere = OID.test(tip) && (await context.transport.objects.read(`${tip}^{commit}`));
  return isHere ? tip : tipOf(context);
}

/** Returns the processed messages that it is about: all of them, or the named one. */
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
 * @throws CrosstalkError `usage` when somebody else wrote the message, unless an operator cancels one
 *   that no host serves
 */
async function prepareCancel(
  context: Context,
  { cancels = '', body, only = false, asOperator = false }: SendInput,
  from: string,
  { at, seed }: Omit<IdempotencyKey, 'id'>,
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

/** Refuses to cancel, in place of its writer, a message that somebody serves, or has in an inbox. */
async function assertNobodys(context: Context, relPath: string, { to }: Message): Promise<void> {
  const why = await whoHas(context, to);
  if (why === undefined) return;
  throw new CrosstalkError(
    'usage',
    `${relPath}: ${why}, so only its writer can cancel it; --as-operator is for what nobody serves`,
  );
}
