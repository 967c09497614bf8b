import type { App } from '../bus/app.ts';
import { CrosstalkError, reasonOf } from '../errors.ts';
import { placeOf, suffixOf } from '../protocol/layout.ts';
import { countOf } from '../protocol/text/words.ts';
import { shown } from '../protocol/text/result.ts';
import { acquire, holderOf } from '../state/lock.ts';
import { leftBehind, stoodBefore } from '../transport/clone/ref-log.ts';

/**
 * The parts that the search for lost mail uses; `publish` is set inside a dispatcher, which runs its own
 * search.
 */
interface LostMailApp extends Pick<App, 'transport' | 'outbox' | 'paths' | 'written' | 'newId'> {
  publish?: unknown;
  note: (line: string) => void;
}

/** Milliseconds that a decision waits for a publishing process. */
const LOCK_WAIT_MS = 10_000;
/** Minimum number of digits that identify a message. */
const SHORTEST = 4;

/**
 * Puts files that this machine wrote, and that the remote has lost since, into the outbox if no
 * dispatcher does it: the branch was set back, and this process may be the only one that sees it
 * (docs/decisions/08-history.md).
 *
 * @returns the number of files
 */
export async function findLostMail(context: LostMailApp): Promise<number> {
  try {
    return await find(context);
  } catch (error) {
    context.note(`could not look for what the remote has lost: ${reasonOf(error)}`);
    return 0;
  }
}

async function find(context: LostMailApp): Promise<number> {
  const { transport, written, outbox, paths } = context;
  const tip = context.publish === undefined ? await transport.tip() : undefined;
  if (tip === undefined || leftBehind((await transport.movesSince()).moves).length === 0) return 0;
  // A branch is hardly ever set back, and loading these modules costs each command a moment.
  const { LostHistory } = await import('../dispatcher/intake/lost-history.ts');
  const { Cursors } = await import('../state/cursors.ts');
  const { Settled } = await import('../state/settled.ts');
  // A dispatcher runs its own search, and one that starts in the meantime does no harm: a file that is
  // put twice waits once.
  if ((await holderOf(paths.root, 'dispatcher')) !== undefined) return 0;
  let found = 0;
  let left = 0;
  const cursors = new Cursors(paths.root);
  const history = new LostHistory({
    ...{ transport, written, cursors },
    settled: new Settled(paths.root),
    log: (_, fields) => {
      found += Number(fields?.['published_again']);
      left += Number(fields?.['left'] ?? 0);
    },
    publishAgain: (entries) =>
      outbox.putAll(entries.map((entry) => ({ id: context.newId(), ...entry }))),
  });
  const lost = await history.unseen(tip);
  if (lost.length === 0) return 0;
  for (const from of lost) await history.bringBack(from, tip);
  await history.over();
  if (found > 0)
    context.note(
      `the remote was set back and has lost ${countOf(found, 'file')} that this machine sent; what was lost is pushed again with the next send, or by: crosstalk sync`,
    );
  if (left > 0)
    context.note(
      `the remote was set back and has lost more than is pushed again at once; ${countOf(left, 'file')} that this machine sent before, up to the commit ${lost.at(-1) ?? ''}, will not be before: crosstalk sync --republish; see them with: git -C ${transport.dir} log ${tip}..${lost.at(-1) ?? ''}`,
    );
  return found;
}

/**
 * Carries out a person's decision on all files that this machine wrote and that replaced histories have
 * lost, unless somebody has removed them one by one: they are put into the outbox, or withdrawn.
 *
 * @returns the number of these files
 */
export function decideLoss(app: LostMailApp, decision: 'republish' | 'accept'): Promise<number> {
  return whileNothingLeaves(app, () => decide(app, decision));
}

async function decide(
  { transport, written, outbox, newId }: LostMailApp,
  decision: 'republish' | 'accept',
): Promise<number> {
  const tip = await transport.tip();
  const { moves } = await transport.movesSince();
  const { findLost: vanished } = await import('../dispatcher/intake/lost-commits.ts');
  const found = new Set<string>();
  for (const from of tip === undefined ? [] : leftBehind(moves)) {
    const lost = { from, before: stoodBefore(moves, from) };
    const options = { without: [...found], isAll: true };
    const { again } = await vanished({ transport, written }, lost, tip ?? '', options);
    const paths = again.flatMap(({ commits }) => commits.flatMap(({ files }) => files));
    for (const { path } of paths) found.add(path);
    if (decision === 'republish')
      await outbox.putAll(again.map((entry) => ({ id: newId(), ...entry })));
  }
  if (decision === 'accept') await outbox.withdraw([...found]);
  return found.size;
}

/** Decides while nothing is pushed: a push in progress would publish the files all the same. */
async function whileNothingLeaves<T>({ paths }: LostMailApp, step: () => Promise<T>): Promise<T> {
  const lock = await acquire(paths.root, 'writer', { wait: LOCK_WAIT_MS });
  if (lock.ok) return step().finally(lock.release);
  const { pid, since } = lock.holder;
  throw new CrosstalkError(
    'locked',
    `process ${String(pid)} is publishing since ${since}; nothing was decided: try again`,
  );
}

/**
 * Withdraws a message that this machine wrote and that the bus has lost, for ever.
 *
 * @param named its path, with or without its channel, or the first of its digits
 * @returns its path
 * @throws CrosstalkError `not_found` for a message that this machine has not written, `ambiguous` for a
 *   name that matches several, `refused` for a message that is on the bus, or was never there
 */
export function forgetMessage(app: LostMailApp, named: string): Promise<string> {
  return whileNothingLeaves(app, () => forget(app, named));
}

async function forget({ transport, written, outbox }: LostMailApp, named: string): Promise<string> {
  const given = /^[0-9a-f]+$/i.test(named.trim()) ? named.trim().toLowerCase() : named.trim();
  const isNamed = (one: string): boolean => {
    const place = placeOf(one);
    return (
      place.kind === 'message' &&
      (`/${one}`.endsWith(`/${given}`) || suffixOf(place.relPath).startsWith(given))
    );
  };
  const all = given.length < SHORTEST ? [] : await written.holding(given);
  const [path, another] = all.filter(isNamed);
  if (path === undefined)
    throw new CrosstalkError(
      'not_found',
      `this machine has written no message ${shown(named)}; give its path or its digits, as crosstalk log shows them`,
    );
  if (another !== undefined)
    throw new CrosstalkError(
      'ambiguous',
      `several messages match ${shown(named)}: ${path}, ${another}; give <channel>/<relPath>`,
    );
  const tip = await transport.tip();
  if (tip !== undefined && (await transport.standing(tip, [path])).has(path))
    throw new CrosstalkError(
      'refused',
      `${path} is on the bus, where others have it; call off what it asks for with: crosstalk cancel`,
    );
  if ((await written.look([path])).get(path)?.tips.length === 0)
    throw new CrosstalkError(
      'refused',
      `${path} was never on the bus; see it with: crosstalk outbox`,
    );
  await outbox.withdraw([path]);
  return path;
}
