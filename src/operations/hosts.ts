import { parseDocument } from 'yaml';
import { findHost, readHosts, type FoundHost } from '../dispatcher/host.ts';
import { ask } from '../dispatcher/wake.ts';
import { CrosstalkError } from '../errors.ts';
import { commandsOf, inForce, type HeldChange } from '../protocol/approval.ts';
import type { HostFile } from '../protocol/host-file.ts';
import { parseHostFile } from '../protocol/host-file.ts';
import { authorOf } from '../protocol/outgoing.ts';
import { approvedFor, loadApprovals, saveApprovals } from '../state/approvals.ts';
import { loadHeartbeat } from '../state/heartbeat.ts';
import { slotOf, type TierSlot } from './tier-slot.ts';
import { refreshOrNote, tipOf, type Context } from './context.ts';
import { deliverOrNote } from './deliver.ts';

export type ThisHost = Extract<FoundHost, { kind: 'found' }>;

/**
 * This machine's host file: by alias, else the one the dispatcher here last served, else by
 * hostname.
 *
 * @throws CrosstalkError `not_found` when there is none, or several
 */
export async function thisHost(context: Context, alias: string | undefined): Promise<ThisHost> {
  await refreshOrNote(context);
  const entries = await readHosts(context.transport, await tipOf(context));
  const served = alias ?? (await loadHeartbeat(context.paths.heartbeat))?.host ?? undefined;
  const found = findHost(entries, {
    hostname: context.hostname,
    ...(served === undefined ? {} : { alias: served }),
  });
  if (found.kind === 'found') return found;
  throw new CrosstalkError('not_found', found.problem);
}

export interface HostShown {
  alias: string;
  path: string;
  file: HostFile;
  /** False until a dispatcher first started here; that start approves the file as it stands. */
  started: boolean;
  held: HeldChange[];
}

export async function showHost(context: Context, alias: string | undefined): Promise<HostShown> {
  const { path, file } = await thisHost(context, alias);
  const approvals = await loadApprovals(context.paths.approvals);
  const { held } = approvals.started
    ? inForce(file, approvedFor(approvals, file.alias))
    : { held: [] };
  return { alias: file.alias, path, file, started: approvals.started, held };
}

/** Accepts the commands of the host file as it stands and tells the dispatcher (protocol.md §6). */
export async function approveHost(context: Context, alias: string | undefined): Promise<HostShown> {
  const shown = await showHost(context, alias);
  const approvals = await loadApprovals(context.paths.approvals);
  approvals.hosts[shown.alias] = commandsOf(shown.file);
  await saveApprovals(context.paths.approvals, { ...approvals, started: true });
  await ask(context.paths.socket, { op: 'wake' }, 2000);
  return shown;
}

/** Approves one command that an operator has just written on this machine. */
export async function approveCommand(
  context: Context,
  alias: string,
  actor: string,
  tier: string,
  cli: string,
): Promise<void> {
  const approvals = await loadApprovals(context.paths.approvals);
  const commands = approvedFor(approvals, alias);
  const slots = Object.hasOwn(commands, actor) ? commands[actor] : {};
  approvals.hosts[alias] = { ...commands, [actor]: { ...slots, [tier]: cli } };
  await saveApprovals(context.paths.approvals, approvals);
}

/** Adds or replaces an actor's tier in a host file, leaving everything else in it as it is. */
export async function writeTier(
  context: Context,
  host: ThisHost,
  actor: string,
  tier: string,
  slot: TierSlot,
  from: string,
): Promise<void> {
  const text = (await context.archive.text(await tipOf(context), host.path)) ?? '';
  const content = withTier(text, actor, tier, slot);
  const result = parseHostFile(content);
  if (!result.ok)
    throw new CrosstalkError(
      'invalid',
      `${host.path} would be unreadable: ${result.problems.join('; ')}; edit it by hand`,
    );
  await deliverOrNote(context, [
    {
      at: context.now().toISOString(),
      author: authorOf(from, host.file.alias),
      subject: `crosstalk: ${actor} on ${host.file.alias}`,
      files: [{ path: host.path, content }],
    },
  ]);
}

function withTier(text: string, actor: string, tier: string, slot: TierSlot): string {
  const end = text.indexOf('\n---', 3);
  const header = parseDocument(text.slice(4, end + 1));
  header.setIn(['actors', actor, tier], slotOf(slot));
  return `---\n${header.toString({ lineWidth: 0 })}---${text.slice(end + 4)}`;
}
