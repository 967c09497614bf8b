import { CrosstalkError } from '../../errors.ts';
import { resolveFrom } from '../../actions/lookup/resolve.ts';
import { noteSeen } from '../../actions/lookup/seen.ts';
import { replies, type RepliesInput } from '../../actions/reading/replies.ts';
import { flag, inTransport, type Call } from '../command/command.ts';
import { EXIT } from '../command/io.ts';
import { TIMEOUT, NO_WAITING, type CommandSpec } from '../command/spec.ts';
import { ended, heldUpTo, messagesOf, printReplied, timeoutOf } from '../view/talk.ts';

export const commands: readonly CommandSpec[] = [
  {
    // `wait` that looks once, and may so be used by runs.
    name: 'replies',
    hidden: true,
    args: '[messages...]',
    summary: 'the replies to messages that are there now',
    options: [
      ['--re <messages>', 'the messages, separated by commas'],
      ['--wait', 'wait until each is answered'],
      TIMEOUT,
    ],
    inRun: { wait: NO_WAITING, timeout: NO_WAITING },
    example: 'crosstalk replies --wait 2026/06/09/190000000Z-1f2e3d4c.md',
    run,
  },
  {
    name: 'wait',
    args: '<messages...>',
    summary: 'the replies to messages, as soon as they are answered',
    details:
      'With --timeout 0 it looks once: what is not answered is PENDING, and the exit code 3.',
    options: [
      ['--all', 'when each is answered (default)'],
      ['--any', 'when the first is answered'],
      TIMEOUT,
    ],
    notInRun: NO_WAITING,
    example: 'crosstalk wait 1f2e3d4c',
    run,
  },
];

/** Runs `replies`, and `wait`, which waits without an option. */
async function run(call: Call): Promise<number> {
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
