import { wholeText } from '../whole-text.ts';
import { CrosstalkError } from '../../errors.ts';
import { formatDocument, parseDocumentText } from '../../protocol/text/frontmatter.ts';
import { shown } from '../../protocol/text/result.ts';
import { tipOf, type Context } from '../context.ts';
import { hostsOf } from '../view.ts';
import { profileText } from './actors.ts';
import { thisHost } from './hosts.ts';

/** The most hands that are added at once. */
const MAX_HANDS = 50;

/**
 * The names of parallel hands on this machine: `worker-1`, `worker-2` and so on. A name that two hosts
 * serve is run on both, so those of other hosts are passed over; those of this machine are taken
 * again, so that the same command twice adds nothing.
 *
 * @param hand `count` as it was typed
 * @throws CrosstalkError `usage` for a count that is not a number from 1 to 50, and for an actor that this machine
 *   serves under that very name
 */
export async function namesOfHands(
  context: Context,
  { name, count, host }: { name: string; count: string; host?: string },
): Promise<string[]> {
  const wanted = /^\d{1,2}$/.test(count) ? Number(count) : 0;
  if (wanted < 1 || wanted > MAX_HANDS)
    throw new CrosstalkError(
      'usage',
      `--count ${shown(count)} is not a whole number from 1 to ${String(MAX_HANDS)}`,
    );
  const { alias, actors } = (await thisHost(context, host)).file;
  if (actors.has(name))
    throw new CrosstalkError(
      'usage',
      `--count ${count} would add ${name}-1 and more beside ${name}, which ${alias} serves; for ${count} runs of it at a time: crosstalk actor set ${name} count=${count}`,
    );
  const taken = new Set(
    (await hostsOf(context)).flatMap(({ result }) =>
      result.ok && result.value.alias !== alias ? [...result.value.actors.keys()] : [],
    ),
  );
  const names: string[] = [];
  for (let number = 1; names.length < wanted; number++) {
    const one = `${name}-${String(number)}`;
    if (!taken.has(one)) names.push(one);
  }
  return names;
}

/** The profile at a path, for an actor with another name. */
export async function profileLike(context: Context, path: string, name: string): Promise<string> {
  const text = (await wholeText(context, await tipOf(context), path)) ?? '';
  const document = parseDocumentText(text);
  if (!document.ok) return profileText(name);
  return formatDocument({ ...document.value.fields, name }, document.value.body);
}
