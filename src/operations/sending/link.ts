import { linkOf, type DispatchLink } from '../../agents/dispatch-variables.ts';
import { CrosstalkError } from '../../errors.ts';
import { chainLevels, type Lookup } from '../../protocol/causality.ts';
import type { Located } from '../../protocol/message.ts';
import { isChannelId, isName, isRelPath } from '../../protocol/names.ts';
import { refFrom } from '../../protocol/reference.ts';
import { shown } from '../../protocol/text/result.ts';
import { tipOf, type Context } from '../context.ts';
import type { SendInput } from './input.ts';
import type { Target } from './target.ts';

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
  /** In a run: the only message that may be answered, because it was named. */
  named?: Located;
}

/**
 * Determines how the dispatch in which a `send` is made links its messages.
 *
 * @param channel id of the channel it is for
 * @param target the message to which it is a reply
 *
 * @throws CrosstalkError `usage` when `for` names none of the messages being processed, or several;
 *   in a run, when `target` is none of those that led to it
 */
export async function linked(
  context: Context,
  channel: string,
  input: SendInput,
  target?: Target,
): Promise<Linked> {
  const { isNew } = input;
  const link = linkOf(context.dispatch);
  const { id, host } = link;
  if (target !== undefined && (id === undefined || isNew)) return answering(context, target);
  const home = isChannelId(link.channel) ? link.channel : channel;
  const paths = processed(link, input).filter(isRelPath);
  const isLinked = !isNew && paths.length > 0;
  const tip = await readAt(context, link.tip);
  const triggers = isLinked ? await context.reader.messages(tip, home, paths) : [];
  const lookup = await context.reader.chain(tip, home, triggers);
  return {
    ...(id === undefined ? {} : { id }),
    ...(host === undefined || !isName(host) ? {} : { host }),
    triggers,
    home,
    follows: id !== undefined && (home === channel || target !== undefined),
    lookup,
    ...(target && { named: inChain(target, home, chainLevels(triggers, lookup).flat()) }),
  };
}

/** Links a reply that is written outside a run to the message that it answers, and to nothing else. */
async function answering(context: Context, target: Target): Promise<Linked> {
  const { channel, relPath, message } = target;
  const triggers = [{ relPath, message }];
  const behind = await context.reader.chain(await tipOf(context), channel, triggers);
  // It may wait in the outbox, which the reader does not know.
  const lookup: Lookup = (ref) => (ref === relPath ? message : behind(ref));
  return { triggers, home: channel, follows: false, lookup };
}

/**
 * A run replies to what it processes, and to what led to that: an answer to anything else would be
 * one that nobody in this thread waits for.
 */
function inChain({ channel, relPath }: Target, home: string, chain: readonly Located[]): Located {
  const ref = refFrom(home, channel, relPath);
  const found = chain.find((located) => located.relPath === ref);
  if (found !== undefined) return found;
  throw new CrosstalkError(
    'usage',
    `${relPath} is none of the messages being processed, nor did it lead to them; write to its sender with: crosstalk send --to <name>`,
  );
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
