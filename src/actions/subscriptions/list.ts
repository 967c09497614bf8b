import type { WebSubscription, WebSubscriptions } from '../../api/api.ts';
import { onceMarker } from '../../bus/automation/happened.ts';
import { SubscriptionFiles, type SubscriptionFile } from '../../bus/automation/subscriptions.ts';
import { formatSource, subscribersOf, type Match } from '../../protocol/automation/subscription.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { namedFile } from '../lookup/naming.ts';

export type { WebSubscription as ShownSubscription };

/** A subscription with its file. */
export interface WholeSubscription extends WebSubscription {
  text: string;
}

/** Lists every subscription of the transport, by name. */
export async function listSubscriptions(context: Context): Promise<WebSubscription[]> {
  await refreshOrNote(context);
  const { subscriptions, beyond } = await subscriptionsHere(context);
  if (beyond > 0)
    context.note(`${String(beyond)} files of local/subscriptions were passed over: too many`);
  return subscriptions;
}

/** Lists the same at the newest commit that is known here. */
export async function subscriptionsHere(context: Context): Promise<WebSubscriptions> {
  const tip = await tipOf(context);
  const { files, beyond } = await new SubscriptionFiles(context.transport).at(tip);
  return {
    subscriptions: await Promise.all(files.map((file) => shownOf(context, tip, file))),
    beyond,
  };
}

/**
 * Returns a subscription with its file.
 *
 * @throws CrosstalkError `not_found`
 */
export async function showSubscription(context: Context, name: string): Promise<WholeSubscription> {
  await refreshOrNote(context);
  const file = await findSubscription(context, name);
  return { ...(await shownOf(context, await tipOf(context), file)), text: file.text };
}

/**
 * Finds the file of a subscription.
 *
 * @throws CrosstalkError `not_found`
 */
export async function findSubscription(context: Context, name: string): Promise<SubscriptionFile> {
  const { files } = await new SubscriptionFiles(context.transport).at(await tipOf(context));
  return namedFile(files, 'subscription', name);
}

async function shownOf(
  { reader }: Context,
  tip: string,
  { name, path, result }: SubscriptionFile,
): Promise<WebSubscription> {
  if (!result.ok) {
    const unknown = { source: null, to: null, channel: null, tier: null, match: null, host: null };
    const facts = { once: false, fired: false, enabled: true, problems: result.problems };
    return { name, path, ...unknown, ...facts };
  }
  const { source, channel, tier, match, host, once, enabled } = result.value;
  return {
    name,
    path,
    source: formatSource(source),
    to: subscribersOf(result.value),
    channel: channel ?? null,
    tier: tier ?? null,
    match: match === undefined ? null : matchText(match),
    host: host ?? null,
    once,
    fired: once && (await reader.text(tip, onceMarker(result.value))) !== undefined,
    enabled,
    problems: [],
  };
}

function matchText(match: Match): string {
  return match.kind === 'word' ? match.word : `/${match.source}/${match.flags}`;
}
