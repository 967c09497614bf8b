import { replies } from '../../operations/reading/replies.ts';
import { flag, inTransport, type Call } from '../command/command.ts';
import { EXIT } from '../command/exit.ts';
import { messagesOf, printReplied, timeoutOf } from '../view/replied.ts';

export async function run(call: Call): Promise<number> {
  const wait = flag(call, 'wait');
  const input = {
    messages: messagesOf(call),
    timeout: timeoutOf(call),
    signal: call.io.stop,
    ...(wait && { wait: 'all' as const }),
  };
  return inTransport(call, async (context) => {
    const { complete, found } = await replies(context, input);
    printReplied(call, found);
    return wait && !complete ? EXIT.timedOut : EXIT.ok;
  });
}
