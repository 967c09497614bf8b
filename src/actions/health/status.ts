import { access, constants, stat } from 'node:fs/promises';
import type { WebTool } from '../../api/now.ts';
import { outputNote } from '../../agents/output/plain-call.ts';
import {
  type Facts,
  type HostStatus,
  type Status,
  type InboxStatus,
  keptSessions,
  lookAtProfiles,
} from './report.ts';
import type { HeldChange } from '../../protocol/approval/approval.ts';
import { checkVersion } from '../../bus/host.ts';
import { ask } from '../../dispatcher/socket/wake.ts';
import type { WakeAnswer } from '../../dispatcher/socket/wake-lines.ts';
import type { Heartbeat } from '../../state/heartbeat.ts';
import { holderOf } from '../../state/lock.ts';
import type { Commit } from '../../protocol/outgoing.ts';
import { roomAt } from '../../state/place/below.ts';
import type { Tier } from '../../protocol/files/host-file.ts';
import { brokenRecords } from '../../state/directory.ts';
import { knownHost } from '../setup/approvals.ts';
import { secretsOf } from '../setup/secrets.ts';
import { secretsIn, type McpServer } from '../../protocol/files/mcp-servers.ts';
import { claimWarnings } from './claims.ts';
import { takeCensus } from './census.ts';
import { loadPins } from '../../state/keys/pins.ts';
import { isOfRun } from '../agent-mode.ts';
import { gatedMail } from '../state/delivery.ts';
import { parkedIn, readRecords, type Records } from '../state/local.ts';
import type { Context } from '../context.ts';
import { channelsOf, hostsOf } from '../view.ts';
import type { IndexOptions } from '../index/indexing.ts';
import { judge, type Judged } from './health.ts';
import { listHeld } from './held-secrets.ts';
import { heldAgents } from './held-agents.ts';
import { otherMachines } from '../lookup/machines.ts';
import { hostWords } from '../lookup/heard.ts';
import { warmSessions } from './warm-sessions.ts';
import { mailForNobody } from './nobody.ts';
import { excerptOf } from '../../protocol/text/excerpt.ts';
import { inboxHere } from '../state/inbox.ts';

/** Milliseconds for the answer of a dispatcher, which may hang. */
const ASK_MS = 1000;

/**
 * Options of a look: with `patience`, older messages may not be counted yet; `name`: of the viewer; `all`: also the
 * reports of the transport's hosts about themselves.
 */
type Looking = IndexOptions & { name?: string; all?: boolean };

/** Returns the state of the transport and of this machine's part in it, as far as it is known locally. */
export async function status(
  context: Context,
  alias: string | undefined,
  counting: Looking = {},
): Promise<Status> {
  const { facts, judged } = await examine(context, alias, counting);
  const { health, findings, warnings } = judged;
  return {
    ...facts,
    health,
    findings: findings.map(({ problem, kind, command }) => ({ problem, kind, command })),
    warnings: warnings.map(({ problem }) => problem),
  };
}

/** Does the same with the findings in their parts, as `doctor` shows them. */
export async function examine(
  context: Context,
  alias: string | undefined,
  counting: Looking = {},
): Promise<{ facts: Facts; judged: Judged }> {
  const { transport, paths, outbox } = context;
  const [census, channels, records, pusher] = await Promise.all([
    takeCensus(context, counting),
    channelsOf(context),
    readRecords(context),
    holderOf(paths.root, 'writer'),
  ]);
  const { runs, heartbeat, paused, permissions, gates } = records;
  const now = context.now().getTime();
  const age = (at: string): number => Math.max(0, Math.round((now - Date.parse(at)) / 1000));
  const inRun = isOfRun(context.agentMode);
  // Its last report may be old where the state takes no report.
  const asked = inRun || !heartbeat ? undefined : await ask(paths.socket, { op: 'ping' }, ASK_MS);
  const answer = asked?.kind === 'answered' ? asked.answer : undefined;
  const running = heartbeat && { ...heartbeat, ...unrecordedIn(answer) };
  const [host, version] = await Promise.all([
    hostStatus(context, alias ?? running?.host ?? undefined),
    checkVersion(transport, census.tip),
  ]);
  const served = (host.status?.actors ?? []).map(({ name }) => name);
  const machines = running?.bell && otherMachines(running, await aliasesOf(context), context.now());
  const profiles = await lookAtProfiles(context, census.tip, served);
  const facts: Facts = {
    transport: transport.dir,
    origin: transport.origin !== undefined,
    branch: transport.branch,
    ...(transport.remoteRef !== `refs/heads/${transport.branch}` && { ref: transport.remoteRef }),
    tip: census.tip,
    state_dir: paths.root,
    version_problem: version ?? null,
    paused,
    holds: heldAgents(records.holds, now),
    host: host.status,
    host_problem: host.problem,
    profile_problems: profiles.problems,
    profile_changes: profiles.changes,
    parked: await parkedIn(context, records, () => Promise.resolve(host.inForce)),
    unserved: await mailForNobody(context, counting),
    inbox: await waitingFor(context, records, counting),
    permissions: [...permissions],
    held: host.held,
    gated: gates.map(gatedMail),
    sessions: await keptSessions(context),
    ...(machines && { machines }),
    ...(counting.all === true && { hosts: await hostWords(context, host.status?.alias, machines) }),
    warm: await warmSessions(context),
    dispatcher: running === undefined ? null : { ...running, age_s: age(running.at) },
    channels: channels
      .filter(({ archived }) => archived !== true)
      .map(({ id, name, parent }) => ({
        id,
        name,
        parent: parent ?? null,
        messages: census.channels[id]?.messages ?? 0,
        last: census.channels[id]?.last ?? null,
      })),
    cursors: [...records.cursors].map(([actor, { through, channels: lagging }]) => ({
      actor,
      through,
      lagging: Object.entries(lagging).map(([channel, commit]) => ({ channel, commit })),
    })),
    outbox: records.outbox.map(({ id, commits }) => ({
      id,
      age_s: age(commits[0]?.at ?? ''),
      files: filesOf(commits),
    })),
    pushing: pusher === undefined ? null : { pid: pusher.pid, since: pusher.since },
    set_aside: (await outbox.aside()).map(({ id, at, reason, commits }) => ({
      id,
      at,
      reason,
      files: filesOf(commits),
    })),
    held_secrets: await listHeld(context),
    dead_letters: records.letters.map(
      ({ id, state, actor, channel, messages, reason, detail, attempts, next_retry_at: due }) => ({
        id,
        state,
        actor,
        channel,
        messages,
        reason,
        detail,
        attempts,
        ...(due === undefined ? {} : { next_retry_at: due }),
      }),
    ),
    push_budget: (await context.budget.headroom()) ?? null,
    malformed: Object.entries(census.malformed).map(([path, reason]) => ({ path, reason })),
    malformed_total: census.malformedTotal,
    broken_state_files: await brokenRecords(paths),
    stale_locks: await transport.staleLocks(),
  };
  const isShared = !inRun && running?.alias_shared !== undefined;
  const pins = isShared ? await loadPins(paths.pins).catch(() => []) : [];
  const known = {
    pinned: [...new Set(pins.map(({ name }) => name))],
    now: context.now(),
    locked: runs,
    answers: answer !== undefined,
    room: await roomAt(paths.root),
    served: host.served,
    fault: inRun ? undefined : await faultOf(paths.root),
    left: await context.checkout.left(),
    claims: await claimWarnings(context),
  };
  return { facts, judged: judge(facts, known) };
}

/** Returns the problem of a state directory, which has to belong to this user alone. */
async function faultOf(root: string): Promise<string | undefined> {
  const closed = ((await stat(root)).mode & 0o077) === 0;
  const writable = await access(root, constants.W_OK).then(
    () => true,
    () => false,
  );
  const words = [closed ? '' : 'open to others', writable ? '' : 'not writable'];
  return words.filter((word) => word !== '').join(', ') || undefined;
}

/** Returns the outcomes that a dispatcher has yet to record, as its heartbeat reports them. */
function unrecordedIn(
  answer: WakeAnswer | undefined,
): Pick<Heartbeat, 'record_failing_since' | 'record_error'> {
  const { since, reason } = answer?.unrecorded ?? {};
  return since === undefined || reason === undefined
    ? {}
    : { record_failing_since: since, record_error: reason };
}

async function aliasesOf(context: Context): Promise<string[]> {
  const hosts = await hostsOf(context);
  return hosts.flatMap(({ result }) => (result.ok ? [result.value.alias] : []));
}

function filesOf(commits: readonly Commit[]): string[] {
  return commits.flatMap(({ files }) => files.map(({ path }) => path));
}

async function hostStatus(
  context: Context,
  alias: string | undefined,
): Promise<{
  status: HostStatus | null;
  problem: string | null;
  served: string | undefined;
  held: HeldChange[];
  inForce: ReadonlyMap<string, readonly Tier[]>;
}> {
  const { host, problem, served, others, held, servers } = await knownHost(context, alias);
  if (host === undefined) {
    const inForce = new Map<string, readonly Tier[]>();
    return { status: null, problem: problem ?? null, served, held, inForce };
  }
  const missing = (names: readonly string[]): Promise<string[]> =>
    secretsOf(context).missing(names);
  const tools = new Map<string, WebTool[]>();
  // The approvals are known to the operator of the machine, and not to a run.
  for (const actor of isOfRun(context.agentMode) ? [] : host.inForce.keys()) {
    const found = await toolsOf(actor, servers?.(actor) ?? [], held, missing);
    if (found.length > 0) tools.set(actor, found);
  }
  return {
    problem: null,
    served,
    held,
    inForce: host.inForce,
    status: {
      alias: host.alias,
      path: host.path,
      others,
      held: held.filter(({ actor }) => actor !== undefined),
      unknown: host.file.unknown,
      actors: [...host.inForce].map(([name, tiers]) => ({
        name,
        ...(tools.has(name) && { tools: tools.get(name) ?? [] }),
        tiers: tiers.map(({ name: tier, cli, count, fallback }) => ({
          name: tier,
          cli,
          count,
          output: outputNote(cli) ?? null,
          ...(fallback !== undefined && { fallback }),
        })),
      })),
    },
  };
}

const SHOWN = 5;
const EXCERPT_BYTES = 100;

/**
 * Returns the questions to somebody, as far as is known locally; starts no git process of its own. A run receives the
 * waiting mail of its actor, so nothing is returned for that.
 */
async function waitingFor(
  context: Context,
  records: Records,
  { name, ...indexing }: Looking,
): Promise<InboxStatus | null> {
  if (name === undefined || isOfRun(context.agentMode)) return null;
  const input = { name, questions: true, limit: SHOWN };
  const { unread, questions, entries } = await inboxHere(context, input, indexing, records);
  return {
    name,
    unread,
    questions,
    asking: entries.map(({ channel, relPath, message: { from, timestamp, body, proposal } }) => ({
      channel: channel.id,
      relPath,
      from,
      timestamp,
      proposal: proposal === true,
      excerpt: excerptOf(body, '', EXCERPT_BYTES).text,
    })),
  };
}

/**
 * Returns the MCP servers of an actor as this machine knows them: those in force, and those that wait for approval.
 *
 * @param approved those in force
 * @param held every change that waits
 * @param missing the names among these of which this machine has no secret
 */
async function toolsOf(
  actor: string,
  approved: readonly McpServer[],
  held: readonly HeldChange[],
  missing: (names: readonly string[]) => Promise<string[]>,
): Promise<WebTool[]> {
  const changes = held.flatMap((change) =>
    change.kind === 'mcps' && change.actor === actor ? change.changes : [],
  );
  const waiting = changes.filter(({ proposed }) => proposed !== undefined);
  const tools: WebTool[] = [];
  for (const server of approved)
    tools.push({
      name: server.name,
      state: 'approved',
      missing: await missing(secretsIn([server])),
    });
  for (const { option } of waiting)
    tools.push({ name: option.slice('mcps.'.length), state: 'held', missing: [] });
  return tools;
}
