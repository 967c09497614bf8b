import { changedSettings, judges, weigh, type Approving } from '../../bus/approvals.ts';
import { tierRefusalOf } from '../../bus/transport-files.ts';
import { ask } from '../../dispatcher/socket/wake.ts';
import { CrosstalkError } from '../../errors.ts';
import { accept, inForce, withTier, type HeldChange } from '../../protocol/approval/approval.ts';
import type { HostFile, Tier } from '../../protocol/files/host-file.ts';
import { nameText } from '../../protocol/approval/text.ts';
import { shown } from '../../protocol/text/result.ts';
import { approvedFor, loadApprovals, updateApprovals } from '../../state/approvals.ts';
import { refreshOrNote, type Context } from '../context.ts';
import { findServed, findThisHost } from './hosts.ts';
import type { TierSlot } from './tier-slot.ts';

/** What approvals are judged by in this clone. */
export function approvingIn({ transport, paths, started, env }: Context): Approving {
  return { transport, approvals: paths.approvals, clone: started, home: env['HOME'] ?? '' };
}

/** A host file with what is held of it, and of the clone's settings. */
export interface HostShown {
  /** Undefined when no host file is this machine's; `problem` says why. */
  host: { alias: string; path: string; file: HostFile; inForce: Map<string, Tier[]> } | undefined;
  problem?: string;
  /** The alias that this machine serves, where one is known: without its file its mail waits. */
  served?: string;
  /** Paths of other files that claim to be this machine's; they count for nothing. */
  others: string[];
  /** False while nothing has been approved here: the first start approves the file as it stands. */
  started: boolean;
  held: HeldChange[];
}

/** This machine's host file and everything that waits for approval, as known here. */
export async function knownHost(context: Context, alias: string | undefined): Promise<HostShown> {
  const approving = approvingIn(context);
  const [{ found, served }, settings] = await Promise.all([
    findServed(context, alias),
    changedSettings(approving),
  ]);
  if (found.kind !== 'found')
    return {
      host: undefined,
      problem: found.problem,
      ...(served !== undefined && { served }),
      others: [],
      started: true,
      held: settings.held,
    };
  const active = await weigh(approving, found);
  return {
    host: { alias: active.alias, path: found.path, file: found.file, inForce: active.actors },
    served: active.alias,
    others: found.others,
    started: active.started,
    held: [...active.held, ...settings.held],
  };
}

/**
 * The same after asking the remote.
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
 * Approves exactly the changes of these digests, all or none, as they are known here: nothing is
 * fetched, so a digest stands for what was shown (trust.md §2). Tells the dispatcher.
 *
 * @returns what was approved
 * @throws CrosstalkError `not_found` for a digest that nothing held carries, `refused` for a change
 * that cannot be approved
 */
export async function approve(
  context: Context,
  alias: string | undefined,
  digests: readonly string[],
): Promise<HeldChange[]> {
  const approving = approvingIn(context);
  const [found, settings] = await Promise.all([
    findThisHost(context, alias),
    changedSettings(approving),
  ]);
  const file = found.kind === 'found' ? found.file : undefined;
  const { hash, refusal } =
    file === undefined
      ? NO_JUDGES
      : await judges(approving, file, await loadApprovals(approving.approvals, approving.clone));
  let chosen: HeldChange[] = [];
  const choose = (held: readonly HeldChange[]): void => {
    chosen = digests.map((digest) => {
      const change = [...held, ...settings.held].find((one) => one.digest === digest);
      if (change === undefined) throw unknown(digest);
      if (change.refused !== undefined)
        throw new CrosstalkError(
          'refused',
          `${nameText(change.name)} cannot be approved: ${change.refused}`,
        );
      return change;
    });
  };
  if (file === undefined) choose([]);
  else {
    await updateApprovals(
      approving.approvals,
      (approvals) => {
        const approved = approvedFor(approvals, file.alias);
        choose(approvals.started ? inForce(file, approved, hash, refusal).held : []);
        const hosts = { ...approvals.hosts, [file.alias]: accept(approved, file, chosen) };
        return { ...approvals, hosts };
      },
      approving.clone,
    );
  }
  const accepted = settings.held.flatMap(({ digest }, at) =>
    chosen.some((change) => change.digest === digest) ? (settings.changes[at] ?? []) : [],
  );
  if (accepted.length > 0) await context.transport.acceptSettings(accepted);
  await ask(context.paths.socket, { op: 'wake' }, 2000);
  return chosen;
}

const NO_JUDGES = { hash: () => '', refusal: () => undefined };

function unknown(digest: string): CrosstalkError {
  return new CrosstalkError(
    'not_found',
    `no held change has the digest ${shown(digest)}, so nothing was approved; what is held now: crosstalk host show`,
  );
}

/**
 * Approves a command that the operator writes on this machine, before it is on the bus.
 *
 * @param options `joins`: this clone serves that host from now on
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
  await updateApprovals(
    context.paths.approvals,
    (approvals) => ({
      ...approvals,
      alias: joins ? alias : (approvals.alias ?? alias),
      started: true,
      hosts: {
        ...approvals.hosts,
        [alias]: withTier(approvedFor(approvals, alias), actor, tier, slot),
      },
    }),
    context.started,
  );
}

async function requireOutside(context: Context, slot: TierSlot): Promise<void> {
  const { transport, home } = approvingIn(context);
  const refused = await tierRefusalOf(transport, home, slot);
  if (refused !== undefined)
    throw new CrosstalkError(
      'refused',
      `the command ${shown(slot.cli)} cannot be used: ${refused}`,
    );
}
