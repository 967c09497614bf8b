import { approvables, heldOf, settingsThatWait, type ProfilesAt } from '../../bus/approvables.ts';
import { judge, weigh, type Approving } from '../../bus/approvals.ts';
import { profileInForce } from '../../bus/profiles.ts';
import { tierRefusalOf } from '../../bus/transport-files.ts';
import { ask } from '../../dispatcher/socket/wake.ts';
import { CrosstalkError } from '../../errors.ts';
import { type HeldChange, nameText } from '../../protocol/approval/approval.ts';
import type { McpServer } from '../../protocol/files/mcp-servers.ts';
import { type HostFile, type Tier, parseHostFile } from '../../protocol/files/host-file.ts';
import { withTier, type Approved, canonical, wholeOf } from '../../protocol/approval/record.ts';
import { shown } from '../../protocol/text/result.ts';
import {
  approvedFor,
  hasApproved,
  loadApprovals,
  updateApprovals,
  type Approvals,
} from '../../state/approvals.ts';
import { refreshOrNote, type Context } from '../context.ts';
import { assertPerson } from '../person.ts';
import { findServed, findThisHost } from './hosts.ts';
import { approvedSlot, type TierSlot } from './starter-files.ts';

/** Returns the data with which this clone judges approvals. */
export function approvingIn({ transport, paths, env }: Context): Approving {
  return { transport, approvals: paths.approvals, home: env['HOME'] ?? '' };
}

async function profilesAt({ transport, paths, now, view }: Context): Promise<ProfilesAt> {
  const tip = view?.tip ?? (await transport.tip());
  return { place: { transport, paths, now }, tip };
}

/** A host file with the changes to it, and to the clone's settings, that are held. */
export interface HostShown {
  /** Undefined when this machine has no host file; `problem` gives the reason. */
  host: { alias: string; path: string; file: HostFile; inForce: Map<string, Tier[]> } | undefined;
  problem?: string;
  /** The alias that this machine serves, if known: without its file, its messages wait. */
  served?: string;
  /** Paths of other files that claim to be this machine's; they have no effect. */
  others: string[];
  /** False while nothing of the host file is approved here: a start on a terminal asks about all of it. */
  started: boolean;
  held: HeldChange[];
  /** Returns the MCP servers of an actor that are in force here; absent without a host file. */
  servers?: (actor: string) => readonly McpServer[];
}

/** Returns this machine's host file and all changes that wait for approval, as known locally. */
export async function knownHost(context: Context, alias: string | undefined): Promise<HostShown> {
  const approving = approvingIn(context);
  const { found, served } = await findServed(context, alias);
  if (found.kind !== 'found') {
    const settings = await settingsThatWait(approving);
    return {
      host: undefined,
      problem: found.problem,
      ...(served !== undefined && { served }),
      others: [],
      started: true,
      held: [...settings.held()],
    };
  }
  const { approvals, judged, ...active } = await weigh(approving, found);
  const { place, tip } = await profilesAt(context);
  const things = await approvables(approving, judged, { place, tip });
  return {
    host: { alias: active.alias, path: found.path, file: found.file, inForce: active.actors },
    served: active.alias,
    others: found.others,
    started: hasApproved(approvals, active.alias),
    held: await withOrigins(context, { ...found, tip: tip ?? '' }, heldOf(things, approvals)),
    servers: active.serversOf,
  };
}

/** Returns the actors of a host of which, as in force here, one host takes each task. */
export async function poolsOf(context: Context, { host }: HostShown): Promise<Set<string>> {
  const { place, tip } = await profilesAt(context);
  const pools = new Set<string>();
  if (tip === undefined) return pools;
  for (const actor of host?.file.actors.keys() ?? [])
    if ((await profileInForce(place, tip, actor)).pool === true) pools.add(actor);
  return pools;
}

/**
 * Returns the same after a fetch.
 *
 * @throws CrosstalkError `not_found` when there is neither a host file nor a held change
 */
export async function showHost(context: Context, alias: string | undefined): Promise<HostShown> {
  await refreshOrNote(context);
  const known = await knownHost(context, alias);
  if (known.problem !== undefined && known.held.length === 0)
    throw new CrosstalkError('not_found', known.problem);
  return known;
}

/**
 * Approves exactly the changes with these digests, all or none, as known locally: nothing is fetched, so
 * a digest stands for the change that was shown (trust.md §2). Notifies the dispatcher.
 *
 * @returns the approved changes
 * @throws CrosstalkError `not_found` for a digest of no held change, `refused` for a change that cannot
 *   be approved, and for a run
 */
export async function approve(
  context: Context,
  alias: string | undefined,
  digests: readonly string[],
): Promise<HeldChange[]> {
  await assertPerson(context);
  const approving = approvingIn(context);
  const found = await findThisHost(context, alias);
  const file = found.kind === 'found' ? found.file : undefined;
  const known = await loadApprovals(approving.approvals);
  const judged = file && (await judge(approving, file, known));
  const things = await approvables(approving, judged, await profilesAt(context));
  let chosen: HeldChange[] = [];
  const choose = (approvals: Approvals): void => {
    const held = heldOf(things, approvals);
    chosen = digests.map((digest) => chooseFrom(held, digest));
  };
  if (things.every((thing) => thing.accept === undefined)) choose(known);
  else {
    await updateApprovals(approving.approvals, (approvals) => {
      choose(approvals);
      return things.reduce((all, { accept }) => accept?.(all, chosen) ?? all, approvals);
    });
  }
  for (const thing of things) await thing.record?.(chosen);
  await ask(context.paths.socket, { op: 'wake' }, 2000);
  return chosen;
}

/**
 * @throws CrosstalkError `not_found` for a digest of no held change, `refused` for a change that cannot
 *   be approved
 */
export function chooseFrom(
  held: readonly HeldChange[],
  digest: string,
  how: 'approved' | 'rejected' = 'approved',
): HeldChange {
  const change = held.find((one) => one.digest === digest);
  if (change === undefined) throw unknown(digest, how);
  if (change.refused === undefined || how === 'rejected') return change;
  throw new CrosstalkError(
    'refused',
    `${nameText(change.name)} cannot be approved: ${change.refused}`,
  );
}

function unknown(digest: string, how: string): CrosstalkError {
  return new CrosstalkError(
    'not_found',
    `no held change has the digest ${shown(digest)}, so nothing was ${how}; what is held now: crosstalk host show`,
  );
}

/**
 * Approves a command that the operator writes on this machine, before it is on the bus.
 *
 * @param joins whether this clone serves that host from now on
 * @throws CrosstalkError `refused` for a command that names a file inside the transport
 */
export async function approveWritten(
  context: Context,
  alias: string,
  actor: string,
  tier: string,
  slot: TierSlot,
  { joins = false }: { joins?: boolean } = {},
): Promise<void> {
  await requireOutside(context, slot);
  await changeApprovals(
    context,
    alias,
    (approved) => withTier(approved, actor, tier, approvedSlot(slot)),
    { joins },
  );
}

/**
 * Changes the approvals for one host file, as the operator has just written it on this machine.
 *
 * @param joins whether this clone serves that host from now on
 */
async function changeApprovals(
  context: Context,
  alias: string,
  change: (approved: Approved) => Approved,
  { joins = false }: { joins?: boolean } = {},
): Promise<void> {
  await updateApprovals(context.paths.approvals, (approvals) => ({
    alias: joins ? alias : (approvals.alias ?? alias),
    hosts: { ...approvals.hosts, [alias]: change(approvedFor(approvals, alias)) },
  }));
}

/**
 * Changes the approvals before the approved file is written, and restores them if the file is held
 * because it seems to contain a secret: the version on the bus must stay in force.
 *
 * @throws CrosstalkError the error of `write`
 */
export async function writeApproved(
  context: Context,
  alias: string,
  change: (approved: Approved) => Approved,
  write: () => Promise<void>,
): Promise<void> {
  let before: Approved | undefined;
  await changeApprovals(context, alias, (approved) => change((before = approved)));
  try {
    await write();
  } catch (error) {
    const was = before;
    if (was !== undefined && error instanceof CrosstalkError && error.code === 'held')
      await changeApprovals(context, alias, () => was);
    throw error;
  }
}

/** @throws CrosstalkError `refused` for a command that names a file inside the transport */
export async function requireOutside(
  context: Context,
  slot: Omit<TierSlot, 'sandbox'>,
): Promise<void> {
  const { transport, home } = approvingIn(context);
  const refused = await tierRefusalOf(transport, home, slot);
  if (refused !== undefined)
    throw new CrosstalkError(
      'refused',
      `the command ${shown(slot.cli)} cannot be used: ${refused}`,
    );
}

/** A version of a host file, with the author and time of its commit. */
interface HostVersion {
  commit: string;
  by: string;
  /** ISO 8601. */
  at: string;
  text: string;
  /** Undefined when it cannot be read. */
  file: HostFile | undefined;
}

/** Maximum number of versions that are examined, as anyone who can push can make any number. */
const MOST = 200;

/** Lists the versions of a host file in the history of a commit, newest first. */
export async function* versionsOf(
  { transport }: Context,
  tip: string,
  path: string,
): AsyncGenerator<HostVersion> {
  const args = ['log', `--max-count=${String(MOST)}`, '--format=%H %cI %an', tip, '--', path];
  for (const line of (await transport.git(args)).split('\n')) {
    const [commit = '', at = '', ...by] = line.split(' ');
    if (commit === '') continue;
    const text = (await transport.objects.text(commit, path)) ?? '';
    const read = parseHostFile(text);
    yield { commit, at, by: by.join(' '), text, file: read.ok ? read.value : undefined };
  }
}

/** Adds to held changes the commit that made each proposal, if the history of the host file has it. */
async function withOrigins(
  context: Context,
  { path, file, tip }: { path: string; file: HostFile; tip: string },
  held: readonly HeldChange[],
): Promise<HeldChange[]> {
  const pushed = new Map<HeldChange, HeldChange['pushed']>();
  let open = held.filter(isOfFile);
  if (open.length === 0) return [...held];
  for await (const { commit, by, at, file: older } of versionsOf(context, tip, path)) {
    open = open.filter((change) => {
      const isThere = older !== undefined && partOf(older, change) === partOf(file, change);
      if (isThere) pushed.set(change, { by, at, commit });
      return isThere;
    });
    if (open.length === 0) break;
  }
  return held.map((change) => {
    const origin = pushed.get(change);
    return origin === undefined ? change : { ...change, pushed: origin };
  });
}

/** Whether a change is in the host file: a setting is in the clone, the other kinds are in a profile. */
export function isOfFile({ kind }: HeldChange): boolean {
  return kind === 'tier' || kind === 'default';
}

/** Returns the part of a host file that a change is about. */
function partOf({ actors }: HostFile, { kind, actor = '', tier }: HeldChange): string {
  const tiers = actors.get(actor) ?? [];
  if (kind === 'default') return canonical(tiers[0]?.name);
  const found = tiers.find(({ name }) => name === tier);
  return canonical(found && wholeOf(found));
}
