import { setTimeout as sleep } from 'node:timers/promises';
import { checkVersion } from '../bus/host.ts';
import { VERSION_FILE } from '../protocol/layout.ts';
import { committed } from '../bus/committed.ts';
import { parseCommits } from '../state/outbox.ts';
import type { RemoteBudget } from '../state/remote-budget.ts';
import type { Turns } from '../state/turn.ts';
import type {
  Commit,
  Published,
  Transport,
  Turns as PublishTurns,
} from '../transport/transport.ts';

/**
 * The rules for publishing to a transport from here: only onto a tip with a supported version (an
 * upgrade brings the version itself), and in turns with the other clones of the remote on this
 * machine.
 */
export function publishing(parts: {
  transport: Transport;
  turns: Turns;
  budget: RemoteBudget;
}): (entries: Commit[][], signal?: AbortSignal) => Promise<Published> {
  const { transport } = parts;
  const turns = inTurns(parts.turns);
  return (entries, signal) => {
    const upgrades = entries
      .flat()
      .some(({ files }) => files.some(({ path }) => path === VERSION_FILE));
    return transport.publish(entries, {
      signal,
      turns,
      permit: permission(parts.budget, signal),
      ...(!upgrades && { refuses: (tip: string) => checkVersion(transport, tip) }),
    });
  };
}

/** Waits until the remote may be asked again or `signal` is aborted. */
export function permission(
  budget: RemoteBudget,
  signal?: AbortSignal,
): (kind: 'push' | 'read') => Promise<void> {
  return async (kind) => {
    for (;;) {
      const wait = await budget[kind]();
      if (wait === 0 || signal?.aborted === true) return;
      await sleep(wait, undefined, { ...(signal && { signal }) }).catch(() => undefined);
    }
  };
}

/**
 * Converts commits to tickets and back. Commits that replace folders, or that require a file to
 * have a certain content, are not passed to other clones: a process of an older version would
 * ignore these conditions.
 */
function inTurns(turns: Turns): PublishTurns {
  return {
    lostRace: () => {
      turns.lostRace();
    },
    take: async (commits, signal) => {
      const plain = commits.every(
        ({ clear, requires = [] }) =>
          clear === undefined && requires.every(({ oid }) => oid === null),
      );
      const taken = await turns.take(plain ? JSON.stringify(commits) : '', signal);
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
