import { profileFiles } from '../../protocol/layout.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import { tipOf, type Context } from '../context.ts';
import { deliverOrNote } from '../deliver.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { servedBy } from '../lookup/people.ts';
import { removeActor } from './set-actor.ts';

/** The removed parts and the remaining parts of an actor. */
export interface GoneActor {
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
  return { ...done, profile: { path, last } };
}
