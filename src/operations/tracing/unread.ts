import { noDispatcher } from '../../protocol/text/dispatcher.ts';
import { holderOf } from '../../state/lock.ts';
import type { Context } from '../context.ts';
import { isPerson } from '../lookup/person.ts';
import { servedBy, unservedLine } from '../lookup/serving.ts';
import { findServed } from '../setup/hosts.ts';

/**
 * Why nobody reads mail for an actor at the moment, in one line: no host serves it, or this machine alone
 * does and no dispatcher runs here. Undefined where it is read, as far as this machine knows.
 */
export async function whyUnread(
  context: Context,
  { name, host }: { name: string; host: string | undefined },
): Promise<string | undefined> {
  const { serving, unreadable } = await servedBy(context);
  const aliases = serving.flatMap(({ alias, actors }) =>
    actors.includes(name) && (host === undefined || host === alias) ? [alias] : [],
  );
  const [only, ...others] = aliases;
  if (only === undefined) {
    const address = host === undefined ? { name } : { name, host };
    const isRead = unreadable.length > 0 || (await isPerson(context, address)) === true;
    return isRead ? undefined : unservedLine(address, serving);
  }
  if (others.length > 0 || context.agentMode !== undefined) return undefined;
  if ((await holderOf(context.paths.root, 'dispatcher')) !== undefined) return undefined;
  const { found } = await findServed(context, undefined);
  return found.kind === 'found' && found.file.alias === only ? noDispatcher(only) : undefined;
}
