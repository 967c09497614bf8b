import { chosenDecision } from '../../../actions/deciding/choice.ts';
import { readMessage } from '../../../actions/reading/read.ts';
import { reply } from '../../../actions/sending/reply.ts';
import { assertText, lookAtStdin, readAttachments, readBody } from '../../command/body.ts';
import { flag, given, inTransport, isYes, text, type Call } from '../../command/command.ts';
import { EXIT } from '../../command/io.ts';
import { ALLOW_SECRET, NO_SECRETS, FROM, ATTACH, type CommandSpec } from '../../command/spec.ts';
import { decideHere } from '../work/decide.ts';
import { whereWords, printSent } from '../../view/sent.ts';
import { REPLY, TIER } from '../../../present/parameters.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'reply',
    args: '<message> [text] [-]',
    summary: 'answer a message, or ask further in its thread',
    options: [
      ['--option <n>', REPLY.option],
      ['--again', REPLY.again],
      FROM,
      ['--tier <tier>', TIER],
      ['--file <path>', 'take the text from a file'],
      ATTACH,
      ALLOW_SECRET,
      ['--no-wait', 'return as soon as the message is safely queued'],
    ],
    inRun: NO_SECRETS,
    details:
      'Goes to the writer of the message, in its channel; an actor wakes with the whole thread. After a final answer it asks anew. A text that is only the number of an option chooses it; a text beside --option stands below it. To a question for permission an option decides, as crosstalk approve and deny do.',
    example: 'crosstalk reply 1f2e3d4c "yes, but leave the tests alone"',
    run,
  },
];

async function run(call: Call): Promise<number> {
  const [message = '', ...words] = call.args;
  const said: Call = { ...call, args: words };
  const body = await bodyOf(said);
  await assertText(call, body);
  const input = {
    message,
    body,
    ...given(call, 'from', 'tier', 'option'),
    isNew: false,
    wait: call.options['wait'] !== false,
    allowSecret: flag(call, 'allowSecret'),
    login: call.io.login,
  };
  const attachments = await readAttachments(call);
  const noteLeftOut = input.body === '' ? undefined : lookAtStdin(said);
  const code = await inTransport(call, async (context) => {
    const asked = await readMessage(context, message);
    const chosen = chosenDecision(asked.message, input);
    if (chosen !== undefined) return decideHere(call, context, { message, ...chosen });
    await reply(context, input, {
      attachments,
      isMeantAgain: (earlier) => isMeantAgain(call, earlier),
      ...whereWords(call),
      onSent: (sent) => {
        printSent(call, sent);
      },
    });
    return EXIT.ok;
  });
  await noteLeftOut?.();
  return code;
}

/** Asks on a terminal whether a second answer is meant. */
async function isMeantAgain(call: Call, earlier: string): Promise<boolean> {
  if (flag(call, 'again')) return true;
  const { ask } = call.io;
  if (ask === undefined) return false;
  return isYes(await ask(`you have answered this already, in ${earlier}; answer again? [y/N] `));
}

/** Returns the text. An option needs none, so stdin is read only where it is asked for. */
async function bodyOf(call: Call): Promise<string> {
  const isChosen = text(call, 'option') !== undefined;
  const hasText = call.args[0] !== undefined || text(call, 'file') !== undefined;
  return isChosen && !hasText ? '' : readBody(call, 'reply');
}
