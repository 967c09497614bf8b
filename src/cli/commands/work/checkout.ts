import { linkCheckout } from '../../../actions/checkout.ts';
import { inTransport, print, type Call } from '../../command/command.ts';
import type { CommandSpec } from '../../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'checkout',
    args: '<dir>',
    summary: 'put the files of the bus before your eyes, in a folder that follows it',
    details:
      'The folder is a link to the clone of the bus, for an editor or a file manager. Remove it with: rm <dir>',
    notInRun: 'for people: a run has no use for it',
    example: 'crosstalk checkout ~/app-bus',
    run,
  },
];

function run(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const made = await linkCheckout(context, call.args[0] ?? '');
    return print(call, made, () => `${made.dir} shows the bus, and follows it: ${made.clone}`);
  });
}
