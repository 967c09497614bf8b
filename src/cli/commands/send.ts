import { CrosstalkError } from '../../errors.ts';
import type { SendInput } from '../../actions/sending/input.ts';
import { send, type Sender } from '../../actions/sending/send.ts';
import { assertText, lookAtStdin, readAttachments, readBody, readSchema } from '../command/body.ts';
import { EXIT } from '../command/io.ts';
import { flag, given, inTransport, list, note, text, type Call } from '../command/command.ts';
import {
  ALLOW_SECRET,
  NO_SECRETS,
  CHANNEL,
  FROM,
  ATTACH,
  SCHEMA,
  ONE,
  UNSERVED,
  type CommandSpec,
} from '../command/spec.ts';
import { whereWords, printSent } from '../view/sent.ts';
import { TIER } from '../../present/parameters.ts';

/** Reason why a run does not say more about work it has delegated. */
const NOT_NOW =
  'for people: a run that has more to say sends it, and the next run of its addressee has it';

export const commands: readonly CommandSpec[] = [
  {
    name: 'send',
    args: '[body] [-]',
    summary: 'send a message; text from the argument, stdin or a file',
    options: [
      ['--to <names>', 'addressees: name, name@host, all; separated by commas'],
      CHANNEL,
      FROM,
      ['--tier <tier>', TIER],
      ONE,
      ['--for <message>', 'of the messages being processed, the one it is about'],
      ['--new', 'unrelated to what is being processed: record neither re nor cause'],
      ...UNSERVED,
      ['--now', 'for work under way: the agent is told now, or begins again with both'],
      ['--about <message>', 'with --now: the question that is worked on, if several are open'],
      ['--option <text>', 'an answer to choose from; may be given several times', 'repeatable'],
      ['--file <path>', 'take the text from a file, or from stdin with -'],
      ATTACH,
      SCHEMA,
      ALLOW_SECRET,
      ['--no-wait', 'return as soon as the message is safely queued'],
    ],
    inRun: { ...NO_SECRETS, now: NOT_NOW, about: NOT_NOW },
    details:
      'Text and - together send the text, then stdin: git diff | crosstalk send --to reviewer "please review" -',
    example: 'crosstalk send --to concierge "what changed this week?"',
    run,
  },
];

async function run(call: Call): Promise<number> {
  const { io } = call;
  const to = text(call, 'to');
  if (to === undefined)
    throw new CrosstalkError(
      'usage',
      '--to is missing; say to whom: crosstalk send --to <name> "<text>"',
    );
  const body = await readBody(call, 'message');
  const input: SendInput = {
    to,
    body,
    ...given(call, 'channel', 'from', 'tier', 'for'),
    options: list(call, 'option'),
    isNew: flag(call, 'new'),
    ...addressing(call),
    wait: call.options['wait'] !== false,
    allowSecret: flag(call, 'allowSecret'),
    login: io.login,
    ...(await readSchema(call)),
  };
  await assertText(call, body);
  if (flag(call, 'now')) return sayNow(call, input);
  if (text(call, 'about') !== undefined)
    throw new CrosstalkError(
      'usage',
      '--about says for which question a message is that goes into work under way; add --now, or leave it out',
    );
  const sender: Sender = {
    surroundings: io,
    note: (line: string) => {
      note(call, line);
    },
    open: (work) => inTransport(call, work),
    hands: 'whole',
    ...given(call, 'transport'),
  };
  const noteLeftOut = lookAtStdin(call);
  await send(sender, input, {
    attachments: await readAttachments(call),
    ...whereWords(call),
    onSent: (sent) => {
      printSent(call, sent);
    },
  });
  await noteLeftOut();
  return EXIT.ok;
}

/**
 * Returns whether one of several hosts takes it, and whether names that nobody serves are refused: on a terminal, where
 * somebody can correct them, and on request. A message from a script waits until a host serves the name (cli.md).
 */
export function addressing(call: Call): Partial<SendInput> {
  const one = flag(call, 'one') && { one: true as const };
  if (flag(call, 'anyway')) return { ...one, anyway: true };
  return flag(call, 'strict') || call.io.ask !== undefined ? { ...one, strict: true } : { ...one };
}

/** Sends it for the work that is under way; loaded only here, as few need it. */
async function sayNow(call: Call, input: SendInput): Promise<number> {
  const { steer, WHAT_HAPPENS } = await import('../../actions/sending/steer.ts');
  const attachments = await readAttachments(call);
  const noteLeftOut = lookAtStdin(call);
  await inTransport(call, (context) =>
    steer(
      context,
      { ...input, ...given(call, 'about') },
      {
        attachments,
        ...whereWords(call),
        onSent: (sent) => {
          printSent(call, sent);
        },
      },
    ),
  );
  note(call, WHAT_HAPPENS);
  await noteLeftOut();
  return EXIT.ok;
}
