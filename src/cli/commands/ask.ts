import { ask, type Asked, type AskEvents, type Reached } from '../../actions/sending/ask.ts';
import type { SendInput } from '../../actions/sending/input.ts';
import { firstPath, newIdempotencyKey } from '../../actions/sending/handed.ts';
import { clockOf } from '../../actions/clock.ts';
import { messageJson, repliedJson } from '../../actions/shapes/as-json.ts';
import type { Located } from '../../protocol/message.ts';
import { asksSeveral, isAnswer } from '../../protocol/owed.ts';
import { branchInWords } from '../../protocol/text/words.ts';
import { assertText, lookAtStdin, readAttachments, readBody, readSchema } from '../command/body.ts';
import { flag, given, inTransport, note, print, type Call } from '../command/command.ts';
import { EXIT } from '../command/io.ts';
import { body as shownBody, withoutRepeats } from '../view/message.ts';
import {
  ALLOW_SECRET,
  CHANNEL,
  FROM,
  ATTACH,
  SCHEMA,
  ONE,
  UNSERVED,
  TIMEOUT,
  NO_WAITING,
  type CommandSpec,
} from '../command/spec.ts';
import { indent, painter } from '../view/render.ts';
import { filesMark, writerWords } from '../../present/marks.ts';
import { ended, timeoutOf, Talk } from '../view/talk.ts';
import { addressing } from './send.ts';
import { TIER } from '../../present/parameters.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'ask',
    args: '<actor> [text] [-]',
    summary: 'send a question, wait, and print the answer alone',
    options: [
      ['--any', 'with several actors: the first answer is enough'],
      CHANNEL,
      FROM,
      ['--tier <tier>', TIER],
      ONE,
      ...UNSERVED,
      ['--file <path>', 'take the text from a file'],
      ATTACH,
      SCHEMA,
      ALLOW_SECRET,
      TIMEOUT,
    ],
    details:
      'What happens meanwhile is on stderr. The exit code is 1 once nobody owes an answer any more, as after a failure. Of several actors, as in tester,helper or all, it waits for every one that a host serves and prints each answer under its name; it is 3 if somebody has not answered.',
    interrupt: 'clean',
    notInRun: NO_WAITING,
    example: 'crosstalk ask concierge "what changed this week?"',
    run,
  },
];

export async function run(asGiven: Call): Promise<number> {
  const call = withoutRepeats(asGiven);
  const { io } = call;
  const [to = '', ...rest] = call.args;
  const words: Call = { ...call, args: rest };
  const timeout = timeoutOf(call);
  const body = await readBody(words, 'question');
  await assertText(call, body);
  const input: SendInput = {
    to,
    body,
    ...given(call, 'channel', 'from', 'tier'),
    ...(await readSchema(call)),
    isNew: false,
    wait: true,
    ...addressing(call),
    allowSecret: flag(call, 'allowSecret'),
    login: io.login,
  };
  const attachments = await readAttachments(call);
  const marks = newIdempotencyKey(clockOf(io));
  const talk = new Talk(call);
  const sender = {
    surroundings: io,
    note: (line: string) => {
      note(call, line);
    },
    open: <T>(work: Parameters<typeof inTransport<T>>[1]) => inTransport(call, work),
    hands: 'whole' as const,
    ...given(call, 'transport'),
  };
  const noteLeftOut = lookAtStdin(words);
  let leftOut = Promise.resolve();
  let reached: Reached | undefined;
  const events: AskEvents = {
    ...talk.events,
    onInterrupted: (where) => {
      reached = where;
    },
    onSent: (...sent) => {
      talk.events.onSent?.(...sent);
      leftOut = noteLeftOut();
    },
  };
  try {
    const limits = { timeout, signal: io.stop, any: flag(call, 'any'), marks, attachments };
    const asked = await ask(sender, input, limits, events);
    await leftOut;
    return report(call, asked);
  } catch (error) {
    if (reached === undefined) throw error;
    return interrupted(call, firstPath(marks), reached);
  } finally {
    talk.end();
  }
}

/** Words the answer alone, or those of several under their names; or the reason why there is none. */
function report(call: Call, { ending, question }: Asked): number {
  const { io } = call;
  const { ref, replies } = question;
  const answers = replies.filter(({ message }) => isAnswer(message));
  const [answer] = answers;
  const json = { ...repliedJson(question), answer: answer ? messageJson(answer) : null };
  const isList = asksSeveral(question.question?.to ?? []) && !flag(call, 'any');
  print(call, json, () => {
    if (isList) return answers.map((one) => underName(call, one, answers)).join('\n');
    return answer === undefined ? '' : bodyOf(call, answer.message.body);
  });
  for (const one of isList ? answers : answers.slice(0, 1)) {
    const { branch } = one.message;
    if (one.verified !== undefined && !isList)
      note(call, `the answer is from ${writerWords(one.message.from, one.verified)}`);
    const where = isList ? ` of ${one.message.from}` : '';
    if (branch !== undefined) note(call, `branch${where} ${branchInWords(branch)}`);
  }
  for (const { relPath, message } of replies)
    for (const files of filesMark(message.files))
      note(call, `${files} came with ${relPath}: crosstalk read ${relPath} --files <dir>`);
  if (ending === 'timed_out' && !question.isOver)
    note(call, `no answer yet; go on waiting with: crosstalk wait ${ref.relPath}`);
  return io.stop.aborted ? EXIT.interrupted : ended(call, ending, [question]);
}

/** Words an answer below the name of its writer, indented so that no text can pass for another name. */
function underName(call: Call, answer: Located, among: readonly Located[]): string {
  const { from, host } = answer.message;
  const isAlone = among.filter(({ message }) => message.from === from).length === 1;
  const where = isAlone || host === undefined ? '' : `@${host}`;
  return `${writerWords(answer.message.from, answer.verified)}${where}:\n${indent(bodyOf(call, answer.message.body))}`;
}

/** As it was written, except that a terminal shows headings and code. */
function bodyOf({ io }: Call, text: string): string {
  return io.outIsTty ? shownBody(painter(io), text) : text.replace(/\n$/, '');
}

/** Words the state after Ctrl-C: a question that is sent stands, and its answer can be waited for again. */
function interrupted(call: Call, relPath: string, reached: Reached): number {
  const after = `go on waiting with: crosstalk wait ${relPath}, or take it back with: crosstalk cancel ${relPath}`;
  const what = {
    nowhere: 'nothing was sent',
    handed: `the question may be on its way: ${after}`,
    recorded: `the question stays: ${after}`,
  };
  note(call, `interrupted; ${what[reached]}`);
  return EXIT.interrupted;
}
