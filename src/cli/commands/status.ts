import { countOf } from '../../protocol/text/words.ts';
import { changeText, commandText, nameText } from '../../protocol/approval/approval.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { type Status } from '../../actions/health/report.ts';
import { status } from '../../actions/health/status.ts';
import { writtenAt } from '../../protocol/layout.ts';
import { resolveFrom } from '../../actions/lookup/resolve.ts';
import { sessionRows, warmRows, warmTitle, gatedRows, inboxRows } from '../view/machine.ts';
import type { Context } from '../../actions/context.ts';
import { type Paint } from '../view/message.ts';
import { flag, inTransport, note, print, text, type Call } from '../command/command.ts';
import { EXIT } from '../command/io.ts';
import { painter, table } from '../view/render.ts';
import { ageOf, localTimes } from '../../present/times.ts';
import { joiningLine } from '../../present/holds.ts';
import { hostRows, latencyText, machineRow } from '../../present/hosts.ts';
import { nobodysMail, profileLine } from '../../present/findings.ts';
import { HOST, type CommandSpec } from '../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'status',
    summary: 'health, host, actors, channels, cursors, outbox, dead letters',
    options: [
      HOST,
      [
        '--all',
        'also every host of the transport: its last word, and what it says runs, waits and failed',
      ],
      ['--check', 'exit with 1 while something is stuck, for scripts'],
    ],
    inRun: true,
    example: 'crosstalk status',
    paged: true,
    run,
  },
];

function run(call: Call): Promise<number> {
  return inTransport(
    call,
    async (context) => {
      const counting = { ...nameOf(context, call.io.login), all: flag(call, 'all') };
      const result = await status(context, text(call, 'host'), counting);
      print(call, result, () => localTimes(render(result, painter(call.io))));
      const { version_problem: version, health: verdict } = result;
      if (version === null) return flag(call, 'check') && !verdict.ok ? EXIT.failed : EXIT.ok;
      note(call, version);
      return EXIT.failed;
    },
    { anyVersion: 'told' },
  );
}

function render(s: Status, paint: Paint): string {
  const parts = [
    health(s, paint),
    part(paint, 'Waiting for you', inboxRows(s)),
    part(paint, 'Waiting for a decision', gatedRows(s)),
    part(paint, 'Sessions that runs go on with', sessionRows(s)),
    part(paint, warmTitle(s), warmRows(s.warm)),
    part(paint, 'Transport', [
      ['dir', s.transport],
      [
        s.ref === undefined ? 'branch' : 'ref',
        `${s.ref ?? s.branch} at ${s.tip.slice(0, 12)}${s.origin ? '' : ' (solo: no origin)'}`,
      ],
      ['state', s.state_dir],
    ]),
    part(paint, 'Dispatcher', dispatcher(s)),
    part(paint, 'Other machines', (s.machines ?? []).map(machineRow)),
    part(
      paint,
      'Hosts, by their own word',
      (s.hosts ?? []).flatMap((host) => hostRows(host, (id) => channelName(s, id))),
    ),
    part(paint, 'Actors', actors(s)),
    part(
      paint,
      'Waiting for permission',
      s.permissions.map(({ actor, tool, mark, approver, relPath, until }) => [
        actor,
        escapeInvisible(tool),
        mark,
        `${approver} decides until ${until}`,
        relPath,
      ]),
    ),
    part(
      paint,
      'Held changes',
      s.held.map((change) => [change.digest, changeText(change)]),
    ),
    part(
      paint,
      'Held agent CLIs',
      s.holds.map(({ id, reason, since, until, said }) => [
        id,
        reason,
        `since ${since}`,
        `tried again at ${until}`,
        said,
      ]),
    ),
    part(
      paint,
      'Channels',
      s.channels.map(({ id, name, messages, last }) => [
        id,
        name,
        countOf(messages, 'message'),
        last === null ? '' : `last ${writtenAt(last) ?? last}`,
      ]),
    ),
    part(
      paint,
      'Cursors',
      s.cursors.flatMap(({ actor, through, lagging }) => [
        [actor, 'all channels', through.slice(0, 12)],
        ...lagging.map(({ channel, commit }) => [
          actor,
          channelName(s, channel),
          commit === '' ? 'first scan' : commit.slice(0, 12),
        ]),
      ]),
    ),
    part(
      paint,
      'Outbox',
      s.outbox.map(({ id, age_s: seconds, files }) => [id, ageOf(seconds), files.join(' ')]),
    ),
    part(paint, 'Push under way', pushRows(s)),
    part(paint, 'Push budget', s.push_budget === null ? [] : [budgetRow(s.push_budget)]),
    part(
      paint,
      'Dead letters',
      s.dead_letters
        .filter(isOpen)
        .map((letter) => [
          letter.id,
          letter.state,
          letter.actor,
          letter.reason,
          countOf(letter.attempts, 'attempt'),
          letter.detail,
        ]),
    ),
    part(paint, 'Mail nobody serves', unservedRows(s)),
    part(paint, 'Malformed files', malformedRows(s)),
  ];
  return parts.filter((text) => text !== '').join('\n\n');
}

/** Whether a dead letter leaves somebody something to do. */
function isOpen({ state }: Status['dead_letters'][number]): boolean {
  return state !== 'cancelled';
}

/** Returns the name of the viewer; a sender that is not a name keeps nobody from seeing the rest. */
function nameOf(context: Context, login: string): { name?: string } {
  try {
    return { name: resolveFrom(context, undefined, login) };
  } catch {
    return {};
  }
}

/** The most names that are listed, so that a flood of them cannot hide what matters. */
const SHOWN_UNSERVED = 10;

function unservedRows({ unserved }: Status): string[][] {
  const rows = unserved.slice(0, SHOWN_UNSERVED);
  const more = unserved.length - rows.length;
  return [
    ...rows.map((one) => [escapeInvisible(one.name), nobodysMail(one)]),
    ...(more > 0
      ? [[`and ${String(more)} more`, 'all of them with: crosstalk status --json']]
      : []),
  ];
}

/** Returns the name of a channel; its id where it has none here. */
function channelName({ channels }: Status, id: string): string {
  return channels.find((channel) => channel.id === id)?.name ?? id;
}

function pushRows({ pushing }: Status): string[][] {
  return pushing === null ? [] : [[`since ${pushing.since}`, `process ${String(pushing.pid)}`]];
}

function budgetRow(budget: NonNullable<Status['push_budget']>): string[] {
  const { host, used, pushes_per_minute: limit, next_at: next } = budget;
  const left = next === null ? `${String(limit - used)} left` : `the next at ${next}`;
  return [host, `${String(used)} of ${String(limit)} pushes in the last minute, ${left}`];
}

/** Limits the list, so that a flood of malformed files cannot hide what matters. */
const SHOWN_MALFORMED = 20;

function malformedRows({ malformed, malformed_total: total }: Status): string[][] {
  const more = total - SHOWN_MALFORMED;
  return [
    ...malformed
      .slice(0, SHOWN_MALFORMED)
      .map(({ path, reason }) => [escapeInvisible(path), escapeInvisible(reason)]),
    ...(more > 0
      ? [[`and ${String(more)} more`, 'more of them with: crosstalk status --json']]
      : []),
    ...(total > 0 ? [['', 'nobody reads them; correct or remove them, and push']] : []),
  ];
}

/** Words the verdict, which comes first, on its own line. */
function health({ health: { ok, problems }, warnings }: Status, paint: Paint): string {
  const [first = '', ...more] = problems;
  return [
    ok ? paint('green', 'healthy') : `${paint('red', 'stuck')}: ${first}`,
    ...more.map((problem) => `       ${problem}`),
    ...warnings.map((warning) => `${paint('yellow', 'warning')}: ${warning}`),
  ].join('\n');
}

function dispatcher(status: Status): string[][] {
  const { dispatcher: d, host, host_problem: problem, profile_problems: profiles } = status;
  const { profile_changes: changes } = status;
  const rows = [
    [
      'host file',
      host === null ? (problem ?? 'none') : `${escapeInvisible(host.path)} (${host.alias})`,
    ],
    ...(host?.unknown ?? []).map((one) => ['', one]),
    ...profiles.map((one) => ['profile', one]),
    ...changes.map((change) => ['profile', profileLine(change)]),
  ];
  // That none runs is part of the verdict.
  if (d === null) return rows;
  const latency = latencyText(status);
  rows.push(
    ['process', `${String(d.pid)}, since ${d.started_at}`],
    ['heartbeat', `${ageOf(d.age_s)} ago${latency === '' ? '' : `; ${latency}`}`],
    ['pending', String(d.pending)],
  );
  for (const { actor, tier, channel, since, messages } of d.running) {
    rows.push([
      'running',
      `${actor} (${tier}) in ${channelName(status, channel)}, ${countOf(messages.length, 'message')}, since ${since}`,
    ]);
  }
  for (const joining of d.joining ?? [])
    rows.push(['joining', `in ${channelName(status, joining.channel)}: ${joiningLine(joining)}`]);
  return rows;
}

function actors({ host }: Status): string[][] {
  return (host?.actors ?? []).flatMap(({ name, tiers }) =>
    tiers.map((tier) => [
      name,
      nameText(tier.name),
      tier.count === 1 ? '' : `${String(tier.count)} at once`,
      commandText(tier.cli),
      tier.output !== null && 'off' in tier.output ? tier.output.off : '',
    ]),
  );
}

function part(paint: Paint, title: string, rows: string[][]): string {
  return rows.length === 0 ? '' : `${paint('bold', title)}\n${table(rows, '  ')}`;
}
