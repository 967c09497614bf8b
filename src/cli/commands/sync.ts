import { CrosstalkError } from '../../errors.ts';
import { countOf } from '../../protocol/text/words.ts';
import { recreate, sync } from '../../actions/sync.ts';
import { flag, inTransport, isYes, note, print, text, type Call } from '../command/command.ts';
import type { CommandSpec } from '../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'sync',
    summary: 'push the outbox, bring news, fast-forward the checkout',
    options: [
      ['--window <days>', 'from now on the checkout shows messages of so many days: 7d, or all'],
      ['--retry', 'try again what could not be published as it was and is kept aside'],
      ['--republish', 'push again all that this machine wrote and a remote that was set back lost'],
      ['--accept', 'give that up instead: none of it comes back'],
      ['--recreate', 'put the bus back on a remote that has lost it, or has another in its place'],
    ],
    example: 'crosstalk sync',
    run,
  },
];

function run(call: Call): Promise<number> {
  if (flag(call, 'republish') && flag(call, 'accept'))
    throw new CrosstalkError('usage', 'give either --republish or --accept');
  return inTransport(
    call,
    async (context) => {
      const { ask } = call.io;
      const confirm = async (what: string): Promise<boolean> =>
        ask === undefined || isYes(await ask(`Put back ${what}? [y/N] `));
      if (flag(call, 'recreate') && !(await recreate(context, confirm))) return 1;
      const synced = await sync(context, {
        window: text(call, 'window'),
        retry: flag(call, 'retry'),
        loss: flag(call, 'republish') ? 'republish' : flag(call, 'accept') ? 'accept' : undefined,
      });
      if (synced.mended !== undefined)
        note(
          call,
          `damaged objects of the clone that were removed and asked for again: ${String(synced.mended)}`,
        );
      if (synced.decided !== undefined)
        note(
          call,
          synced.decided === 0
            ? 'nothing that this machine wrote is lost'
            : `${countOf(synced.decided, 'lost file')} ${flag(call, 'republish') ? 'to be pushed again' : 'given up: none of it comes back'}`,
        );
      if (synced.reason !== null) note(call, `${synced.reason}; nothing is lost, try again later`);
      if (synced.held > 0)
        note(
          call,
          `held, as it looks like a secret: ${String(synced.held)}; see it with: crosstalk outbox`,
        );
      const { checkout } = synced;
      print(call, synced, () =>
        [
          `Pushed: ${String(synced.pushed)}${synced.left > 0 ? `, not on the remote: ${String(synced.left)}` : ''}`,
          `Checkout: ${checkout.state === 'left' ? `left as it is, ${checkout.reason}` : checkout.state}${synced.window === 'all' ? '' : `, messages of the last ${synced.window}`}`,
        ].join('\n'),
      );
      return synced.reason === null && synced.held === 0 ? 0 : 1;
    },
    { anyVersion: true },
  );
}
