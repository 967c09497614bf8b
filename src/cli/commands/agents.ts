import { withoutWebToken } from '../../credentials.ts';
import { findAgents, type AgentReport } from '../../actions/setup/agents.ts';
import { shown } from '../../protocol/text/result.ts';
import { flag, note, print, type Call } from '../command/command.ts';
import { durationOf } from '../command/values.ts';
import { EXIT } from '../command/io.ts';
import { painter, table } from '../view/render.ts';
import { holdWords } from '../../present/holds.ts';
import { ageOf } from '../../present/times.ts';
import type { CommandSpec } from '../command/spec.ts';

type Paint = ReturnType<typeof painter>;

export const commands: readonly CommandSpec[] = [
  {
    name: 'agents',
    args: '[agents...]',
    summary: 'the known agent CLIs on this machine, and whether they work',
    details:
      'With --run each answers one word, which costs what a short question costs there; exit code 1 when one does not.',
    options: [
      ['--run', 'let each answer one word'],
      ['--timeout <time>', 'how long a run may take (default: 90)'],
    ],
    standalone: true,
    interrupt: 'clean',
    example: 'crosstalk agents',
    run,
  },
];

async function run(call: Call): Promise<number> {
  const { io } = call;
  const timeout = limit(call);
  const reports = await findAgents({
    env: withoutWebToken(io.env),
    names: call.args.filter((name) => name !== undefined),
    ...(flag(call, 'run') && { run: timeout }),
    now: () => new Date(),
    signal: io.stop,
    trying: (name) => {
      note(call, `asking ${name} for one word, which may take up to ${ageOf(timeout / 1000)}`);
    },
  });
  const there = reports.filter(({ path }) => path !== null);
  if (there.length === 0) note(call, 'none of them is on the PATH');
  print(call, reports, () => reports.map((one) => render(one, painter(io))).join('\n\n'));
  const wanted = call.args.length === 0 ? there : reports;
  const working = wanted.filter((one) => one.run?.result === 'works');
  const well = working.length > 0 && working.length === wanted.length;
  return flag(call, 'run') && !well ? EXIT.failed : EXIT.ok;
}

function limit(call: Call): number {
  return durationOf(call, 'timeout', { fallback: '90', least: 1000, most: 3_600_000 });
}

function render(one: AgentReport, paint: Paint): string {
  const name = paint('bold', one.name);
  if (one.path === null) return `${name}\n${table([['not on the PATH', one.install]], '  ')}`;
  const rows = [
    ['program', one.path],
    ['version', one.version ?? 'not known'],
    ['from', one.from ?? 'not known'],
    ['logged in', loggedIn(one)],
    ['sessions', sessions(one)],
    ['run', ran(one, paint)],
  ];
  return `${name}\n${table(rows, '  ')}`;
}

function sessions({ sessions: able, adapter }: AgentReport): string {
  const all = able.join(', ');
  if (adapter === null) return all;
  return adapter.path === null
    ? `${all}; warm with ${adapter.name}: ${adapter.install}`
    : `${all} (by ${adapter.path})`;
}

function loggedIn({ logged_in_by: by, login }: AgentReport): string {
  return by === null ? `not known; log in with: ${login}` : `it seems so, by ${by}`;
}

function ran({ run: tried, login, name }: AgentReport, paint: Paint): string {
  switch (tried?.result) {
    case undefined:
      return `not tried; try with: crosstalk agents --run ${name}`;
    case 'works':
      return `${paint('green', 'works')}: answered ${shown(tried.answer)} after ${String(tried.seconds)} s`;
    case 'rate_limited':
    case 'out_of_credit':
      return `${paint('yellow', holdWords({ reason: tried.result, until: tried.until, said: null }))}: ${tried.said}`;
    case 'not_logged_in':
      return `${paint('red', 'not logged in')}: ${tried.said}; log in with: ${login}`;
    case 'failed':
      return `${paint('red', 'failed')}: ${tried.said}`;
  }
}
