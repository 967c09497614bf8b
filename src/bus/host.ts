import { parseHostFile, type HostFile } from '../protocol/files/host-file.ts';
import { CHANNELS, hostFile, HOSTS, versionProblem, VERSION_FILE } from '../protocol/layout.ts';
import { escapeInvisible, visible } from '../protocol/text/quoted.ts';
import type { Transport } from '../transport/transport.ts';
import { Cache } from './cache.ts';

/** The result of the search for this machine's host file. */
export type FoundHost =
  | {
      kind: 'found';
      path: string;
      file: HostFile;
      /** Paths of other files that claim to be this machine's host file; they are ignored. */
      others: string[];
    }
  | { kind: 'missing'; problem: string }
  | { kind: 'ambiguous'; problem: string }
  | { kind: 'invalid'; path: string; problem: string };

/**
 * The identity of this machine for that search: an alias given on the command line, else the one that its
 * clone has served before, else its hostname. Anybody can push a file with this machine's hostname; the
 * served alias is recorded on the machine.
 */
export interface MachineIdentity {
  alias?: string;
  remembered?: string;
  hostname: string;
}

export interface HostEntry {
  path: string;
  result: ReturnType<typeof parseHostFile>;
}

/** Host files that were parsed, by the ids of their objects. */
const kept = new Cache<HostEntry['result']>(4 * 1024 * 1024);
/** Number of files read at a time. */
const CHUNK = 100;
/** Maximum number of paths named in one line. */
const MAX_NAMED = 5;

/** Reads every host file at a commit. */
export async function readHosts(transport: Transport, commit: string): Promise<HostEntry[]> {
  const files = await transport.list(commit, [HOSTS]);
  const wanted = files.filter(({ path, mode }) => path.endsWith('.md') && mode.startsWith('100'));
  // The same content may be there under any number of names.
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

/**
 * Finds this machine's host file by alias, else by `hostname:` (protocol.md §6). The file of an
 * alias is the one named after it: another file that claims the alias never competes with it.
 */
export function findHost(entries: readonly HostEntry[], machine: MachineIdentity): FoundHost {
  const { alias, remembered, hostname } = machine;
  const served = alias ?? remembered;
  const wanted = served === undefined ? `hostname: ${hostname}` : `alias: ${served}`;
  const matches = entries.flatMap(({ path, result }) => {
    if (!result.ok) return [];
    const isOurs =
      served === undefined
        ? result.value.hostname?.toLowerCase() === hostname.toLowerCase()
        : result.value.alias === served;
    return isOurs ? [{ path, file: result.value }] : [];
  });
  const named = matches.filter(({ path, file }) => path === hostFile(file.alias));
  const [only, ...more] = named.length > 0 ? named : matches;
  if (only !== undefined && more.length === 0) {
    const others = matches.filter(({ path }) => path !== only.path).map(({ path }) => path);
    return { kind: 'found', ...only, others };
  }
  if (only !== undefined) {
    const listed = matches.slice(0, MAX_NAMED).map(({ path }) => escapeInvisible(path));
    if (matches.length > MAX_NAMED) listed.push(`and ${String(matches.length - MAX_NAMED)} more`);
    const paths = listed.join(', ');
    return {
      kind: 'ambiguous',
      problem: `several host files say ${wanted}: ${paths}; say which with --host <alias>`,
    };
  }
  const broken = entries.find(
    ({ path, result }) => !result.ok && (served === undefined || path === hostFile(served)),
  );
  if (broken !== undefined && !broken.result.ok) {
    return {
      kind: 'invalid',
      path: broken.path,
      problem: `${escapeInvisible(broken.path)}: ${broken.result.problems.join('; ')}; correct the file and push it`,
    };
  }
  const why = alias === undefined && remembered !== undefined ? ', which this clone serves' : '';
  return {
    kind: 'missing',
    problem: `no host file says ${wanted}${why} (${String(entries.length)} in ${HOSTS}/); add one, or say which with --host <alias>`,
  };
}

/**
 * Formats the line about a file which claims to be this machine's and is not.
 *
 * @param path the other file's
 */
export function foreignClaim(path: string, ours: { alias: string; path: string }): string {
  return `${visible(path)} claims to be the host file of ${ours.alias}, which is ${escapeInvisible(ours.path)}; it counts for nothing, remove it`;
}

/**
 * Returns the reason why a transport's version is not supported, or undefined (protocol.md §1).
 *
 * @throws CrosstalkError `git_failed` when git cannot read the version file
 */
export async function checkVersion(
  transport: Transport,
  tip: string | undefined,
): Promise<string | undefined> {
  const content = tip === undefined ? undefined : await transport.objects.text(tip, VERSION_FILE);
  // A project that only asks questions has never had that file.
  const hasMail =
    content === undefined &&
    (await transport.objects.read(`${tip ?? ''}:${CHANNELS}`)) !== undefined;
  return versionProblem(content, transport.dir, { hasMail });
}
