import { CrosstalkError } from '../../../errors.ts';
import {
  addSchedule,
  enableSchedule,
  removeSchedule,
  runSchedule,
  type EditedSchedule,
} from '../../../actions/schedules/edit.ts';
import {
  listSchedules,
  showSchedule,
  type ShownSchedule,
} from '../../../actions/schedules/list.ts';
import { readBody } from '../../command/body.ts';
import { inTransport, note, print, text, flag, type Call } from '../../command/command.ts';
import { EXIT } from '../../command/io.ts';
import { ANSWERED, type CommandSpec } from '../../command/spec.ts';
import { dollars } from '../../../protocol/text/words.ts';
import { escapeInvisible } from '../../../protocol/text/quoted.ts';
import { colourless, table } from '../../view/render.ts';
import { localTimes } from '../../../present/times.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'schedule list',
    summary: 'messages that are sent when they are due: when, to whom, and what became of the last',
    example: 'crosstalk schedule list',
    paged: true,
    run: list,
  },
  {
    name: 'schedule add',
    args: '<name> [text] [-]',
    summary: 'have a message sent when it is due; text from the argument, stdin or a file',
    details:
      'Say when with one of --cron, --every and --at. It is a file, local/schedules/<name>.md, which you can edit.',
    options: [
      ['--to <addresses>', 'who gets it: names, name@host, or all'],
      ['--cron <expression>', '5 fields, or 6 with seconds first, such as "0 9 * * 1-5"'],
      ['--every <duration>', 'such as 15m, 2h or 1d, counted from midnight UTC'],
      ['--at <time>', 'once, such as 2026-06-09T09:00+02:00'],
      ['--timezone <zone>', 'of --cron and --quiet, such as Europe/Berlin (default: the host’s)'],
      ['--channel <channel>', 'the channel: id, unique id prefix or name'],
      ['--tier <tier>', 'the tier that handles it'],
      ['--host <alias>', 'the host that sends it (default: this one)'],
      ['--quiet <span>', 'a span of each day in which nothing is sent, such as 23:00-07:00'],
      ['--catch-up <what>', 'last: a missed one is sent within the grace (default); none'],
      ['--grace <duration>', 'for how long a missed one may still be sent (default: 1h)'],
      ['--overlap', 'send it although the last one has no answer yet'],
      ANSWERED,
      ['--file <path>', 'take the text from a file, or from stdin with -'],
    ],
    example: 'crosstalk schedule add standup --to concierge --cron "0 9 * * 1-5" "What is open?"',
    run: add,
  },
  {
    name: 'schedule show',
    args: '<schedule>',
    summary: 'one schedule: its file, when it is due next, and what became of the last',
    example: 'crosstalk schedule show standup',
    run: show,
  },
  {
    name: 'schedule run',
    args: '<schedule>',
    summary: 'send what a schedule says now; its occurrences stay as they are',
    example: 'crosstalk schedule run standup',
    run: runNow,
  },
  {
    name: 'schedule pause',
    args: '<schedule>',
    summary: 'send nothing until --off; what comes due meanwhile is not made up for',
    options: [['--off', 'let it go on']],
    example: 'crosstalk schedule pause standup',
    run: pause,
  },
  {
    name: 'schedule remove',
    args: '<schedule>',
    summary: 'remove a schedule; what it has sent stays',
    example: 'crosstalk schedule remove standup',
    run: remove,
  },
];

const nameOf = ({ args }: Call): string => args[0] ?? '';

async function add(call: Call): Promise<number> {
  const to = text(call, 'to');
  if (to === undefined)
    throw new CrosstalkError('usage', '--to is missing: who is to get the message');
  const options = { call: { ...call, args: call.args.slice(1) } };
  const body = await readBody(options.call, 'message');
  const host = text(call, 'host');
  return inTransport(call, async (context) => {
    const added = await addSchedule(context, {
      name: nameOf(call),
      ...{ to, body, from: text(call, 'from'), login: call.io.login },
      ...(host !== undefined && { host }),
      fields: {
        channel: text(call, 'channel'),
        cron: text(call, 'cron'),
        every: text(call, 'every'),
        at: text(call, 'at'),
        timezone: text(call, 'timezone'),
        tier: text(call, 'tier'),
        quiet: text(call, 'quiet'),
        catch_up: text(call, 'catchUp'),
        grace: text(call, 'grace'),
        overlap: flag(call, 'overlap') ? 'true' : undefined,
      },
    });
    return tell(call, added, 'Scheduled');
  });
}

function tell(call: Call, edited: EditedSchedule, word: string): number {
  const { delivered, upcoming, name, path } = edited;
  const shape = { name, path, upcoming, status: delivered.published ? 'published' : 'queued' };
  return print(call, shape, () =>
    [`${word}: ${name} (${path})`, ...upcoming.map((at) => `  due ${localTimes(at)}`)].join('\n'),
  );
}

function list(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const schedules = await listSchedules(context);
    if (schedules.length === 0) note(call, 'no schedules; make one with: crosstalk schedule add');
    return print(call, schedules, () => {
      const rows = schedules.map(row);
      return schedules.length === 0
        ? ''
        : table([['name', 'host', 'to', 'when', 'next', 'last', 'outcome', 'cost'], ...rows]);
    });
  });
}

function row(one: ShownSchedule): string[] {
  const { name, host, to, when, next, last, outcome, enabled, problems } = one;
  const [problem] = problems;
  if (problem !== undefined) return [name, `cannot be read: ${problem}`].map(escapeInvisible);
  const used = one.runs === 0 ? null : dollars(one.cost_usd);
  const cells = [name, host, to, when, enabled ? next : 'paused', last, outcome, used];
  return cells.map((cell) => localTimes(escapeInvisible(cell ?? '-')));
}

function show(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const shown = await showSchedule(context, nameOf(call));
    return print(call, shown, () =>
      [
        `${escapeInvisible(shown.path)}${shown.enabled ? '' : ' (paused)'}`,
        ...shown.problems.map((problem) => `cannot be read: ${escapeInvisible(problem)}`),
        ...shown.upcoming.map((at) => `due ${localTimes(at)}`),
        ...(shown.last === null ? [] : [`last ${localTimes(shown.last)}: ${shown.outcome ?? ''}`]),
        ...(shown.sent === null ? [] : [`sent ${shown.sent}`]),
        '',
        colourless(shown.text).trimEnd(),
      ].join('\n'),
    );
  });
}

function runNow(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const { name, channel, relPath, delivered } = await runSchedule(context, {
      name: nameOf(call),
    });
    const status = delivered.published ? 'sent' : 'queued';
    return print(
      call,
      { name, channel, relPath, status },
      () => `${status === 'sent' ? 'Sent' : 'Queued'}: ${relPath}`,
    );
  });
}

function pause(call: Call): Promise<number> {
  const enabled = flag(call, 'off');
  return inTransport(call, async (context) => {
    const edited = await enableSchedule(context, {
      name: nameOf(call),
      enabled,
      login: call.io.login,
    });
    return tell(call, edited, enabled ? 'Goes on' : 'Paused');
  });
}

function remove(call: Call): Promise<number> {
  return inTransport(call, async (context) => {
    const { name, path } = await removeSchedule(context, {
      name: nameOf(call),
      login: call.io.login,
    });
    print(call, { name, path, status: 'removed' }, () => `Removed: ${escapeInvisible(name)}`);
    return EXIT.ok;
  });
}
