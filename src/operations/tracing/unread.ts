import { noDispatcher } from '../../protocol/text/dispatcher.ts';
import { holderOf } from '../../state/lock.ts';
import { tipOf, type Context } from '../context.ts';
import { unservedOrPerson } from '../lookup/people.ts';
import { servedBy } from '../lookup/serving.ts';
import { findServed } from '../setup/hosts.ts';

/**
 * Why nobody reads mail for an actor at the moment, in one line: it is a person, no host serves it, or this machine alone
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
  if (only === undefined)
    return unreadable.length > 0
      ? undefined
      : unservedOrPerson(
          context,
          await tipOf(context),
          host === undefined ? { name } : { name, host },
          serving,
        );
  if (others.length > 0 || context.agentMode !== undefined) return undefined;
  if ((await holderOf(context.paths.root, 'dispatcher')) !== undefined) return undefined;
  const { found } = await findServed(context, undefined);
  return found.kind === 'found' && found.file.alias === only ? noDispatcher(only) : undefined;
}
