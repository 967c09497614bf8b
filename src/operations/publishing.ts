import { setTimeout as sleep } from 'node:timers/promises';
import { checkVersion } from '../dispatcher/host.ts';
import { VERSION_FILE } from '../protocol/layout.ts';
import { parseCommits, type OutboxCommit } from '../state/outbox.ts';
import type { RemoteBudget } from '../state/remote-budget.ts';
import type { Turns } from '../state/turn.ts';
import type {
  Commit,
  Published,
  Transport,
  Turns as PublishTurns,
} from '../transport/transport.ts';

/**
 * How a transport is published to from here: onto a tip of our version alone (an upgrade brings the
 * version itself), in turns with the other clones of the remote on this machine.
 */
export function publishing(parts: {
  transport: Transport;
  turns: Turns;
  budget: RemoteBudget;
}): (commits: Commit[], signal?: AbortSignal) => Promise<Published> {
  const { transport } = parts;
  const turns = inTurns(parts.turns);
  const permit = permission(parts.budget);
  return (commits, signal) => {
    const upgrades = commits.some(({ files }) => files.some(({ path }) => path === VERSION_FILE));
    return transport.publish(commits, {
      signal,
      turns,
      permit,
      ...(!upgrades && { refuses: (tip: string) => checkVersion(transport, tip) }),
    });
  };
}

/** Waits until the remote may be asked again. */
export function permission(budget: RemoteBudget): (kind: 'push' | 'read') => Promise<void> {
  return async (kind) => {
    for (;;) {
      const wait = await budget[kind]();
      if (wait === 0) return;
      await sleep(wait);
    }
  };
}

/** Commits as they stand on a ticket, and back; what replaces folders others do not take along. */
function inTurns(turns: Turns): PublishTurns {
  return {
    lostRace: () => {
      turns.lostRace();
    },
    take: async (commits) => {
      const plain = commits.every(({ clear }) => clear === undefined);
      const offer = commits.map((commit) => ({ ...commit, at: commit.at.toISOString() }));
      const taken = await turns.take(plain ? JSON.stringify(offer) : '');
      if (taken?.kind !== 'turn') return taken;
      return {
        ...taken,
        along: taken.waiting.flatMap(({ ticket, offer: text }) => {
          const offered = parseCommits(text);
          return offered === undefined ? [] : [{ ticket, commits: offered.map(toCommit) }];
        }),
      };
    },
  };
}

function toCommit({ at, author, subject, files }: OutboxCommit): Commit {
  return { at: new Date(at), author, subject, files };
}
