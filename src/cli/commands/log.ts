import { CrosstalkError } from '../../errors.ts';
import { messageJson } from '../../actions/shapes/as-json.ts';
import {
  follow,
  log,
  type LogEntry,
  type LogInput,
  type LogPage,
} from '../../actions/reading/log.ts';
import { optionLines } from '../../protocol/talk.ts';
import { formatAddress, parseAddress, type Address } from '../../protocol/address.ts';
import { flag, given, inTransport, note, text, type Call } from '../command/command.ts';
import { EXIT } from '../command/io.ts';
import { actor, body, shortName, verifiedMark } from '../view/message.ts';
import { limitOf, sinceOf } from '../command/values.ts';
import { NO_WAITING, type CommandSpec } from '../command/spec.ts';
import { colourless, indent, painter } from '../view/render.ts';
import { localTime } from '../../present/times.ts';
import { filesMark, cancelledWords, markWords } from '../../present/marks.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'log',
    args: '[channel]',
    summary: 'the messages of a channel, or of all',
    options: [
      ['-f, --follow', 'go on with new ones as they come, until Ctrl-C'],
      ['--from <name>', 'only what this name wrote'],
      ['--to <name>', 'only what is addressed to this name'],
      ['--since <when>', 'only since a date, a date and time, today, or so long ago: 2h, 3d'],
      ['--limit <n>', 'at most so many, the newest (default: 20)'],
    ],
    interrupt: 'clean',
    inRun: { follow: NO_WAITING },
    selectsByWriter: true,
    example: 'crosstalk log',
    paged: true,
    lines: true,
    run,
  },
];

function run(call: Call): Promise<number> {
  const input = inputOf(call);
  return inTransport(call, async (context) => {
    const page = await log(context, input);
    const { limit } = input;
    // A user who asked for that many knows it.
    if (page.cut && text(call, 'limit') === undefined)
      note(call, `only the newest ${String(limit)} are shown; more with: --limit <n>`);
    print(call, page);
    if (flag(call, 'follow'))
      for await (const arrived of follow(context, page.tip, input)) print(call, arrived);
    else if (page.entries.length === 0 && limit > 0) note(call, 'no messages');
    return EXIT.ok;
  });
}

function inputOf(call: Call): LogInput {
  const [channel] = call.args;
  return {
    limit: limitOf(call),
    signal: call.io.stop,
    ...(channel !== undefined && { channel }),
    ...given(call, 'from'),
    ...addressOf(call),
    ...sinceOf(call),
  };
}

function addressOf(call: Call): { to?: Address } {
  const given = text(call, 'to');
  if (given === undefined) return {};
  const to = parseAddress(given);
  if (to.ok) return { to: to.value };
  throw new CrosstalkError('usage', `${to.problems.join('; ')}; try --to <name>`);
}

function print(call: Call, { entries, mixed }: LogPage): void {
  for (const entry of entries)
    call.io.out(flag(call, 'json') ? json(entry) : render(call, entry, mixed));
}

function json(entry: LogEntry): string {
  const { id, name } = entry.channel;
  return `${JSON.stringify({ channel: id, channel_name: name, ...messageJson(entry) })}\n`;
}

/** Returns one line of facts with the text indented below it, so that no text can pass for such a line. */
function render(
  { io }: Call,
  { relPath, message, verified, channel, cancelled, force }: LogEntry,
  mixed: boolean,
): string {
  const paint = painter(io);
  const to = message.to.map((address) => actor(paint, formatAddress(address))).join(', ');
  const facts = [
    paint('dim', localTime(new Date(message.timestamp))),
    `${[actor(paint, message.from), ...verifiedMark(paint, verified)].join(' ')} → ${to}`,
    ...(mixed ? [`#${colourless(channel.name)}`] : []),
    paint('dim', shortName(relPath)),
    ...(cancelled ? [paint('yellow', `cancelled ${cancelledWords(cancelled, shortName)}`)] : []),
    ...(force ? [paint('yellow', markWords('cancel', force))] : []),
    ...filesMark(message.files),
    ...(message.re.length > 0
      ? [paint('dim', `↳ re ${message.re.map(shortName).join(', ')}`)]
      : []),
  ];
  const options = optionLines(message.options ?? []).join('\n');
  const words = [body(paint, message.body), options].filter((text) => text !== '').join('\n');
  return `${facts.join('  ')}\n${words === '' ? '' : `${indent(words)}\n`}\n`;
}
