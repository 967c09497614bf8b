import { parseHostFile, type HostFile, type Tier } from '../protocol/host-file.ts';
import { inForce, commandsOf, type HeldChange } from '../protocol/approval.ts';
import { HOSTS, versionProblem, VERSION_FILE } from '../protocol/layout.ts';
import { approvedFor, loadApprovals, saveApprovals } from '../state/approvals.ts';
import type { Transport } from '../transport/transport.ts';
import { Kept } from './kept.ts';

/** What the host files of a transport say about this machine. */
export type FoundHost =
  | { kind: 'found'; path: string; file: HostFile }
  | { kind: 'missing'; problem: string }
  | { kind: 'ambiguous'; problem: string }
  | { kind: 'invalid'; path: string; problem: string };

/** How this machine is recognised: an alias given on the command line, else its hostname. */
export interface Machine {
  alias?: string;
  hostname: string;
}

export interface HostEntry {
  path: string;
  result: ReturnType<typeof parseHostFile>;
}

/** Host files that were read before. */
const kept = new Kept<HostEntry['result']>(4 * 1024 * 1024);
/** Files read at a time. */
const CHUNK = 100;
/** Paths named in one line. */
const MAX_NAMED = 5;

/** Reads every host file at a commit. */
export async function readHosts(transport: Transport, commit: string): Promise<HostEntry[]> {
  const files = await transport.list(commit, [HOSTS]);
  const wanted = files.filter(({ path, mode }) => path.endsWith('.md') && mode.startsWith('100'));
  // The same content may stand there under any number of names.
  const results = new Map<string, HostEntry['result']>();
  const oids = [...new Set(wanted.map(({ oid }) => oid))];
  for (let at = 0; at < oids.length; at += CHUNK) {
    const read = oids.slice(at, at + CHUNK).map(async (oid) => {
      results.set(oid, await readHost(transport, oid));
    });
    await Promise.all(read);
  }
  return wanted.flatMap(({ path, oid }) => {
    const result = results.get(oid);
    return result === undefined ? [] : [{ path, result }];
  });
}

async function readHost(transport: Transport, oid: string): Promise<HostEntry['result']> {
  const known = kept.get(oid);
  if (known !== undefined) return known;
  const object = await transport.objects.read(oid);
  const content = object?.content;
  const result = parseHostFile(content?.toString('utf8') ?? '');
  return object === undefined ? result : kept.keep(oid, result, content?.byteLength ?? 0);
}

/** Finds this machine's host file by `--host` or `hostname:` (protocol.md §6). */
export function findHost(entries: readonly HostEntry[], machine: Machine): FoundHost {
  const wanted =
    machine.alias === undefined ? `hostname: ${machine.hostname}` : `alias: ${machine.alias}`;
  const matches = entries.flatMap(({ path, result }) => {
    if (!result.ok) return [];
    const { alias, hostname } = result.value;
    const match =
      machine.alias === undefined
        ? sameHostname(hostname, machine.hostname)
        : alias === machine.alias;
    return match ? [{ path, file: result.value }] : [];
  });
  const [only, ...more] = matches;
  if (only !== undefined && more.length === 0) return { kind: 'found', ...only };
  if (only !== undefined) {
    const listed = matches.slice(0, MAX_NAMED).map(({ path }) => path);
    if (matches.length > MAX_NAMED) listed.push(`and ${String(matches.length - MAX_NAMED)} more`);
    const paths = listed.join(', ');
    return {
      kind: 'ambiguous',
      problem: `several host files say ${wanted}: ${paths}; say which with --host <alias>`,
    };
  }
  const broken = entries.find(
    ({ path, result }) =>
      !result.ok && (machine.alias === undefined || path === `${HOSTS}/${machine.alias}.md`),
  );
  if (broken !== undefined && !broken.result.ok) {
    return {
      kind: 'invalid',
      path: broken.path,
      problem: `${broken.path}: ${broken.result.problems.join('; ')}`,
    };
  }
  return {
    kind: 'missing',
    problem: `no host file says ${wanted} (${String(entries.length)} in ${HOSTS}/); add one, or say which with --host <alias>`,
  };
}

function sameHostname(declared: string | undefined, actual: string): boolean {
  return declared?.toLowerCase() === actual.toLowerCase();
}

/** The host file as it runs here, with the changes that wait for approval. */
export interface ActiveHost {
  alias: string;
  path: string;
  actors: Map<string, Tier[]>;
  held: HeldChange[];
}

/**
 * Applies this machine's approvals to a host file. The first start on a machine approves it as it
 * stands; afterwards only what was approved runs, unless every change is trusted (protocol.md §6).
 */
export async function activate(
  approvalsPath: string,
  found: { path: string; file: HostFile },
  trust: boolean,
): Promise<ActiveHost> {
  const { path, file } = found;
  const approvals = await loadApprovals(approvalsPath);
  if (!approvals.started || trust) {
    approvals.started = true;
    approvals.hosts[file.alias] = commandsOf(file);
    await saveApprovals(approvalsPath, approvals);
  }
  const { host, held } = inForce(file, approvedFor(approvals, file.alias));
  return { alias: host.alias, path, actors: host.actors, held };
}

/** Why a transport's version is not ours, or undefined (protocol.md §1). */
export async function checkVersion(
  transport: Transport,
  tip: string | undefined,
): Promise<string | undefined> {
  const content = tip === undefined ? undefined : await transport.objects.text(tip, VERSION_FILE);
  return versionProblem(content, transport.dir);
}
