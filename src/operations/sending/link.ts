import type { DispatchLink } from '../../agents/dispatch-variables.ts';
import { CrosstalkError } from '../../errors.ts';
import type { Lookup } from '../../protocol/causality.ts';
import type { Located } from '../../protocol/message.ts';
import { isChannelId, isName, isRelPath } from '../../protocol/names.ts';
import { shown } from '../../protocol/text/result.ts';
import { tipOf, type Context } from '../context.ts';
import { linkIn } from './handed.ts';
import type { SendInput } from './input.ts';

const OID = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

/** The part of the sender's dispatch that concerns the message. */
export interface Linked {
  id?: string;
  host?: string;
  /** The messages being processed that the message is about. */
  triggers: Located[];
  /** The id of their channel. */
  home: string;
  /**
   * Whether an answer goes to the channel in which its addressee asked, because no other channel
   * was chosen.
   */
  follows: boolean;
  /** The messages that the triggers answer, and those that caused them. */
  lookup: Lookup;
}

/**
 * Determines how the dispatch in which a `send` is made links its messages.
 *
 * @param channel id of the channel it is for
 *
 * @throws CrosstalkError `usage` when `for` names none of the messages being processed, or several
 */
export async function linked(context: Context, channel: string, input: SendInput): Promise<Linked> {
  const { isNew } = input;
  const link = linkIn(context.dispatch, input);
  const { id, host } = link;
  const home = isChannelId(link.channel) ? link.channel : channel;
  const paths = processed(link, input).filter(isRelPath);
  const isLinked = !isNew && paths.length > 0;
  const tip = await readAt(context, link.tip);
  const triggers = isLinked ? await context.reader.messages(tip, home, paths) : [];
  return {
    ...(id === undefined ? {} : { id }),
    ...(host === undefined || !isName(host) ? {} : { host }),
    triggers,
    home,
    follows: id !== undefined && home === channel,
    lookup: await context.reader.chain(tip, home, triggers),
  };
}

/**
 * The commit at which the processed messages are read: the one the run received, since they may
 * have left the bus meanwhile, because history was set back or files were removed.
 */
async function readAt(context: Context, tip = ''): Promise<string> {
  const isHere = OID.test(tip) && (await context.transport.objects.read(`${tip}^{commit}`));
  return isHere ? tip : tipOf(context);
}

/** The messages being processed that it is about: all of them, or the one that is named. */
function processed(
  { triggers = [] }: DispatchLink,
  { isNew, for: about }: SendInput,
): readonly string[] {
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
