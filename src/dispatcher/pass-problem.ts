import type { Ticked, TickParts } from './tick.ts';

/** What kept a single pass from doing all of its work, and what to do; undefined if nothing did. */
export async function problemOfPass(
  { dispatcher, hosts, publisher, outbox }: TickParts,
  { failure }: Ticked,
): Promise<string | undefined> {
  const stalled = dispatcher.stalled.first;
  if (stalled !== undefined)
    return `mail is left waiting: ${stalled.reason}; nothing is lost, try again`;
  if (failure !== undefined)
    return `could not ask the remote: ${failure.reason}; nothing is lost, try again`;
  if (hosts.active === undefined) return hosts.problem ?? 'no host file';
  const left = (await outbox.all()).length;
  if (left === 0) return undefined;
  const reason = publisher.failing?.reason ?? 'the push was not tried';
  return `still in the outbox: ${String(left)}, because ${reason}; pushed at the next run`;
}
