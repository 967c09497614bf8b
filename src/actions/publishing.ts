import { join } from 'node:path';
import { checkVersion } from '../bus/host.ts';
import { placeOf, VERSION_FILE } from '../protocol/layout.ts';
import { committed } from '../bus/history.ts';
import { parseCommits, type Outbox } from '../state/outbox.ts';
import { BudgetFile, RemoteBudget } from '../state/remote-budget.ts';
import { stateHome } from '../state/directory.ts';
import { Turns } from '../state/turn.ts';
import { TurnFolder } from '../state/turn-board.ts';
import type { PublisherOptions } from '../bus/publisher.ts';
import type { Transport, Turns as PublishTurns } from '../transport/transport.ts';
import { wait } from '../wait.ts';

/** Creates the turns at pushing, shared with the other clones of the remote on this machine. */
export function turnsOf(
  { origin, dir, branch }: Transport,
  env: NodeJS.ProcessEnv,
  now: () => number,
): Turns {
  const folder = new TurnFolder(join(stateHome(env), 'turns'), `${origin ?? dir} ${branch}`);
  return new Turns(folder, now);
}

/** Creates this machine's budget for requests to a transport's remote. */
export function budgetOf(
  { limits }: Transport,
  env: NodeJS.ProcessEnv,
  now: () => number,
): RemoteBudget {
  const record = new BudgetFile(join(stateHome(env), 'budgets'), limits?.host);
  return new RemoteBudget(record, limits, now);
}

/**
 * Creates the publish function of a transport with the rules from here: only onto a tip with a supported
 * version (an upgrade brings the version itself), and in turns with the other clones of the remote on
 * this machine.
 */
export function publishing(parts: {
  transport: Transport;
  turns: Turns;
  budget: RemoteBudget;
  random: () => number;
  outbox: Pick<Outbox, 'files'>;
  /** Called with each commit that is about to be pushed. */
  onPushing?: (tip: string) => void;
}): PublisherOptions['publish'] {
  const { transport, outbox } = parts;
  const turns = inTurns(parts.turns);
  return (entries, signal, onTaken, beside) => {
    const upgrades = entries
      .flat()
      .some(({ files }) => files.some(({ path }) => path === VERSION_FILE));
    return transport.publish(entries, {
      signal,
      turns,
      onPushing: parts.onPushing,
      onTaken,
      beside,
      permit: permission(parts.budget, signal),
      random: parts.random,
      bytesOf: async ({ kept, sha256, bytes }) =>
        kept === undefined ? undefined : outbox.files.get(kept, sha256, bytes),
      ...(!upgrades && { refuses: (tip: string) => checkVersion(transport, tip) }),
    });
  };
}

/** Returns a function that waits until the remote may be contacted again or `signal` is aborted. */
export function permission(
  budget: Pick<RemoteBudget, 'push' | 'read'>,
  signal?: AbortSignal,
  waits = wait,
): (kind: 'push' | 'read') => Promise<void> {
  return async (kind) => {
    for (;;) {
      const hold = await budget[kind]();
      if (hold === 0 || signal?.aborted === true) return;
      await waits(hold, signal);
    }
  };
}

/**
 * Converts commits to tickets and back. Commits that replace folders, that require more than that their messages
 * are new, or that may be left out, are not passed to other clones: a process of an older version would
 * ignore these conditions. Nor are commits with attached files, whose bytes only this clone has.
 */
export function inTurns(turns: Turns): PublishTurns {
  return {
    lostRace: () => {
      turns.lostRace();
    },
    take: async (commits, signal) => {
      const plain = commits.every(
        ({ clear, blobs, optional, files, requires = [] }) =>
          clear === undefined &&
          blobs === undefined &&
          optional === undefined &&
          requires.every(
            ({ path, oid }) =>
              oid === null &&
              placeOf(path).kind === 'message' &&
              files.some((file) => file.path === path),
          ),
      );
      const taken = await turns.take(() => (plain ? JSON.stringify(commits) : ''), signal);
      if (taken?.kind !== 'turn') return taken;
      return {
        ...taken,
        along: taken.waiting.flatMap(({ ticket, offer: text }) => {
          const offered = parseCommits(text);
          return offered === undefined ? [] : [{ ticket, commits: offered.map(committed) }];
        }),
      };
    },
  };
}
