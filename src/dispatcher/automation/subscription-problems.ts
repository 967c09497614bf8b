import type { SubscriptionFiles } from '../../bus/automation/subscriptions.ts';
import { channelNamed } from '../../protocol/automation/channel-named.ts';
import type { Channel } from '../../protocol/files/channel.ts';
import { shown } from '../../protocol/text/result.ts';

/** A subscription that cannot be followed as it stands, for people. */
export interface SubscriptionProblem {
  /** Empty for what is about no single one. */
  subscription: string;
  problem: string;
}

/**
 * What is wrong with the subscriptions of a commit: files that cannot be read, channels that are not
 * there, and files beyond the most that are looked at.
 *
 * @param channels of the same commit; asked for only where a subscription names one
 */
export async function problemsOf(
  { files, beyond }: Awaited<ReturnType<SubscriptionFiles['at']>>,
  channels: () => Promise<Channel[]>,
): Promise<SubscriptionProblem[]> {
  const found: SubscriptionProblem[] = [];
  let there: Channel[] | undefined;
  for (const { name, path, result } of files) {
    const note = (problem: string): void => {
      found.push({ subscription: name, problem: `${shown(path).slice(1, -1)}: ${problem}` });
    };
    if (!result.ok) note(result.problems.join('; '));
    else if (result.value.channel !== undefined && result.value.enabled) {
      const named = channelNamed((there ??= await channels()), result.value.channel);
      if ('problem' in named) note(named.problem);
    }
  }
  const problem = `${String(beyond)} files of local/subscriptions were passed over: there are too many`;
  // First, as only some of many are shown.
  return beyond === 0 ? found : [{ subscription: '', problem }, ...found];
}
