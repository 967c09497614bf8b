import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  accept,
  digestOf,
  heldSettings,
  type Hash,
  type HeldChange,
} from '../protocol/approval/approval.ts';
import { approvalHash } from '../store/seal.ts';
import { approvedFor, type Approvals } from '../state/approvals.ts';
import type { Approving, JudgedFile } from './approvals.ts';
import { approvedServers, heldServers, withServers } from '../protocol/approval/mcp-servers.ts';
import type { HostFile } from '../protocol/files/host-file.ts';
import type { McpServer } from '../protocol/files/mcp-servers.ts';
import { shellWord } from '../protocol/text/quoted.ts';
import { knowProfile, profileInForce, type ProfileInForce, type ProfilePlace } from './profiles.ts';
import { tierRefusalOf } from './transport-files.ts';

/**
 * Lists everything that needs approval.
 *
 * @param judged this machine's host file, if there is one
 * @param profiles the source of the profiles of its actors
 */
export async function approvables(
  parts: Approving,
  judged: JudgedFile | undefined,
  profiles: ProfilesAt,
): Promise<Approvable[]> {
  const ofHost =
    judged === undefined
      ? []
      : [commandsOf(judged), await profilesThatWait(parts, judged.file, profiles)];
  return [...ofHost, await settingsThatWait(parts)];
}

/** Returns all changes that wait for approval. */
export function heldOf(things: readonly Approvable[], approvals: Approvals): HeldChange[] {
  return things.flatMap((thing) => thing.held(approvals));
}

/** Returns the tiers and default tiers of a host file, as one kind. */
function commandsOf({ file, inForce }: JudgedFile): Approvable {
  const { alias } = file;
  return {
    held: (approvals) => inForce(approvals).held,
    accept: (approvals, chosen) => ({
      ...approvals,
      hosts: { ...approvals.hosts, [alias]: accept(approvedFor(approvals, alias), file, chosen) },
    }),
  };
}

/** Returns the settings of the clone's git configuration, as one kind. */
export async function settingsThatWait({
  transport,
  approvals,
}: Approving): Promise<Approvable & { held: () => readonly HeldChange[] }> {
  const settings = await transport.changedSettings();
  const { signingKey } = transport.defaults;
  // The identity of the transport matters only for signatures.
  const isSigning = signingKey !== undefined || existsSync(join(dirname(approvals), 'pins.json'));
  const identity = isSigning ? await transport.identityChange() : undefined;
  const changes = identity === undefined ? settings : [...settings, identity];
  const held = changes.length === 0 ? [] : heldSettings(changes, approvalHash(approvals));
  return {
    held: () => held,
    record: async (chosen) => {
      const accepted = changes.filter((_, at) => chosen.some((change) => change === held[at]));
      if (accepted.length > 0) await transport.acceptSettings(accepted);
    },
  };
}

/** The source of the profiles of a host's actors. */
export interface ProfilesAt {
  place: ProfilePlace;
  /** The commit; undefined when nothing is on the bus yet. */
  tip: string | undefined;
}

/**
 * Returns what the profiles of a host's actors name and its operator approves, as one kind: their MCP servers, and
 * that a pool is none any more, which would let each machine run every task. Until then this one takes turns.
 */
export async function profilesThatWait(
  { transport, approvals: path, home }: Approving,
  { alias, actors }: HostFile,
  { place, tip }: ProfilesAt,
): Promise<Approvable> {
  const hash = approvalHash(path);
  const proposed = new Map<string, { servers: McpServer[]; refused: string | undefined }>();
  const ended = new Map<string, { change: HeldChange } & Pick<ProfileInForce, 'profile'>>();
  for (const actor of tip === undefined ? [] : actors.keys()) {
    const { profile, pool } = await profileInForce(place, tip ?? '', actor);
    if (pool === true && profile?.serve !== 'one')
      ended.set(actor, { change: endOfPool(actor, hash), ...(profile && { profile }) });
    const servers = profile?.mcps ?? [];
    let refused: string | undefined;
    for (const server of servers) {
      if ('command' in server)
        refused ??= await tierRefusalOf(transport, home, { cli: lineOf(server) });
    }
    proposed.set(actor, { servers, refused });
  }
  return {
    held: (approvals): HeldChange[] => {
      const approved = approvedFor(approvals, alias);
      const servers = [...proposed].flatMap(
        ([actor, one]) =>
          heldServers(actor, approvedServers(approved, actor), one.servers, hash, one.refused) ??
          [],
      );
      return [...servers, ...[...ended.values()].map(({ change }) => change)];
    },
    accept: (approvals, chosen) => {
      const accepted = chosen.flatMap(({ kind, actor }) =>
        kind === 'mcps' && actor !== undefined ? [actor] : [],
      );
      const approved = accepted.reduce(
        (all, actor) => withServers(all, actor, proposed.get(actor)?.servers ?? []),
        approvedFor(approvals, alias),
      );
      return { ...approvals, hosts: { ...approvals.hosts, [alias]: approved } };
    },
    record: async (chosen) => {
      for (const [actor, { change, profile }] of ended)
        if (chosen.includes(change)) await knowProfile(place, actor, profile);
    },
  };
}

function endOfPool(actor: string, hash: Hash): HeldChange {
  return {
    digest: digestOf(hash, ['serve', actor], 'all'),
    kind: 'serve',
    name: `${actor}.serve`,
    actor,
    changes: [{ option: 'serve', approved: 'one', proposed: 'all' }],
  };
}

/**
 * Returns the command line of a server, with everything that can name files: with its variables, which
 * may name code as NODE_OPTIONS does, and with relative paths as paths below `/`, where a server starts.
 */
function lineOf({ command, args, env }: Extract<McpServer, { command: string }>): string {
  const variables = Object.entries(env).map(([name, text]) => `${name}=${text}`);
  const below = args.filter((text) => /^[^/].*\//.test(text)).map((text) => `/${text}`);
  return [command, ...args, ...variables, ...below].map(shellWord).join(' ');
}

/**
 * One kind of setting that takes effect on this machine only as its operator approved it (trust.md §2). A
 * new kind must be added to `approvables`: `host show`, `host approve`, `status` and the dispatcher's log
 * then include it.
 */
interface Approvable {
  /** Returns the changes that wait for approval, given the approvals. */
  held: (approvals: Approvals) => readonly HeldChange[];
  /** Returns the approvals with some of these changes accepted; absent for a kind that is recorded elsewhere. */
  accept?: (approvals: Approvals, chosen: readonly HeldChange[]) => Approvals;
  /** Records the changes elsewhere, after the approvals are on disk. */
  record?: (chosen: readonly HeldChange[]) => Promise<void>;
}
