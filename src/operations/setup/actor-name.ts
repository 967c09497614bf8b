import { CrosstalkError } from '../../errors.ts';
import { EVERYONE } from '../../protocol/address.ts';
import { SCHEDULE_SENDER } from '../../protocol/automation/schedule.ts';
import { SUBSCRIPTION_SENDER } from '../../protocol/automation/subscription.ts';
import { isName } from '../../protocol/names.ts';
import { shown } from '../../protocol/text/result.ts';

/** @throws CrosstalkError `usage` for what no new actor can be called */
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
