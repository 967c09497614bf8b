import { CrosstalkError } from '../../errors.ts';
import {
  approve,
  knownHost,
  poolsOf,
  showHost,
  type HostShown,
} from '../../actions/setup/approvals.ts';
import { reject } from '../../actions/setup/reject.ts';
import { changingHost, listHosts } from '../../actions/setup/hosts.ts';
import type { Context } from '../../actions/context.ts';
import { wholeOf } from '../../protocol/approval/record.ts';
import { outputNote } from '../../agents/output/plain-call.ts';
import { sessionsOf } from '../../agents/sessions/sessions-of.ts';
import { warmOf, askingOfTier } from '../../agents/sessions/warm-of.ts';
import { SESSION_MAX_TURNS } from '../../protocol/files/tier-options.ts';
import { serversOf } from '../../agents/mcp/servers-of.ts';
import { nameText } from '../../protocol/approval/approval.ts';
import type { Tier } from '../../protocol/files/host-file.ts';
import { asAscii, escapeInvisible } from '../../protocol/text/quoted.ts';
import { table } from '../view/render.ts';
import { changeLines, tierText } from '../view/machine.ts';
import {
  flag,
  given,
  isYes,
  note,
  print,
  text,
  type Call,
  usingTransport,
} from '../command/command.ts';
import { HOST, type CommandSpec } from '../command/spec.ts';

export const commands: readonly CommandSpec[] = [
  {
    name: 'host list',
    summary: 'all host files: which machine serves whom, and which one this is',
    example: 'crosstalk host list',
    paged: true,
    run: usingTransport(list),
  },
  {
    name: 'host show',
    summary: 'this machine’s host file, and the changes that are held',
    options: [HOST],
    example: 'crosstalk host show',
    paged: true,
    run: usingTransport(show),
  },
  {
    name: 'host approve',
    args: '[digest...]',
    summary: 'accept held changes, named by the digests that host show prints',
    details:
      'Without a digest it asks on a terminal, for each change; nothing is fetched meanwhile.',
    options: [HOST],
    example: 'crosstalk host approve 1f2e3d4c5b6a',
    run: usingTransport(approveChosen),
  },
  {
    name: 'host reject',
    args: '<digest...>',
    summary: 'refuse held changes: what is approved stands in the host file again',
    details:
      'What was never approved is taken out of the file. Whoever pushed it is shown by host show.',
    options: [HOST],
    example: 'crosstalk host reject 1f2e3d4c5b6a',
    run: usingTransport(rejectChosen),
  },
];

async function list(call: Call, context: Context): Promise<number> {
  const hosts = await listHosts(context);
  return print(call, hosts, () =>
    table(
      hosts.map(({ alias, hostname, actors, path, problem, is_this: isThis }) => [
        alias ?? escapeInvisible(path),
        escapeInvisible(hostname ?? ''),
        problem !== null
          ? escapeInvisible(problem)
          : actors.length === 0
            ? 'serves nobody'
            : actors.join(', '),
        isThis ? 'this machine' : '',
      ]),
    ),
  );
}

async function show(call: Call, context: Context): Promise<number> {
  const shown = await showHost(context, text(call, 'host'));
  const pools = await poolsOf(context, shown);
  if (shown.problem !== undefined) note(call, shown.problem);
  return printed(call, { ...facts(shown, pools), approved: shown.held.length === 0 }, () =>
    renderShown(shown, pools),
  );
}

/**
 * Approves the changes named by their digests; on a terminal, the changes that somebody has seen
 * and agreed to.
 */
async function approveChosen(call: Call, context: Context): Promise<number> {
  const alias = text(call, 'host');
  const given = call.args.flatMap((digest) => digest ?? []);
  const shown = await knownHost(context, alias);
  const now = async () => facts(shown, await poolsOf(context, shown));
  if (given.length === 0 && shown.held.length === 0)
    return printed(call, { ...(await now()), approved: false }, () => 'nothing is held');
  const digests = given.length > 0 ? given : await asked(call, shown);
  const approved = digests.length === 0 ? [] : await approve(context, alias, digests);
  return printed(call, { ...(await now()), held: approved, approved: approved.length > 0 }, () =>
    approved.length === 0
      ? 'nothing was approved'
      : [
          ...approved.map(changeLines),
          `Approved: ${approved.map(({ digest }) => digest).join(' ')}`,
        ].join('\n'),
  );
}

async function rejectChosen(call: Call, context: Context): Promise<number> {
  const digests = call.args.flatMap((digest) => digest ?? []);
  const named = { ...given(call, 'host'), digests, login: call.io.login };
  const rejected = await changingHost(context, () => reject(context, named));
  return printed(call, { rejected }, () =>
    [...rejected.map(changeLines), `Rejected: ${digests.join(' ')}`].join('\n'),
  );
}

/** Shows every change that is held and asks once for each; `all` agrees to the rest. */
async function asked(call: Call, { held }: HostShown): Promise<string[]> {
  const { io } = call;
  if (io.ask === undefined)
    throw new CrosstalkError(
      'usage',
      `which change? ${String(held.length)} held; look at them with: crosstalk host show, then name those you accept: crosstalk host approve <digest>...`,
    );
  io.err(`${held.map(changeLines).join('\n')}\n`);
  const open = held.filter(({ refused }) => refused === undefined);
  const chosen: string[] = [];
  for (const [at, { digest, name }] of open.entries()) {
    const rest = open.length - at;
    const choice = rest > 1 ? `[y/N/all ${String(rest)}]` : '[y/N]';
    const answer = (await io.ask(`Approve ${digest} (${nameText(name)})? ${choice} `)).trim();
    if (/^all$/i.test(answer)) return [...chosen, ...open.slice(at).map((change) => change.digest)];
    if (isYes(answer)) chosen.push(digest);
  }
  return chosen;
}

/** Words the content of a host file, with its waiting changes. */
function facts({ host, held, started }: HostShown, pools: ReadonlySet<string>) {
  return {
    alias: host?.alias ?? null,
    path: host?.path ?? null,
    hostname: host?.file.hostname ?? null,
    actors: [...(host?.file.actors ?? [])].map(([name, tiers]) => ({
      name,
      serve: pools.has(name) ? ('one' as const) : ('all' as const),
      tiers: tiers.map((tier) => ({
        name: tier.name,
        ...wholeOf(tier),
        output: outputNote(tier.cli) ?? null,
        ...(tier.permit !== undefined && { asking: askingOfTier(tier) }),
        ...(tier.session !== undefined && { sessions: sessionNote(tier) }),
      })),
    })),
    held,
    started,
  };
}

function renderShown(
  { host, held, started, servers }: HostShown,
  pools: ReadonlySet<string>,
): string {
  const actors = [...(host?.inForce ?? [])].flatMap(([actor, tiers]) =>
    tiers.flatMap((tier) => [
      `  ${nameText(`${actor}.${tier.name}`)}  ${tierText(tier)}`,
      ...outputLine(tier.cli),
      ...permitLine(tier),
      ...sessionLine(tier),
      ...toolsLine(tier, servers?.(actor) ?? []),
      ...(pools.has(actor)
        ? ['    serve one: of all hosts that serve it, one takes each task']
        : []),
    ]),
  );
  const first = started ? '' : ' (nothing of it is approved here, so nothing of it runs)';
  return [
    ...(host === undefined
      ? []
      : [`${host.alias}: ${escapeInvisible(host.path)}${first}`, ...actors]),
    ...(held.length === 0
      ? []
      : [
          'Held, and not in force until approved with: crosstalk host approve <digest>; refuse it with: crosstalk host reject <digest>',
          ...held.map(changeLines),
        ]),
  ].join('\n');
}

/** Words the flags added to a command when it is run, or the reason why there are none. */
function outputLine(cli: string): string[] {
  const note = outputNote(cli);
  if (note === undefined) return [];
  return ['adds' in note ? `    runs with: ${note.adds}` : `    ${note.off}`];
}

/** Words the flags added to a command so that it asks for permission. */
function permitLine(tier: Tier): string[] {
  const asking = tier.permit === undefined ? undefined : askingOfTier(tier);
  if (asking?.ok !== true) return [];
  const by = asking.flags === '' ? 'the Agent Client Protocol' : asking.flags;
  return [`    asks for permission with: ${by}`];
}

/** Words the way in which the runs of a tier continue sessions, or the reason why they cannot. */
function sessionNote({ cli, session, sessionMaxTurns = SESSION_MAX_TURNS }: Tier): SessionNote {
  if (session === 'warm') {
    const found = warmOf(cli);
    if (!found.ok) return found;
    const { agent, command } = found.way;
    return { ok: true, agent, max_turns: sessionMaxTurns, kept_by: command };
  }
  const found = sessionsOf(cli);
  return found.ok
    ? { ok: true, agent: found.call.agent, max_turns: sessionMaxTurns }
    : { ok: false, why: found.why };
}

type SessionNote =
  | {
      ok: true;
      agent: string;
      max_turns: number;
      /** Command line of the pooled process, if there is one. */
      kept_by?: string;
    }
  | { ok: false; why: string };

function sessionLine(tier: Tier): string[] {
  if (tier.session === undefined) return [];
  const note = sessionNote(tier);
  const turns = note.ok ? String(note.max_turns) : '';
  if (note.ok && note.kept_by !== undefined)
    return [`    keeps a process for each thread, for at most ${turns} runs: ${note.kept_by}`];
  return [
    note.ok
      ? `    goes on with the session of ${note.agent} for each thread, for at most ${turns} runs`
      : `    each run is new all the same: ${note.why}`,
  ];
}

/** Words the flags added to a command so that it has the tools of its actor. */
function toolsLine({ cli }: Tier, servers: readonly { name: string }[]): string[] {
  if (servers.length === 0) return [];
  const names = servers.map(({ name }) => name).join(', ');
  const taking = serversOf(cli);
  return [`    tools ${names}: ${taking.ok ? `by ${taking.by}` : taking.why}`];
}

/** Prints a result; the text on which a person bases a decision is plain ASCII in both forms. */
function printed(call: Call, value: unknown, render: () => string): number {
  const body = flag(call, 'json') ? asAscii(JSON.stringify(value, undefined, 2)) : render();
  if (body !== '') call.io.out(`${body}\n`);
  return 0;
}
