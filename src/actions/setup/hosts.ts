import { parseDocument, visit, type Document } from 'yaml';
import { findHost, type FoundHost } from '../../bus/host.ts';
import { CrosstalkError } from '../../errors.ts';
import { parseHostFile } from '../../protocol/files/host-file.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import { headerPlace } from '../../protocol/text/fences.ts';
import { loadApprovals } from '../../state/approvals.ts';
import { acquire } from '../../state/lock.ts';
import { loadHeartbeat } from '../../state/heartbeat.ts';
import { refreshOrNote, type Context } from '../context.ts';
import { hostsOf } from '../view.ts';
import { deliverOrNote } from '../deliver.ts';

export type ThisHost = Extract<FoundHost, { kind: 'found' }>;

/**
 * Finds this machine's host file as known locally: by alias, otherwise the one that the dispatcher on
 * this machine serves, otherwise the one that this clone served before, otherwise by hostname.
 */
export async function findThisHost(
  context: Context,
  alias: string | undefined,
): Promise<FoundHost> {
  return (await findServed(context, alias)).found;
}

/**
 * Finds the host file, and returns the alias by which it was looked up; without an alias this machine
 * need not serve anybody.
 */
export async function findServed(
  context: Context,
  alias: string | undefined,
): Promise<{ found: FoundHost; served: string | undefined }> {
  const [entries, heartbeat, { alias: remembered }] = await Promise.all([
    hostsOf(context),
    loadHeartbeat(context.paths.heartbeat),
    loadApprovals(context.paths.approvals),
  ]);
  const served = alias ?? heartbeat?.host ?? undefined;
  const found = findHost(entries, {
    hostname: context.hostname,
    ...(served === undefined ? {} : { alias: served }),
    ...(remembered === undefined ? {} : { remembered }),
  });
  return { found, served: served ?? remembered };
}

/**
 * Finds this machine's host file, after a fetch.
 *
 * @throws CrosstalkError `not_found` when there is none, or several
 */
export async function thisHost(context: Context, alias: string | undefined): Promise<ThisHost> {
  await refreshOrNote(context);
  const found = await findThisHost(context, alias);
  if (found.kind === 'found') return found;
  throw new CrosstalkError('not_found', found.problem);
}

/** One host file of the transport. */
export interface ListedHost {
  path: string;
  /** Null for a file that cannot be read; `problem` gives the reason. */
  alias: string | null;
  hostname: string | null;
  actors: string[];
  problem: string | null;
  /** Whether it is the one that this machine serves. */
  is_this: boolean;
}

/** Lists all host files, after a fetch. */
export async function listHosts(context: Context): Promise<ListedHost[]> {
  await refreshOrNote(context);
  const found = await findThisHost(context, undefined);
  const own = found.kind === 'found' ? found.path : undefined;
  const entries = await hostsOf(context);
  return entries.map(({ path, result }) => {
    const file = result.ok ? result.value : undefined;
    return {
      path,
      alias: file?.alias ?? null,
      hostname: file?.hostname ?? null,
      actors: [...(file?.actors.keys() ?? [])],
      problem: result.ok ? null : result.problems.join('; '),
      is_this: path === own,
    };
  });
}

/**
 * Returns the text of a host file with a changed header; comments and the body stay unchanged. Every
 * scalar is a text, as when the file is read: `007` stays `007`.
 *
 * @throws CrosstalkError `refused` for a header with anchors: one place in it may stand for several
 */
export function withHeader(text: string, change: (header: Document) => void): string {
  const { start, end } = headerPlace(text) ?? { start: 0, end: 0 };
  const header = parseDocument(text.slice(start, end), { schema: 'failsafe' });
  visit(header, {
    Alias: () => {
      throw new CrosstalkError(
        'refused',
        'the host file has YAML anchors, so that one place in it stands for several; write them out by hand first',
      );
    },
  });
  change(header);
  return text.slice(0, start) + header.toString({ lineWidth: 0 }) + text.slice(end);
}

/** Milliseconds to wait for another command that changes the host file. */
const WAIT_MS = 60_000;

/**
 * Runs a change of this machine's host file while no other command changes it, so that none overwrites
 * another's change.
 *
 * @throws CrosstalkError `refused` when another one does not finish
 */
export async function changingHost<T>({ paths }: Context, work: () => Promise<T>): Promise<T> {
  const lock = await acquire(paths.root, 'host-file', { wait: WAIT_MS });
  if (!lock.ok)
    throw new CrosstalkError(
      'refused',
      `process ${String(lock.holder.pid)} has been changing the host file since ${lock.holder.since}; nothing was changed, try again when it has ended`,
    );
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

/**
 * Commits a new text of a host file.
 *
 * @throws CrosstalkError `invalid` for a text that no dispatcher could read
 */
export async function writeHostFile(
  context: Context,
  host: ThisHost,
  { content, subject, from }: { content: string; subject: string; from: string },
): Promise<void> {
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
      subject,
      files: [{ path: host.path, content }],
    },
  ]);
}
