import { CrosstalkError } from '../../errors.ts';
import { resolveFrom } from '../../operations/lookup/resolve.ts';
import { noteSeen } from '../../operations/lookup/seen.ts';
import { replies, type RepliesInput } from '../../operations/reading/replies.ts';
import { flag, inTransport, type Call } from '../command/command.ts';
import { EXIT } from '../command/io.ts';
import { ended, heldUpTo, messagesOf, printReplied, timeoutOf } from '../view/talk.ts';

/** `replies`, and `wait`, which waits without being told to. */
export async function run(call: Call): Promise<number> {
  const wait = waitOf(call);
  const input: RepliesInput = {
    messages: messagesOf(call),
    timeout: timeoutOf(call),
    signal: call.io.stop,
    heldUp: heldUpTo(call),
    ...(wait && { wait }),
  };
  return inTransport(call, async (context) => {
    const { ending, found } = await replies(context, input);
    printReplied(call, found);
    const shown = found.flatMap(({ ref: { channel }, replies: list }) =>
      list.map((one) => ({ ...one, channel })),
    );
    await noteSeen(context, resolveFrom(context, undefined, call.io.login), shown);
    return wait === undefined ? EXIT.ok : ended(call, ending, found);
  });
}

function waitOf(call: Call): 'all' | 'any' | undefined {
  if (call.name === 'replies') return flag(call, 'wait') ? 'all' : undefined;
  const any = flag(call, 'any');
  if (any && flag(call, 'all'))
    throw new CrosstalkError('usage', '--all and --any were given; give one of them');
  return any ? 'any' : 'all';
}
