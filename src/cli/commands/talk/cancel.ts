import { cancel } from '../../../actions/sending/cancel.ts';
import { sentJson } from '../../../actions/shapes/as-json.ts';
import { given, inTransport, note, print, flag, text, type Call } from '../../command/command.ts';
import { EXIT } from '../../command/io.ts';
import { FROM, type CommandSpec } from '../../command/spec.ts';
import { whereWords } from '../../view/sent.ts';
import { CANCEL } from '../../../present/parameters.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'cancel',
    args: '<message>',
    summary: 'take a message back: what waits for it or runs for it is ended',
    options: [
      ['--reason <text>', CANCEL.reason],
      ['--only', CANCEL.only],
      ['--as-operator', 'take back what others wrote and no host serves'],
      FROM,
      ['--no-wait', 'return as soon as the cancellation is safely queued'],
    ],
    details:
      'Only whoever wrote a message can take it back; what no host serves, any person may with --as-operator. Its runs are ended on every host that works on it, and the tasks that were given to others for it too. What was finished before is not taken back. Whoever waits for the answer is told.',
    example: 'crosstalk cancel 1f2e3d4c --reason "the tests are fixed"',
    run,
  },
];

async function run(call: Call): Promise<number> {
  const { io } = call;
  const input = {
    message: call.args[0] ?? '',
    reason: text(call, 'reason'),
    only: flag(call, 'only'),
    ...(flag(call, 'asOperator') && { asOperator: true }),
    ...given(call, 'from'),
    wait: call.options['wait'] !== false,
    login: io.login,
  };
  await inTransport(call, async (context) => {
    const { cancelled, already, ...sent } = await cancel(context, input, {
      ...whereWords(call),
    });
    io.lastWord('');
    const { delivered, messages } = sent;
    if (already === true)
      note(call, `${cancelled} is cancelled already, by ${messages[0]?.relPath ?? ''}`);
    if (!delivered.published)
      note(call, `other hosts go on until this is on the remote: ${delivered.reason}`);
    print(call, { ...sentJson(sent), cancelled }, () => `Cancelled: ${cancelled}`);
  });
  return EXIT.ok;
}
