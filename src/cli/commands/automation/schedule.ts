import { CrosstalkError } from '../../../errors.ts';
import {
  addSchedule,
  enableSchedule,
  removeSchedule,
  runSchedule,
  type EditedSchedule,
} from '../../../operations/schedules/edit.ts';
import {
  listSchedules,
  showSchedule,
  type ShownSchedule,
} from '../../../operations/schedules/list.ts';
import { readBody } from '../../command/body.ts';
import { inTransport, note, print, text, flag, type Call } from '../../command/command.ts';
import { EXIT } from '../../command/io.ts';
import { dollars } from '../../../protocol/text/amounts.ts';
import { escapeInvisible } from '../../../protocol/text/quoted.ts';
import { colourless, table } from '../../view/render.ts';
import { localTimes } from '../../../present/times.ts';

export function run(call: Call): Promise<number> {
  switch (call.name) {
    case 'schedule add':
      return add(call);
    case 'schedule show':
      return show(call);
    case 'schedule run':
      return runNow(call);
    case 'schedule pause':
      return pause(call);
    case 'schedule remove':
      return remove(call);
    default:
      return list(call);
  }
}

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
