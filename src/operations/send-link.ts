import { CrosstalkError } from '../errors.ts';
import type { Lookup } from '../protocol/causality.ts';
import type { Located } from '../protocol/message.ts';
import { isName, isRelPath } from '../protocol/names.ts';
import { shown } from '../protocol/result.ts';
import { tipOf, type Context } from './context.ts';
import type { SendInput } from './send.ts';

const OID = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

/**
 * What the dispatch that a `send` is made in makes of it. Links are paths inside one channel, so a
 * message to another channel carries none.
 *
 * @throws CrosstalkError `usage` when `for` names none of the messages being processed, or several
 */
export async function linkOf(
  context: Context,
  channel: string,
  input: SendInput,
): Promise<{ id?: string; host?: string; triggers: Located[]; lookup: Lookup }> {
  const { link = {}, isNew } = input;
  const { id, host } = link;
  const paths = processed(input).filter(isRelPath);
  const linked = !isNew && (link.channel ?? channel) === channel && paths.length > 0;
  const tip = await readAt(context, link.tip);
  const triggers = linked ? await context.archive.messages(tip, channel, paths) : [];
  return {
    ...(id === undefined ? {} : { id }),
    ...(host === undefined || !isName(host) ? {} : { host }),
    triggers,
    lookup: await context.archive.chain(tip, channel, triggers),
  };
}

/**
 * The commit at which what is processed is read: where the run was handed it, since it may have left
 * the bus meanwhile, with a history that was set back or with files that somebody removed.
 */
async function readAt(context: Context, tip = ''): Promise<string> {
  const isHere = OID.test(tip) && (await context.transport.objects.read(`${tip}^{commit}`));
  return isHere ? tip : tipOf(context);
}

/** The messages being processed that it is about: all, or the one that is named. */
function processed({ link = {}, isNew, for: about }: SendInput): readonly string[] {
  const { triggers = [] } = link;
  if (about === undefined) return triggers;
  const problem = (text: string): CrosstalkError =>
    new CrosstalkError('usage', `--for ${shown(about)} ${text}`);
  if (isNew) throw problem('and --new contradict each other; leave one of them out');
  if (triggers.length === 0) throw problem('is for a run, which is handed messages; leave it out');
  const found = about === '' ? [] : triggers.filter((path) => stem(path).endsWith(stem(about)));
  if (found.length === 1) return found;
  throw problem(
    `names ${found.length === 0 ? 'none' : 'several'} of the messages being processed: ${triggers.slice(0, 5).join(', ')}; give the ref of one`,
  );
}

function stem(path: string): string {
  return path.replace(/\.md$/, '');
}
