import { cancel } from '../../../operations/sending/cancel.ts';
import { sentJson } from '../../../operations/shapes/as-json.ts';
import { given, inTransport, note, print, flag, text, type Call } from '../../command/command.ts';
import { EXIT } from '../../command/io.ts';
import { whereWords } from '../../view/sent.ts';

export async function run(call: Call): Promise<number> {
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
