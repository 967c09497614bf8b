import {
  type MessageRef,
  messageKey,
  CHANNELS,
  messageFile,
  isChannelId,
  isName,
  isRelPath,
  suffixOf,
  toName,
} from '../../protocol/layout.ts';
import { CrosstalkError } from '../../errors.ts';
import type { Channel } from '../../protocol/files/channel.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { shown } from '../../protocol/text/result.ts';
import { tipOf, type Context } from '../context.ts';
import { writerOf } from '../locate.ts';
import { withIndex } from '../index/indexing.ts';
import { queuedMessages } from './queued.ts';

/**
 * Returns the channel that a command is about (cli.md): by id, unique id prefix or name; if none is given, the
 * channel of the dispatch, otherwise the default channel of this clone.
 */
export async function resolveChannel(
  context: Context,
  given: string | undefined,
): Promise<Channel> {
  const { dispatch, reader, transport } = context;
  const tip = await tipOf(context);
  const wanted = given ?? dispatch.channel ?? nonEmpty(transport.defaults.channel);
  if (wanted !== undefined && isChannelId(wanted)) {
    const entries = await transport.list(tip, [`${CHANNELS}/${wanted}`]);
    if (entries.length > 0) return reader.channel(tip, wanted);
  }
  const all = await reader.channels(tip);
  const channels = all.filter(({ archived }) => archived !== true);
  const open = wanted === undefined ? usualAmong(channels) : matching(channels, wanted);
  // An archived channel can be read by its name as long as no other channel has it.
  const matches = wanted !== undefined && open.length === 0 ? matching(all, wanted) : open;
  const [only, ...more] = matches;
  if (only !== undefined && more.length === 0) return only;
  const listed = listChannels(matches.length > 0 ? matches : channels);
  if (channels.length === 0 && wanted === undefined)
    throw new CrosstalkError(
      'not_found',
      all.length === 0
        ? 'no channel in this transport; make one with: crosstalk channel create <name>'
        : `every channel is archived: ${listChannels(all)}; bring one back with: crosstalk channel archive --undo <name or id>, or make one with: crosstalk channel create <name>`,
    );
  if (wanted !== undefined && matches.length === 0) {
    const configured = given === undefined && dispatch.channel === undefined;
    throw new CrosstalkError(
      'not_found',
      `no channel ${shown(wanted)}${configured ? ', which git config crosstalk.channel says,' : ''} in this transport, which has ${listed}; ${configured ? 'set another with: git config crosstalk.channel <name>' : 'make one with: crosstalk channel create <name>'}`,
    );
  }
  throw new CrosstalkError(
    'ambiguous',
    wanted === undefined
      ? `several channels: ${listed}; say which with --channel <name or id>, or for this clone with: git config crosstalk.channel <name or id>`
      : `several channels match ${shown(wanted)}: ${listed}; say which with --channel <id>`,
  );
}

/**
 * Does the same as {@link resolveChannel} for a writer.
 *
 * @throws CrosstalkError `refused` for an archived channel
 */
export async function openChannel(context: Context, given: string | undefined): Promise<Channel> {
  const found = await resolveChannel(context, given);
  if (found.archived !== true) return found;
  const all = await context.reader.channels(await tipOf(context));
  const open = listChannels(all.filter(({ archived }) => archived !== true));
  throw new CrosstalkError(
    'refused',
    `the channel ${escapeInvisible(found.name)} is archived; open another (${open}), bring it back with: crosstalk channel archive --undo ${found.id}, or read it with: crosstalk log ${found.id}`,
  );
}

/**
 * Returns the channel for a message that names none: that of `git config crosstalk.channel`, otherwise the one called
 * `general`, otherwise the only one.
 *
 * @returns undefined where one has to be named
 */
export function defaultChannelOf(
  context: Context,
  channels: readonly Channel[],
): Channel | undefined {
  const configured = nonEmpty(context.transport.defaults.channel);
  const matches = configured === undefined ? usualAmong(channels) : matching(channels, configured);
  return matches.length === 1 ? matches[0] : undefined;
}

/** The name of the channel that `init` makes. */
const USUAL = 'general';

/** Selects the channels that may be meant where none is named: those with the usual name, otherwise all. */
function usualAmong(channels: readonly Channel[]): readonly Channel[] {
  const usual = channels.filter(({ name }) => name === USUAL);
  return usual.length === 0 ? channels : usual;
}

/** The number of digits of a channel's id that lists show. */
const SHOWN_DIGITS = 8;

function matching(channels: readonly Channel[], wanted: string): Channel[] {
  const named = channels.filter(({ name, id }) => name === wanted || id === wanted);
  const prefixed = channels.filter(
    ({ id }) => /^[0-9a-fA-F-]{2,}$/.test(wanted) && id.startsWith(wanted),
  );
  // Lists show this many digits of an id, so a channel with such a name must not receive its
  // messages.
  if (wanted.length >= SHOWN_DIGITS) return [...new Set([...named, ...prefixed])];
  return named.length > 0 ? named : prefixed;
}

function listChannels(channels: readonly Channel[]): string {
  if (channels.length === 0) return 'none';
  const sorted = [...channels].sort((a, b) => (a.name < b.name ? -1 : 1));
  const listed = sorted.slice(0, 8).map(({ id, name }) => `${name} (${id.slice(0, 8)})`);
  return channels.length > 8
    ? `${listed.join(', ')} and ${String(channels.length - 8)} more`
    : listed.join(', ');
}

/**
 * Finds a message by relPath, `<channel>/<relPath>`, or unique hex suffix (cli.md). Messages that are still in the
 * outbox are included.
 *
 * @throws CrosstalkError `not_found`, `ambiguous`, or `usage` for a text that cannot be a message's name
 */
export async function resolveMessage(context: Context, given: string): Promise<MessageRef> {
  const all = await candidates(context, given.trim());
  const original = all.length > 1 ? await firstOf(context, all) : undefined;
  const refs = original === undefined ? all : [original];
  const [only, ...more] = refs;
  if (only === undefined) {
    throw new CrosstalkError(
      'not_found',
      `no message ${shown(given)} in this transport; check the path, or bring news with: crosstalk sync`,
    );
  }
  if (more.length > 0) {
    const listed = refs.slice(0, 5).map(messageKey).join(', ');
    throw new CrosstalkError(
      'ambiguous',
      `several messages match ${shown(given)}: ${listed}; give <channel>/<relPath>`,
    );
  }
  return only;
}

/**
 * Of messages with the same path in several channels, the one that was there first: nobody can know
 * a path before it is published, so the others are copies and must not hide the original.
 *
 * @returns undefined when history does not determine it, or the paths differ
 */
async function firstOf(
  context: Context,
  refs: readonly MessageRef[],
): Promise<MessageRef | undefined> {
  const { transport } = context;
  if (new Set(refs.map(({ relPath }) => relPath)).size > 1) return undefined;
  const paths = refs.map(({ channel, relPath }) => messageFile(channel, relPath));
  const [first] = await transport.order(undefined, await tipOf(context), paths);
  const original = refs[paths.indexOf(first ?? '')];
  if (original !== undefined)
    context.note(
      `${original.relPath} stands in ${String(refs.length)} channels; the first is meant: ${original.channel}`,
    );
  return original;
}

async function candidates(context: Context, given: string): Promise<MessageRef[]> {
  const isPath: boolean = isRelPath(given);
  if (isPath) return withRelPath(context, given);
  const slash = given.indexOf('/');
  const relPath = given.slice(slash + 1);
  if (slash > 0 && isRelPath(relPath)) {
    const channel = await resolveChannel(context, given.slice(0, slash));
    return (await withRelPath(context, relPath)).filter((ref) => ref.channel === channel.id);
  }
  if (/^[0-9a-fA-F]{4,64}$/.test(given)) return withSuffix(context, given);
  throw new CrosstalkError(
    'usage',
    `${shown(given)} is no message: expected YYYY/MM/DD/HHMMSSmmmZ-<hex>.md, <channel>/<that>, or its hex suffix`,
  );
}

async function withRelPath(context: Context, relPath: string): Promise<MessageRef[]> {
  const { transport } = context;
  const tip = await tipOf(context);
  const folders = await transport.list(tip, [CHANNELS]);
  const ids = folders.map(({ path }) => path.slice(CHANNELS.length + 1)).filter(isChannelId);
  const found = await Promise.all(
    ids.map(async (channel) => {
      const object = await transport.objects.read(`${tip}:${messageFile(channel, relPath)}`);
      return object === undefined ? [] : [{ channel, relPath }];
    }),
  );
  const queued = (await queuedMessages(context)).filter((ref) => ref.relPath === relPath);
  return unique([...found.flat(), ...queued]);
}

/** The most matches that are looked up; more are as ambiguous. */
const MAX_MATCHES = 50;

async function withSuffix(context: Context, suffix: string): Promise<MessageRef[]> {
  const all = await withIndex(context, {}, (index) => index.withSuffix(suffix, MAX_MATCHES));
  const queued = (await queuedMessages(context)).filter(({ relPath }) =>
    suffixOf(relPath).startsWith(suffix),
  );
  const known = unique([...all, ...queued]);
  const exact = known.filter(({ relPath }) => suffixOf(relPath) === suffix);
  return exact.length > 0 ? exact : known;
}

function unique(refs: readonly MessageRef[]): MessageRef[] {
  const refOf = ({ channel, relPath }: MessageRef): MessageRef => ({ channel, relPath });
  return [...new Map(refs.map((ref) => [messageKey(ref), refOf(ref)])).values()];
}

/**
 * Returns the sender: `--from`, the actor of the dispatch, `CROSSTALK_FROM`, `git config crosstalk.from`, or the
 * login name (cli.md).
 */
export function resolveFrom(context: Context, given: string | undefined, login: string): string {
  const chosen = given ?? writerOf(context) ?? context.transport.defaults.from;
  const name = chosen ?? toName(login) ?? 'operator';
  if (isName(name)) return name;
  throw new CrosstalkError(
    'usage',
    `the sender ${shown(name)} is not a name (letters, digits, . _ -, at most 64); give another with --from <name>`,
  );
}

/** Returns the text, or undefined if it is empty. */
export function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}
