import { reasonOf, CrosstalkError } from '../../errors.ts';
import type { MessageRef } from '../../protocol/layout.ts';
import type { Blob, Commit } from '../../protocol/outgoing.ts';
import { formatAddress, type Address } from '../../protocol/address.ts';
import type { Located, Message } from '../../protocol/message.ts';
import { wait } from '../../wait.ts';
import { type Context, tipOf } from '../context.ts';
import { publish, recordEntry } from '../deliver.ts';
import { keepFiles, type BytesFor } from './attached.ts';
import type { Prepared, SendInput, Sent } from './input.ts';
import { type IdempotencyKey, type SendAnswer, isSendRequest, type HandedInput } from './handed.ts';
import { prepareMessages } from './prepare.ts';
import { RemoteNews } from './remote-news.ts';
import {
  noteRecipientWarnings,
  recipientWarningsOf,
  isPerson,
  servedBy,
} from '../lookup/people.ts';
import { isServed } from '../../bus/peers.ts';
import { didYouMean } from '../../protocol/text/nearest.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { someOf } from '../../protocol/text/words.ts';
import { linkOf } from '../../agents/dispatch-variables.ts';
import type { PublishOutcome } from '../../bus/publisher.ts';
import { withoutOurs } from '../../dispatcher/run/workplace.ts';

/**
 * Carries out a `send` in this process, which is a dispatcher or has found none: prepares the messages,
 * records them, and publishes them. Repeating it with the same marks has the same outcome.
 *
 * @param options `bytesFor`: reads the bytes of attached files, unless they are stored under this id
 *   already; `unanswered`: the reason why no dispatcher is asked to push now (one that timed out
 *   continues with it); `onRecording`: called just before it is written to disk, which does not happen
 *   when this throws; `onDurable`: called once it is safe on disk; `sign`: set only in the process of the
 *   writer, so that a dispatcher never signs a run's message
 * @throws CrosstalkError `usage` for invalid input, `not_found` for a name that nobody serves, in a run
 *   or with `strict`; nothing is written then. `held` for a secret: it is in the outbox, but does not
 *   count as sent by a run
 */
export async function perform(
  context: Context,
  input: SendInput,
  marks: IdempotencyKey,
  options: {
    unanswered?: string;
    onRecording?: () => void;
    onDurable?: (messages: readonly MessageRef[]) => void;
    bytesFor?: BytesFor | undefined;
    sign?: (prepared: Prepared) => Promise<Prepared>;
  } = {},
): Promise<Sent> {
  const news = new RemoteNews(context);
  const prepared = await prepare(context, input, marks, news);
  const { channel, from, dispatch, messages } = (await options.sign?.(prepared)) ?? prepared;
  // The hosts of the addressees matter only for a warning, so they are looked up during the push.
  const { addressees, others } = toBeServed(prepared);
  const asked = { addressees: others, tier: input.tier };
  // For a message of a run this is known already.
  const isKnown = dispatch !== undefined && input.anyway !== true;
  let looking: ReturnType<typeof recipientWarningsOf> | undefined;
  const look = (): ReturnType<typeof recipientWarningsOf> =>
    (looking ??= recipientWarningsOf(context, asked)
      .then((found) => (isKnown ? { ...found, unserved: [] } : found))
      .catch(() => ({ unserved: [], untiered: [] })));
  const blobs = await keepFiles(context, marks.id, input.files ?? [], options.bytesFor);
  const commits = messages.map(({ commit }) => commit);
  const allowSecret = input.allowSecret === true;
  options.onRecording?.();
  await recordEntry(context, marks.id, withBlobs(commits, blobs), { allowSecret });
  if (dispatch !== undefined)
    for (const one of messages) await noteSent(context, dispatch, one.channel, one);
  options.onDurable?.(messages.map((one) => ({ channel: one.channel, relPath: one.relPath })));
  const delivered = await publish(context, marks.id, {
    wait: input.wait,
    unreachable: options.unanswered ?? news.problem,
    withFiles: blobs.length > 0,
    onPushing: () => void look(),
  });
  if (!delivered.published) news.isVain();
  // The message is sent, so a failure to find out who serves its addressees is not an error.
  await noteRecipientWarnings(context, asked, await look(), news).catch(() => undefined);
  if (others.length < addressees.length)
    context.note(`${from} is its sender, and a message never wakes its own sender`);
  return {
    channel,
    from,
    messages: messages.map(({ channel: where, relPath, message }) => ({
      relPath,
      ...(where === channel ? {} : { channel: where }),
      to: message.to.map(formatAddress),
      re: message.re,
      cause: message.cause,
    })),
    delivered,
  };
}

/** Returns the addressees that a sender expects a host to serve; an answer may go to a person. */
function mustBeServed({ re, asks, to }: Message): Address[] {
  if (re.length === 0) return to;
  // A message by a dispatcher has a host, so its writer is an actor.
  return asks === true ? to.filter(({ host }) => host !== undefined) : [];
}

function toBeServed({ from, messages }: Prepared): Record<'addressees' | 'others', Address[]> {
  const addressees = messages.flatMap(({ message }) => mustBeServed(message));
  return { addressees, others: addressees.filter(({ name }) => name !== from) };
}

/**
 * Prepares the messages. In a run, a message to a name that nobody serves is not part of its work, which
 * would wait for it.
 */
async function prepare(
  context: Context,
  input: SendInput,
  marks: IdempotencyKey,
  news: RemoteNews,
): Promise<Prepared> {
  const prepared = await prepareMessages(context, input, marks, news);
  const { dispatch } = prepared;
  const anyway = input.anyway === true;
  if (dispatch === undefined && (input.strict !== true || anyway)) return prepared;
  const { others } = toBeServed(prepared);
  if ((await assertServed(context, others, news, anyway)) || dispatch === undefined)
    return prepared;
  const apart = { ...input, isNew: true };
  delete apart.for;
  return prepareMessages(context, apart, marks, news);
}

/** Adds the files to the first of the messages that name them; all messages are in one push. */
function withBlobs(commits: Commit[], blobs: Blob[]): Commit[] {
  return commits.map((commit, at) =>
    at > 0 || blobs.length === 0 ? commit : { ...commit, blobs },
  );
}

const NOTE_TRIES = 10;
const NOTE_WAIT_MS = 500;

/**
 * Adds a message to the list of those that a run has sent. The message is in the outbox by then and will
 * be published, so a disk that fails for a moment must not make the agent believe that it was not sent.
 */
async function noteSent(
  { runs, note }: Context,
  id: string,
  channel: string,
  located: Located,
): Promise<void> {
  for (let tries = 1; tries <= NOTE_TRIES; tries++) {
    try {
      await runs.noteSent(id, channel, located);
      return;
    } catch (error) {
      if (tries === 1)
        note(
          `sent, but the list of what this run has sent could not be written: ${reasonOf(error)}`,
        );
      await wait(NOTE_WAIT_MS);
    }
  }
}

/**
 * Refuses a message to a name under which nobody answers: no host serves it, and no person has written
 * under it. A run, or a person at a terminal, would wait in vain, and so would the original asker.
 *
 * @param anyway whether it is sent all the same
 * @returns whether somebody can answer
 * @throws CrosstalkError `not_found`, with the probable name; `usage` with `anyway` for a message that
 *   some of its recipients can answer
 */
async function assertServed(
  context: Context,
  addressees: readonly Address[],
  news: RemoteNews,
  anyway: boolean,
): Promise<boolean> {
  const find = async (): Promise<Address[]> => {
    const tip = await tipOf(context);
    const found: Address[] = [];
    for (const address of addressees)
      if (
        !(await isServed(context.transport, tip, address)) &&
        (await isPerson(context, tip, address)) === false
      )
        found.push(address);
    return found;
  };
  let odd = await find();
  if (odd.length > 0 && (await news.ask())) odd = await find();
  const [first] = odd;
  if (first === undefined) return true;
  if (!anyway) throw await refusal(context, first);
  if (odd.length === addressees.length) return false;
  const apart = escapeInvisible(formatAddress(first));
  throw new CrosstalkError(
    'usage',
    `--anyway is for ${apart}, which nobody serves, and not for the others of --to; nothing was sent. Send to ${apart} in a message of its own`,
  );
}

async function refusal(context: Context, address: Address): Promise<CrosstalkError> {
  const { serving } = await servedBy(context);
  const names = [...new Set(serving.flatMap(({ actors }) => actors))].sort();
  const at = serving.flatMap(({ alias, actors }) => (actors.includes(address.name) ? [alias] : []));
  const where = at.length > 0 ? ` (${address.name} is served by ${someOf(at)})` : '';
  const meant = at.length > 0 ? '' : didYouMean(address.name, names);
  const others = names.length === 0 ? '' : ` to one of ${escapeInvisible(someOf(names))},`;
  return new CrosstalkError(
    'not_found',
    `no host serves ${escapeInvisible(formatAddress(address))}${where}${meant}; nothing was sent. Send it${others} or with --anyway, to wait until a host serves that name`,
  );
}

/**
 * Carries out a delegated `send`, inside the dispatcher; see {@link handOver}.
 *
 * @param publish the dispatcher's own publisher
 * @returns undefined for a request for another transport, and for one that its sender has to sign: the
 *   key and its agent belong to a person; the command then does the work itself
 */
export async function serveSend(
  context: Context,
  publish: (id: string) => Promise<PublishOutcome>,
  request: unknown,
): Promise<SendAnswer | undefined> {
  if (!isSendRequest(request) || request.dir !== context.transport.dir) return undefined;
  const { link = {}, ...said } = request.input;
  const notes: string[] = [];
  const note = (line: string): void => {
    notes.push(line);
  };
  const dispatch = linkOf(link);
  await context.transport.reread();
  const { signingKey = '' } = context.transport.defaults;
  if (signingKey !== '' && dispatch.id === undefined) return undefined;
  const theirs = { ...context, dispatch, env: withoutOurs(context.env), publish, note };
  try {
    const input = { ...said, ...(await configuredSender(context, said)) };
    const since = said.awaited === true ? await context.transport.tip() : undefined;
    const sent = await perform(theirs, input, request);
    return { sent, notes, ...(since !== undefined && { since }) };
  } catch (error) {
    // The requesting process can open files of its own, and does it itself.
    if (/\bE[MN]FILE\b/.test(reasonOf(error))) return undefined;
    const code = error instanceof CrosstalkError ? error.code : 'internal';
    return { error: { code, message: reasonOf(error) }, notes };
  }
}

/**
 * Returns the current value of `git config crosstalk.from`, as a dispatcher lives long. The clone's
 * settings are read again, also for the default channel of a message.
 */
async function configuredSender(
  { transport }: Context,
  input: HandedInput,
): Promise<{ from?: string }> {
  if (input.from !== undefined && input.channel !== undefined) return {};
  await transport.reread();
  if (input.from !== undefined) return {};
  const { from } = transport.defaults;
  return from === undefined || from === '' ? {} : { from };
}
