import { wholeText } from '../whole-text.ts';
import { knowProfile, profileInForce, readFrom } from '../../bus/profiles.ts';
import { CrosstalkError } from '../../errors.ts';
import { parseProfile } from '../../protocol/files/actor.ts';
import { optionsOf } from '../../protocol/approval/record.ts';
import { shown } from '../../protocol/text/result.ts';
import { profileFiles } from '../../protocol/layout.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import { BYTE_ORDER_MARK, FENCE, headerPlace } from '../../protocol/text/fences.ts';
import { tipOf, type Context } from '../context.ts';
import { deliverOrNote } from '../deliver.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { approveWrittenServers } from './actor-servers.ts';
import { profileText, showActor } from './actors.ts';
import { servedBy } from '../lookup/people.ts';
import { thisHost, withHeader } from './hosts.ts';
import { removeActor, setActor, tierNamed, type ChangedActor } from './set-actor.ts';

/** A profile from the bus, to be edited. */
export interface EditedProfile {
  /** Path for the edited profile: the operator's own, not the one that came with Crosstalk. */
  path: string;
  text: string;
}

/**
 * Returns the profile of an actor as a text to edit: the operator's own, otherwise the one that comes
 * with this version, otherwise a new one.
 *
 * @throws CrosstalkError `not_found` for an actor that has no profile and that no host serves
 */
export async function profileToEdit(context: Context, name: string): Promise<EditedProfile> {
  const { description } = await showActor(context, name);
  const tip = await tipOf(context);
  const [own, shipped] = profileFiles(name);
  for (const path of [own, shipped]) {
    const text = await wholeText(context, tip, path);
    if (text !== undefined) return { path: own, text };
  }
  return { path: own, text: profileText(name, description === '' ? undefined : description) };
}

/** Adds a profile's header to a text without one; any other text is unchanged. */
function withHeaderOf(profile: string, text: string): string {
  const header = headerPlace(profile);
  const begin = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  if (header === undefined || text.startsWith(FENCE, begin) || text.trim() === '') return text;
  return `${profile.slice(0, header.end)}${FENCE}\n\n${text.slice(begin)}`;
}

/**
 * Publishes an edited profile, or, without a header, the actor's instructions.
 *
 * @param input `before`: the text that was edited, which must still be the one on the bus
 * @returns its path, and whether anything had to be written
 * @throws CrosstalkError `usage` for a text that is not a profile of this actor, `refused` when somebody
 *   else has changed it since
 */
export async function editProfile(
  context: Context,
  input: { name: string; text: string; login: string; from?: string; before?: string },
): Promise<{ path: string; isChanged: boolean; toolsApproved?: boolean }> {
  const { name } = input;
  const { path, text: current } = await profileToEdit(context, name);
  const text = input.before === undefined ? withHeaderOf(current, input.text) : input.text;
  const parsed = parseProfile(text, name);
  if (!parsed.ok)
    throw new CrosstalkError(
      'usage',
      `this is no profile of ${name}: ${parsed.problems.join('; ')}; it begins with a line ---, then name: ${name} and description: <one line>, then ---, then what the actor is told`,
    );
  if (text === current) return { path, isChanged: false };
  if (input.before !== undefined && input.before !== current)
    throw new CrosstalkError('refused', `somebody has changed the profile of ${name} meanwhile`);
  const from = resolveFrom(context, input.from, input.login);
  await deliverOrNote(context, [
    {
      at: context.now().toISOString(),
      author: authorOf(from, context.hostname),
      subject: `crosstalk: profile of ${name}`,
      files: [{ path, content: text }],
    },
  ]);
  await knowProfile(context, name, readFrom(path, parsed.value));
  const was = parseProfile(current, name);
  const before = was.ok ? (was.value.mcps ?? []) : undefined;
  const approved = await approveWrittenServers(context, name, before, parsed.value.mcps ?? []);
  return { path, isChanged: true, ...(approved !== undefined && { toolsApproved: approved }) };
}

/** The setting of an actor that is in its profile, which all hosts share. */
const SERVE = 'serve=';

/**
 * Changes options of an actor as {@link setActor} does, and with `serve=one` in its profile how many of the hosts
 * that serve it take each task.
 *
 * @throws CrosstalkError as {@link setActor} and {@link editProfile} do
 */
export async function setWithProfile(
  context: Context,
  input: Parameters<typeof setActor>[1],
): Promise<ChangedActor> {
  const serve = input.settings.findLast((text) => text.startsWith(SERVE));
  const settings = input.settings.filter((text) => !text.startsWith(SERVE));
  if (serve === undefined) return setActor(context, input);
  const { file } = await thisHost(context, input.host);
  const tier = tierNamed(file, input);
  const options = optionsOf(tier);
  const done =
    settings.length > 0
      ? await setActor(context, { ...input, settings })
      : { host: file.alias, tier: tier.name, before: options, now: options };
  const { was, is } = await setServe(context, input, serve.slice(SERVE.length).trim());
  return { ...done, before: { ...done.before, serve: was }, now: { ...done.now, serve: is } };
}

async function setServe(
  context: Context,
  { name, login }: { name: string; login: string },
  value: string,
): Promise<{ was: string; is: string }> {
  const is = value === '' ? 'all' : value;
  if (is !== 'one' && is !== 'all')
    throw new CrosstalkError(
      'usage',
      `serve is ${shown(value)}, expected all, or one: of all hosts that serve ${name}, one takes each task`,
    );
  const { profile, problem } = await profileInForce(context, await tipOf(context), name);
  if (problem !== undefined)
    throw new CrosstalkError('refused', `${problem}; nothing was changed in it`);
  const { text: before } = await profileToEdit(context, name);
  const text = withHeader(before, (header) => {
    if (is === 'one') header.set('serve', is);
    else header.delete('serve');
  });
  const { isChanged } = await editProfile(context, { name, login, text, before });
  // The operator's word also ends the hold on what somebody else has pushed.
  if (!isChanged) await knowProfile(context, name, profile);
  return { was: profile?.serve ?? 'all', is };
}

/** The removed parts and the remaining parts of an actor. */
interface GoneActor {
  host: string;
  /** The removed tiers, and those that this host still has. */
  tiers: string[];
  left: string[];
  /** The other hosts that serve it. */
  servedBy: string[];
  /** Its own profile: its path, and `last`, the last commit with it, if it was removed. Null without one. */
  profile: { path: string; last?: string } | null;
}

/**
 * Removes an actor, or one of its tiers, from this machine, as {@link removeActor} does, and its own
 * profile from the bus once no host serves it.
 *
 * @throws CrosstalkError as {@link removeActor} does
 */
export async function removeWithProfile(
  context: Context,
  input: Parameters<typeof removeActor>[1],
): Promise<GoneActor> {
  const { name } = input;
  const gone = await removeActor(context, input);
  const { serving, unreadable } = await servedBy(context);
  const others = serving.filter(({ actors }) => actors.includes(name)).map(({ alias }) => alias);
  const last = await tipOf(context);
  const [path] = profileFiles(name);
  const entry = (await context.transport.entriesAt(last, [path])).get(path);
  const done = { ...gone, servedBy: others };
  if (entry === undefined) return { ...done, profile: null };
  // The actors in a host file that cannot be read are not known.
  if (gone.left.length + others.length + unreadable.length > 0)
    return { ...done, profile: { path } };
  const from = resolveFrom(context, undefined, input.login);
  await deliverOrNote(context, [
    {
      at: context.now().toISOString(),
      author: authorOf(from, context.hostname),
      subject: `crosstalk: profile of ${name} removed`,
      files: [],
      clear: path,
      requires: [{ path, oid: entry.oid }],
    },
  ]);
  await knowProfile(context, name, undefined);
  return { ...done, profile: { path, last } };
}
