import { CrosstalkError } from '../../errors.ts';
import { EVERYONE } from '../../protocol/address.ts';
import { SCHEDULE_SENDER } from '../../protocol/automation/schedule.ts';
import { SUBSCRIPTION_SENDER } from '../../protocol/automation/subscription.ts';
import { isName } from '../../protocol/names.ts';
import { sameButCase } from '../../protocol/text/nearest.ts';
import { shown } from '../../protocol/text/result.ts';
import { tipOf, type Context } from '../context.ts';
import { isPerson } from '../lookup/people.ts';
import { knownActors } from './actors.ts';

/** @throws CrosstalkError `usage` for an invalid name of a new actor */
export function assertActorName(name: string): void {
  if (!isName(name))
    throw new CrosstalkError(
      'usage',
      `the actor ${shown(name)} is not a name (letters, digits, . _ -, at most 64); choose another`,
    );
  if (name === EVERYONE)
    throw new CrosstalkError('usage', `${name} means everybody; choose another name for the actor`);
  if (name === SUBSCRIPTION_SENDER || name === SCHEDULE_SENDER)
    throw new CrosstalkError(
      'usage',
      `the tasks of every ${name} are from ${name}, so an actor of that name would be woken by each answer to one; choose another name for the actor`,
    );
}

/**
 * Refuses an actor with the name of a person, whose mail would wake it, and notes one whose name differs
 * only in upper and lower case from that of another actor, or of the writer.
 *
 * @param writer the person who writes in this clone
 * @throws CrosstalkError `refused`
 */
export async function assertNoPerson(
  context: Context,
  { name, writer }: { name: string; writer: string },
): Promise<void> {
  const actors = (await knownActors(context)).map((actor) => actor.name);
  const isWriter = name === writer;
  if (
    isWriter ||
    (!actors.includes(name) && (await isPerson(context, await tipOf(context), { name })) === true)
  )
    throw new CrosstalkError(
      'refused',
      `${name} is ${isWriter ? 'who writes in this clone' : 'a person who has written here'}, and an actor of that name would be woken by that person's mail; choose another name for the actor${isWriter ? ', or for yourself: git config crosstalk.from <name>' : ''}`,
    );
  const twin = sameButCase(name, [...actors, writer]);
  if (twin !== undefined) context.note(twin);
}

/** @throws CrosstalkError `refused` for a person who would write under the name of an actor here */
export async function assertNoActor(context: Context, writer: string): Promise<void> {
  const actors = (await knownActors(context)).filter(({ hosts }) => hosts.length > 0);
  if (actors.some((actor) => actor.name === writer))
    throw new CrosstalkError(
      'refused',
      `${writer} is an actor here, and your mail would be its own; say who you are with --from <name>`,
    );
}
