import { rm, stat } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { attachedPath, CHANNELS, placeOf } from '../../protocol/layout.ts';
import { shown } from '../../protocol/text/result.ts';
import type { Failure, TreeEntry } from '../../transport/transport.ts';
import { planAt, type ArchivePlan } from './archive-plan.ts';
import { refreshed, tipOf, type Context } from '../context.ts';
import { permission } from '../publishing.ts';

export interface ArchiveInput {
  /** The first day that stays, as `YYYY-MM-DD`. */
  before: string;
  /** Path of the bundle to write. */
  bundle: string | undefined;
  /** Whether messages that wait for an answer are archived too. */
  withWaiting: boolean;
  /** Whether to count only. */
  dryRun: boolean;
}

export interface Archived extends ArchivePlan {
  before: string;
  /** The bundle with the previous history; absent when nothing was done. */
  bundle?: string;
  sha256?: string;
  /** The tips of the bus before and after. */
  from?: string;
  tip?: string;
}

/** The most times that the plan is repeated because the bus has changed meanwhile. */
const MAX_TRIES = 5;

/**
 * Moves old conversations from the bus into a bundle that contains the whole history so far, and
 * begins a new history without them. The bundle is written and verified before the bus is changed,
 * and the bus is changed only if its tip is still the end of the bundle.
 *
 * @throws CrosstalkError `usage` for an invalid day or file, `refused` when the remote refuses
 */
export async function archive(context: Context, input: ArchiveInput): Promise<Archived> {
  const { transport } = context;
  const before = dayFrom(input.before, context.now());
  const file = input.dryRun ? undefined : await freshFile(context, input.bundle);
  for (let tries = 1; ; tries++) {
    await askRemote(context);
    const tip = await tipOf(context);
    const { plan, removed } = await planAt(context, tip, before, input.withWaiting);
    const result = { ...plan, before: input.before };
    if (file === undefined || removed.length === 0) return result;
    const sha256 = await transport.epochs.bundle(tip, file);
    const text = `Archive ${String(plan.archived)} messages before ${input.before}`;
    await permission(context.budget)('push');
    const moved = await transport.epochs
      .begin(tip, removed, text, sha256)
      .catch(async (error: unknown) => {
        // If the bus has taken the new history, the bundle is the only copy of what was removed.
        const isUnsure = error instanceof CrosstalkError && error.data['kind'] === 'no_answer';
        if (!isUnsure) await rm(file, { force: true });
        throw error;
      });
    if (moved.ok) {
      await context.checkout.follow();
      return { ...result, bundle: file, sha256, from: tip, tip: moved.tip };
    }
    await rm(file, { force: true });
    if (tries === MAX_TRIES || !isRace(moved.failure)) throw refusedBy(context, moved.failure);
  }
}

export interface Restored {
  archived: string;
  restored: number;
  /** The attached files that came back with them. */
  files: number;
  tip: string;
}

/**
 * Puts the messages of an archive back onto the bus, and joins its history to the current one.
 * Hosts do not deliver them again.
 *
 * @throws CrosstalkError `usage` for a file that is not an archive, `refused` when the remote
 *   refuses
 */
export async function restore(context: Context, bundle: string): Promise<Restored> {
  const { transport } = context;
  const file = resolve(context.cwd, bundle);
  if (!(await isFile(file))) throw new CrosstalkError('usage', `no bundle at ${file}`);
  const archived = await transport.epochs.open(file);
  for (let tries = 1; ; tries++) {
    await askRemote(context);
    const tip = await tipOf(context);
    const there = new Set<string>();
    for await (const some of transport.walk(tip, CHANNELS))
      for (const { path } of some) there.add(path);
    const files: TreeEntry[] = [];
    for await (const some of transport.walk(archived, CHANNELS))
      for (const file of some) if (isOfBus(file) && !there.has(file.path)) files.push(file);
    if (files.length === 0) return { archived, restored: 0, files: 0, tip };
    const attached = await attachedTo(context, files, archived, tip);
    await permission(context.budget)('push');
    const moved = await transport.epochs.restore(tip, archived, [...files, ...attached]);
    if (moved.ok) {
      await context.checkout.follow();
      const counts = { restored: files.length, files: attached.length };
      return { archived, ...counts, tip: moved.tip };
    }
    if (tries === MAX_TRIES || !isRace(moved.failure)) throw refusedBy(context, moved.failure);
  }
}

/**
 * Whether a file is a message or a channel. Any other file could have the name of a folder that
 * contains messages by now, and would replace it.
 */
function isOfBus({ path, type }: TreeEntry): boolean {
  return type === 'blob' && /^(message|channel)$/.test(placeOf(path).kind);
}

/** The files that messages of an archive name and the bus lacks, as they were archived. */
async function attachedTo(
  { transport, reader }: Context,
  messages: readonly TreeEntry[],
  archived: string,
  tip: string,
): Promise<TreeEntry[]> {
  const paths = new Set<string>();
  for (const message of messages) {
    const parsed = await reader.parse(message);
    const files = parsed?.ok === true ? (parsed.value.files ?? []) : [];
    for (const { sha256 } of files) paths.add(attachedPath(sha256));
  }
  const there = await transport.entriesAt(tip, [...paths]);
  const found = await transport.entriesAt(archived, [...paths]);
  return [...found.values()].filter(({ path, type }) => type === 'blob' && !there.has(path));
}

async function askRemote(context: Context): Promise<void> {
  const asked = await refreshed(context);
  if (!asked.ok) {
    throw new CrosstalkError(
      'refused',
      `the remote could not be asked: ${asked.failure.reason}; nothing was changed`,
    );
  }
}

function isRace({ kind }: Failure): boolean {
  return kind === 'behind' || kind === 'contention';
}

function refusedBy({ transport }: Context, failure: Failure): CrosstalkError {
  return new CrosstalkError(
    'refused',
    `${transport.origin ?? transport.dir} did not take the new history: ${failure.reason}; nothing was changed. A branch that is protected must allow this one push to replace it`,
  );
}

/** Converts `2026-08-01` to `2026/08/01`. */
function dayFrom(text: string, now: Date): string {
  const day = new Date(`${text}T00:00:00Z`);
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(day.getTime());
  if (!isDay || day > now) {
    throw new CrosstalkError(
      'usage',
      `--before ${shown(text)} is no day in the past, such as ${new Date(now.getTime() - 90 * 86_400_000).toISOString().slice(0, 10)}`,
    );
  }
  return text.replaceAll('-', '/');
}

/** The path of the bundle: a new file in an existing folder outside the transport. */
async function freshFile(context: Context, given: string | undefined): Promise<string> {
  const refuse = (problem: string): never => {
    throw new CrosstalkError('usage', problem);
  };
  if (given === undefined)
    return refuse('an archive needs a place: give --bundle <file>, or --dry-run to only count');
  const file = resolve(context.cwd, given);
  if (`${file}${sep}`.startsWith(`${context.transport.dir}${sep}`))
    return refuse(`--bundle ${file} is inside the transport; give a path outside of it`);
  if (await isFile(file)) return refuse(`--bundle ${file} is there already; give another name`);
  const folder = await stat(dirname(file)).catch(() => undefined);
  if (folder?.isDirectory() !== true)
    return refuse(`--bundle ${file}: there is no folder ${dirname(file)}`);
  return file;
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
