import { CrosstalkError } from '../../errors.ts';
import { replies, type RepliesInput } from '../../operations/reading/replies.ts';
import { flag, inTransport, type Call } from '../command/command.ts';
import { EXIT } from '../command/exit.ts';
import { messagesOf, printReplied, timeoutOf } from '../view/replied.ts';

export async function run(call: Call): Promise<number> {
  const any = flag(call, 'any');
  if (any && flag(call, 'all'))
    throw new CrosstalkError('usage', '--all and --any were given; give one of them');
  const input: RepliesInput = {
    messages: messagesOf(call),
    wait: any ? 'any' : 'all',
    timeout: timeoutOf(call),
    signal: call.io.stop,
  };
  return inTransport(call, async (context) => {
    const { complete, found } = await replies(context, input);
    printReplied(call, found);
    return complete ? EXIT.ok : EXIT.timedOut;
  });
}
