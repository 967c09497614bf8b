import { reasonOf } from '../errors.ts';
import { countOf } from '../protocol/text/amounts.ts';
import type { Outbox } from '../state/outbox.ts';
import type { StatePaths } from '../state/state-paths.ts';
import type { Written } from '../state/written.ts';
import { leftBehind } from '../transport/clone/ref-log.ts';
import type { Transport } from '../transport/transport.ts';

interface Parts {
  transport: Transport;
  outbox: Outbox;
  paths: StatePaths;
  written: Pick<Written, 'look'>;
  /** Present inside a dispatcher, which looks for itself. */
  publish?: unknown;
  newId: () => string;
  note: (line: string) => void;
}

/**
 * Puts what this machine wrote, and the remote has lost since, into the outbox where no dispatcher does it: the
 * branch was set back, and this process may be the only one that sees it (decision 28).
 *
 * @returns how many files were put
 */
export async function findLostMail(context: Parts): Promise<number> {
  try {
    return await find(context);
  } catch (error) {
    context.note(`could not look for what the remote has lost: ${reasonOf(error)}`);
    return 0;
  }
}

async function find(context: Parts): Promise<number> {
  const { transport, written, outbox, paths } = context;
  const tip = context.publish === undefined ? await transport.tip() : undefined;
  if (tip === undefined || leftBehind((await transport.movesSince()).moves).length === 0) return 0;
  // A branch is hardly ever set back, and what is loaded for it costs each command a moment.
  const { LostHistory } = await import('../dispatcher/intake/lost-history.ts');
  const { Cursors } = await import('../state/cursors.ts');
  const { Departed } = await import('../state/departed.ts');
  const { holderOf } = await import('../state/lock.ts');
  // It looks for itself, and one that starts meanwhile does no harm: what is put twice waits once.
  if ((await holderOf(paths.root, 'dispatcher')) !== undefined) return 0;
  let found = 0;
  let left = 0;
  const cursors = new Cursors(paths.root);
  const history = new LostHistory({
    ...{ transport, written, cursors },
    departed: new Departed(paths.root),
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
      `the remote was set back and has lost more than is pushed again at once; ${countOf(left, 'file')} that this machine sent before, up to the commit ${lost.at(-1) ?? ''}, will not be: see them with: git -C ${transport.dir} log ${tip}..${lost.at(-1) ?? ''}`,
    );
  return found;
}
