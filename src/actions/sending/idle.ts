import { noDispatcherFor } from '../../present/holds.ts';
import { parseAddress } from '../../protocol/address.ts';
import { debtorsOf } from '../../protocol/owed.ts';
import { holderOf } from '../../state/lock.ts';
import type { Context } from '../context.ts';
import { servedBy } from '../lookup/people.ts';
import { findServed } from '../setup/hosts.ts';
import type { Sent } from './input.ts';

/**
 * Notes that a message waits because this machine would serve an addressee and no dispatcher runs here. The message
 * is sent by then, so a failure to find this out is not an error.
 */
export async function noteIdle(context: Context, sent: Sent): Promise<void> {
  const alias = await idleHost(context, sent).catch(() => undefined);
  if (alias !== undefined) context.note(noDispatcherFor(alias));
}

async function idleHost(context: Context, { from, messages }: Sent): Promise<string | undefined> {
  const { agentMode, publish, paths } = context;
  if (agentMode !== undefined || publish !== undefined) return undefined;
  if ((await holderOf(paths.root, 'dispatcher')) !== undefined) return undefined;
  const { found } = await findServed(context, undefined);
  if (found.kind !== 'found') return undefined;
  const { alias } = found.file;
  const to = messages.flatMap((message) =>
    message.to.flatMap((text) => {
      const address = parseAddress(text);
      return address.ok ? [address.value] : [];
    }),
  );
  const { serving } = await servedBy(context);
  const here = serving.filter((host) => host.alias === alias);
  const owing = debtorsOf({ from, to }, { serving: here, unreadable: [] });
  const isServed = owing.some(
    ({ actor, host }) => host === alias && here.some(({ actors }) => actors.includes(actor)),
  );
  return isServed ? alias : undefined;
}
