import { CrosstalkError } from '../../../errors.ts';
import type { Context } from '../../../actions/context.ts';
import { CANCELLED } from '../../../protocol/cancel.ts';
import { optionLines } from '../../../protocol/talk.ts';
import { escapeInvisible } from '../../../protocol/text/quoted.ts';
import { excerptOf } from '../../../protocol/text/excerpt.ts';
import { resolveFrom } from '../../../actions/lookup/resolve.ts';
import { MOST_ASKING, type Inbox, type InboxEntry } from '../../../actions/state/inbox.ts';
import { followInbox, inbox, markSeen } from '../../../actions/reading/inbox.ts';
import { isFor, noteSeen } from '../../../actions/lookup/seen.ts';
import { readMessage } from '../../../actions/reading/read.ts';
import { inboxJson } from '../../../actions/shapes/as-json.ts';
import { flag, inTransport, note, print, text, type Call } from '../../command/command.ts';
import { limitOf } from '../../command/values.ts';
import { EXIT } from '../../command/io.ts';
import { actor, body, shortName, verifiedMark } from '../../view/message.ts';
import type { CommandSpec } from '../../command/spec.ts';
import { colourless, indent, painter } from '../../view/render.ts';
import { localTime } from '../../../present/times.ts';
import { failureMark, filesMark } from '../../../present/marks.ts';
import { INBOX } from '../../../present/parameters.ts';

/** The most bytes of a message's text in the list, and of its lines. */
const EXCERPT_BYTES = 400;
const EXCERPT_LINES = 4;

export const commands: readonly CommandSpec[] = [
  {
    name: 'inbox',
    summary: 'what came for you, unread first, and what asks you something',
    options: [
      ['--questions', INBOX.questions],
      ['-f, --follow', 'go on with what comes, until Ctrl-C'],
      ['--done <message>', 'mark a message as read, or all'],
      ['--count', 'only how many: unread messages, or with --questions those that ask'],
      ['--limit <n>', 'at most so many, the newest (default: 20)'],
      ['--from <name>', 'for whom (default: CROSSTALK_FROM, git config crosstalk.from, login)'],
    ],
    interrupt: 'clean',
    details:
      'Read is what was shown to you whole on this machine (by ask, wait, replies, read, the chat, or this list on a terminal), or marked with --done. Of what was there before this machine kept count, what is older than your last word in its channel counts as read.',
    example: 'crosstalk inbox',
    paged: true,
    lines: true,
    run,
  },
];

function run(call: Call): Promise<number> {
  const { io } = call;
  const isCount = flag(call, 'count');
  if (isCount && flag(call, 'follow'))
    throw new CrosstalkError('usage', '--count and --follow were given; give one of them');
  const limit = limitOf(call);
  return inTransport(call, async (context) => {
    const name = resolveFrom(context, text(call, 'from'), io.login);
    const done = text(call, 'done');
    if (done !== undefined) return markDone(call, context, name, done);
    const input = { name, questions: flag(call, 'questions'), limit: isCount ? 0 : limit };
    const found = await inbox(context, input, io.stop);
    if (isCount) return printCount(call, found);
    for (const entry of found.entries) show(call, entry);
    if (io.outIsTty && !flag(call, 'json')) {
      const whole = found.entries.filter(({ message }) => !excerptLines(message.body).cut);
      const shown = whole.map((one) => ({ ...one, channel: one.channel.id }));
      await noteSeen(context, name, shown);
    }
    if (flag(call, 'follow')) {
      for await (const entry of followInbox(context, found.tip, input, io.stop)) show(call, entry);
    } else conclude(call, found);
    return EXIT.ok;
  });
}

/** Marks a message as read, or all of them. */
async function markDone(
  call: Call,
  context: Context,
  name: string,
  given: string,
): Promise<number> {
  if (given === 'all') {
    await markSeen(context, name);
    return print(call, { done: 'all' }, () => 'Done: all');
  }
  const read = await readMessage(context, given);
  const { relPath, message } = read;
  if (!isFor(message, name))
    throw new CrosstalkError(
      'usage',
      `${relPath} did not come for ${name}; list what did with: crosstalk inbox`,
    );
  await markSeen(context, name, { relPath, channel: read.channel.id });
  return print(call, { done: relPath }, () => `Done: ${relPath}`);
}

function printCount(call: Call, { unread, questions }: Inbox): number {
  const count = flag(call, 'questions') ? questions : unread;
  if (flag(call, 'questions') && questions === MOST_ASKING) noteMost(call);
  return print(call, { unread, questions }, () => String(count));
}

/** Words the part that the list leaves out. */
function conclude(call: Call, { entries, cut, questions }: Inbox): void {
  const only = flag(call, 'questions');
  if (entries.length === 0) note(call, only ? 'nobody asks you anything' : 'no messages');
  if (cut) note(call, `only ${String(entries.length)} are shown; more with: --limit <n>`);
  else if (only && questions === MOST_ASKING) noteMost(call);
  const left = questions - entries.filter(({ asks }) => asks).length;
  const many = questions === MOST_ASKING ? `at least ${String(left)}` : String(left);
  if (left > 0 && !only)
    note(call, `${many} more ask you something; see them with: crosstalk inbox --questions`);
}

function noteMost(call: Call): void {
  note(
    call,
    `there may be more than these ${String(MOST_ASKING)}; older ones show once newer ones are answered`,
  );
}

function show(call: Call, entry: InboxEntry): void {
  const { io } = call;
  io.out(
    flag(call, 'json') ? `${JSON.stringify(inboxJson(entry))}\n` : `${render(call, entry)}\n\n`,
  );
}

/** Words one line of facts with the beginning of the text, and the possible answers, indented below it. */
function render({ io }: Call, entry: InboxEntry): string {
  const { relPath, message, verified, channel, unread, asks } = entry;
  const paint = painter(io);
  const facts = [
    unread ? paint('bold', 'new') : '   ',
    paint('dim', localTime(new Date(message.timestamp))),
    [actor(paint, message.from), ...verifiedMark(paint, verified)].join(' '),
    `#${colourless(channel.name)}`,
    paint('dim', shortName(relPath)),
    ...(asks ? [paint('yellow', 'asks you')] : []),
    ...filesMark(message.files),
    ...(message.cancels === undefined ? [] : [`cancels ${shortName(message.cancels)}`]),
    ...(message.failed === undefined
      ? []
      : [
          paint(
            message.failed.reason === CANCELLED ? 'dim' : 'red',
            failureMark(message.failed.reason),
          ),
        ]),
  ];
  const options = optionLines(message.options ?? []);
  const lines = [...excerpt(paint, message.body), ...permissionLines(message), ...options];
  return [facts.join('  '), ...lines.map((line) => indent(line, '      '))].join('\n').trimEnd();
}

/** Words the whole call that an approval permits: the words above it are those of the asker. */
function permissionLines({ permission }: InboxEntry['message']): string[] {
  if (permission === undefined) return [];
  return [`${escapeInvisible(permission.tool)}: ${escapeInvisible(permission.input)}`];
}

function excerpt(paint: ReturnType<typeof painter>, words: string): string[] {
  const { lines, cut } = excerptLines(words);
  return body(paint, [...lines, ...(cut ? ['…'] : [])].join('\n')).split('\n');
}

/** Returns the beginning of a text, and whether it has more than is shown. */
function excerptLines(words: string): { lines: string[]; cut: boolean } {
  const { text: short, cut } = excerptOf(words, '', EXCERPT_BYTES);
  const lines = short.split('\n');
  return { lines: lines.slice(0, EXCERPT_LINES), cut: cut || lines.length > EXCERPT_LINES };
}
