import { CrosstalkError } from '../../errors.ts';
import type { Objects } from '../objects/objects.ts';
import type { Repository } from '../clone/handle.ts';
import { fastForward } from './checkout.ts';
import type { CheckoutState, Epochs, Plan } from './plan.ts';
import { catchUp } from './solo-checkout.ts';

/**
 * Brings the checkout to a commit of the bus, whether the bus has a remote or is this clone alone. What is in
 * the place of a file of git in the clone holds up the checkout, but not the mail.
 *
 * @param showing `folders`: those that are shown, undefined for all that may be; `ahead`: a plan that was made
 *   a moment ago
 */
export async function follow(
  repository: Repository,
  { objects, epochs }: { objects: Objects; epochs: Epochs },
  tip: string,
  { folders, ahead }: { folders: readonly string[] | undefined; ahead?: Plan | undefined },
): Promise<CheckoutState> {
  try {
    return repository.origin === undefined
      ? await catchUp(repository, objects, tip, folders)
      : await fastForward(repository, objects, tip, epochs, folders, ahead);
  } catch (error) {
    if (error instanceof CrosstalkError && error.code === 'git_failed')
      return { state: 'left', reason: error.message };
    throw error;
  }
}
