import type { App } from '../../bus/app.ts';
import type { Commit } from '../../protocol/outgoing.ts';
import { claimPlace } from '../../protocol/claim.ts';
import { CHANNELS, channelFile, CLAIMS, MEMORIES, placeOf } from '../../protocol/layout.ts';
import type { OutboxEntry } from '../../state/outbox.ts';
import type { Writing } from '../../state/written.ts';
import type { Transport } from '../../transport/transport.ts';
import { LostClaims } from './lost-claims.ts';

/** Files that a rewritten history has removed. */
export interface LostCommits {
  /** Files that this machine wrote and has to publish again, oldest first. */
  again: Omit<OutboxEntry, 'id'>[];
  /** Number of these files. */
  back: number;
  /** Number of other messages that are gone: those of other machines, and those removed on purpose. */
  gone: number;
  /** Paths of all messages that are now missing. */
  missing: string[];
  /** Paths of files removed on purpose: one by one, or all that are missing. */
  takenOut: string[];
  /**
   * Number of further files that this machine wrote, beyond those that are published again at once: a person decides
   * on them.
   */
  left: number;
}

/** The most files that are published again, the newest, and their bytes. */
const MANY = 5000;
const MAX_BYTES = 256 * 1024 * 1024;
/** The most commits of the new history that are looked at. */
const MANY_COMMITS = 100_000;

/**
 * Compares the bus with what it contained before its history was rewritten.
 *
 * A branch that was set back (because a backup was restored, or an older clone was pushed by force) has lost
 * everything after a point: nothing that this machine wrote after it is there any more, and all of that is published
 * again (protocol.md §5). A history from which somebody removed a message on purpose still has the rest and is left
 * alone: lost files are only counted. Files that this machine itself has brought to the new history do not count as
 * the rest: they were waiting in the outbox, were published again, or are from before the loss. If this machine saw
 * the branch at one of the tip's new commits before, the branch was certainly set back; where two histories have
 * nothing in common, this is the only sign of it.
 *
 * @param before the commits at which this machine saw the branch before it saw it at `from`
 * @param options `without`: paths that had been taken out on purpose before, which stay out; `isAll`: a person wants
 * all of it back, however much it is and whatever else is left
 */
export async function findLost(
  { transport, written }: Pick<App, 'transport' | 'written'>,
  { from, before }: { from: string; before: ReadonlySet<string> },
  tip: string,
  { without = [], isAll = false }: { without?: readonly string[]; isAll?: boolean } = {},
): Promise<LostCommits> {
  const isKnown = (await transport.objects.read(`${from}^{commit}`)) !== undefined;
  const stood = isKnown ? await addedFiles(transport, tip, from) : new Map<string, string>();
  const lacked = new Set(stood.keys());
  for (const path of without) stood.delete(path);
  const missing = [...stood.keys()].filter((path) => isMessage(path));
  const nothing = { again: [], gone: missing.length, missing, takenOut: [], back: 0, left: 0 };
  if (stood.size === 0) return nothing;
  const base = await transport.mergeBase(from, tip);
  const range = [`--max-count=${String(MANY_COMMITS)}`, tip, `^${base ?? from}`];
  const since = new Set((await transport.git(['rev-list', ...range])).split('\n'));
  const isBack = [...before].some((oid) => since.has(oid));
  if (base === undefined && !isBack && !isAll) return nothing;
  const stayOut = await removedSince(transport, base ?? from, tip);
  for (const path of stayOut) stood.delete(path);
  const added = await addedFiles(transport, base ?? tip, from);
  const ours = await written.look([...added.keys()]);
  const isRest = (path: string, { tips, isQueued }: Writing): boolean =>
    !lacked.has(path) &&
    tips.length > 0 &&
    isQueued !== true &&
    !tips.some((one) => since.has(one));
  const isEdited = !isBack && !isAll && [...ours].some(([path, one]) => isRest(path, one));
  for (const [path, { withdrawn }] of ours)
    if (isEdited || withdrawn === true || !stood.has(path)) ours.delete(path);
  if (base === undefined) await keepAtHome(transport, tip, ours);
  const { again, left } = await entriesOf(transport, from, ours, stood, isAll ? Infinity : MANY);
  const back = again.flatMap(({ commits }) => commits.flatMap(({ files }) => files));
  const gone = missing.length - back.filter(({ path }) => isMessage(path)).length;
  const isLeftAlone = back.length + left === 0 && base !== undefined;
  const takenOut = [...stayOut, ...(isLeftAlone ? stood.keys() : [])];
  return { again, back: back.length, gone, missing, takenOut, left };
}

/** Returns the paths that commits since another one have removed one by one: these were not lost, and stay out. */
async function removedSince(transport: Transport, since: string, tip: string): Promise<string[]> {
  const form = ['--format=', '--name-only', '--diff-filter=D', '--no-renames', '-z'];
  const range = [`${since}..${tip}`, '--', CHANNELS, MEMORIES, CLAIMS];
  return (await transport.git(['log', ...form, ...range])).split('\0');
}

/** Selects the files of another history that belong to channels that exist here or come back with them. */
async function keepAtHome(
  transport: Transport,
  tip: string,
  ours: Map<string, Writing>,
): Promise<void> {
  const homeOf = (path: string): string => {
    const place = placeOf(path);
    const claim = claimPlace(path);
    if (claim !== undefined) return channelFile(claim.channel);
    return place.kind === 'message' ? channelFile(place.channel) : path;
  };
  const there = await transport.standing(tip, [...ours.keys()].map(homeOf));
  for (const path of ours.keys())
    if (!there.has(homeOf(path)) && !ours.has(homeOf(path))) ours.delete(path);
}

/**
 * Makes the entries that publish files again as they stood in the lost history: changes after their writing stay.
 * Their bytes, and those of the files that they bring along, are still in git here. Many files of one commit are one
 * commit again: for each commit git rewrites the folders above them.
 */
async function entriesOf(
  transport: Transport,
  from: string,
  lost: ReadonlyMap<string, Writing>,
  stood: ReadonlyMap<string, string>,
  most: number,
): Promise<Pick<LostCommits, 'again' | 'left'>> {
  const attached = [...lost.values()].flatMap(({ blobs }) => blobs.map(({ path }) => path));
  const there = await transport.entriesAt(from, [...new Set(attached)]);
  const claims = new LostClaims(transport, from, lost.keys(), stood);
  const again: LostCommits['again'] = [];
  let [left, bytes] = [lost.size, 0];
  let last: { said: string; files: Commit['files'] } | undefined;
  for (const [path, { delivery, ...one }] of [...lost].reverse().slice(0, most)) {
    const content = (await transport.objects.read(stood.get(path) ?? ''))?.content;
    bytes += content?.length ?? 0;
    if (bytes > MAX_BYTES) break;
    left--;
    if (content === undefined) continue;
    const file = { path, content: content.toString('utf8') };
    const requires = await claims.of(file);
    if (requires === null) continue;
    const blobs = one.blobs.flatMap((blob) => {
      const { oid, type } = there.get(blob.path) ?? {};
      return oid === undefined || type !== 'blob' ? [] : [{ ...blob, oid }];
    });
    const { at, author } = one;
    const commit = { at, author, subject: `${one.subject}, again` };
    const isPlain = delivery === undefined && blobs.length === 0 && requires === undefined;
    const said = JSON.stringify(commit);
    if (isPlain && last?.said === said) last.files.unshift(file);
    else {
      const made: Commit = {
        ...{ ...commit, files: [file] },
        ...(blobs.length > 0 && { blobs }),
        ...(requires && { requires, optional: true }),
      };
      again.push({ commits: [made], ...(delivery && { delivery }) });
      last = isPlain ? { said, files: made.files } : undefined;
    }
  }
  return { again: again.reverse(), left };
}

function isMessage(path: string): boolean {
  return placeOf(path).kind === 'message';
}

/**
 * Returns the files of channels and notes that one commit has and another has not, and the ends of claims: by path,
 * the names of their contents.
 */
async function addedFiles(
  transport: Transport,
  before: string,
  commit: string,
): Promise<Map<string, string>> {
  const added = new Map<string, string>();
  for await (const changes of transport.changes(before, commit, [CHANNELS, MEMORIES, CLAIMS]))
    for (const { path, oid, status } of changes)
      if (status === 'A' && (claimPlace(path)?.kind ?? 'end') === 'end') added.set(path, oid);
  return added;
}
