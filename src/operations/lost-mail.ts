import { reasonOf } from '../errors.ts';
import { countOf } from '../protocol/text/amounts.ts';
import type { MessageReader } from '../bus/message-reader.ts';
import type { Outbox } from '../state/outbox.ts';
import type { StatePaths } from '../state/state-paths.ts';
import type { Transport } from '../transport/transport.ts';

interface Parts {
  transport: Transport;
  reader: MessageReader;
  outbox: Outbox;
  paths: StatePaths;
  hostname: string;
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
  const { transport, reader, outbox, paths, hostname } = context;
  const tip = context.publish === undefined ? await transport.tip() : undefined;
  if (tip === undefined || !(await transport.wasSetBack())) return 0;
  // A branch is hardly ever set back, and what is loaded for it costs each command a moment.
  const { LostHistory } = await import('../dispatcher/intake/lost-history.ts');
  const { Cursors } = await import('../state/cursors.ts');
  const { Departed } = await import('../state/departed.ts');
  const { holderOf } = await import('../state/lock.ts');
  // It looks for itself, and one that starts meanwhile does no harm: what is put twice waits once.
  if ((await holderOf(paths.root, 'dispatcher')) !== undefined) return 0;
  let found = 0;
  const unexamined = new Set<unknown>();
  const cursors = new Cursors(paths.root);
  const history = new LostHistory({
    ...{ transport, reader, cursors, hostname },
    departed: new Departed(paths.root),
    log: (_, fields) => {
      if (fields?.['unexamined'] !== undefined) unexamined.add(fields['unexamined']);
    },
    publishAgain: async (entries) => {
      await outbox.putAll(entries.map((entry) => ({ id: context.newId(), ...entry })));
      found += entries.flatMap(({ commits }) => commits.flatMap(({ files }) => files)).length;
    },
  });
  const alias = await cursors.alias();
  const lost = await history.unseen(alias, await cursors.newestSeen(), tip);
  if (lost.length === 0) return 0;
  for (const from of lost) await history.bringBack(alias, from, tip);
  await history.over();
  if (found > 0)
    context.note(
      `the remote was set back and has lost ${countOf(found, 'file')} that this machine sent; what was lost is pushed again with the next send, or by: crosstalk sync`,
    );
  for (const commit of unexamined)
    context.note(
      `the remote was set back and has lost more than is pushed again at once; what was sent up to the commit ${String(commit)} is not: see it with: git -C ${transport.dir} log ${tip}..${String(commit)}`,
    );
  return found;
}
