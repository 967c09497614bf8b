import { passed } from '../../crash-points.ts';
import { addMoney, type Usage } from '../../protocol/usage.ts';
import type {
  AgentSession,
  AgentSessions,
  SessionOwner,
} from '../../state/sessions/agent-sessions.ts';
import type { SessionStore } from './store.ts';
import type { WarmSessions } from './warm-sessions.ts';

/** Record of a session that is written once the outcome of its run is on disk. */
export interface Candidate {
  owner: SessionOwner;
  store: SessionStore;
  /** Absent if the session cannot be continued, whatever the outcome of the run. */
  session?: Omit<AgentSession, 'used'>;
}

/** Most messages that a session knows of a thread before it starts anew: its record would grow without end. */
const MOST_KNOWN = 5000;

/**
 * Sessions in which runs are under way, and their outcomes (warm.md). A session goes on only if its run gave an
 * answer, or was rightly silent, and that is on disk; anything else ends it.
 */
export class Sessions {
  /** Those that a CLI keeps on disk. */
  readonly kept: AgentSessions;
  /** Those whose process is pooled. */
  readonly warm: WarmSessions;
  readonly #now: () => Date;
  readonly #under = new Map<string, Candidate>();

  constructor(kept: AgentSessions, warm: WarmSessions, now: () => Date) {
    this.kept = kept;
    this.warm = warm;
    this.#now = now;
  }

  /** Records the state of the session of a run. */
  note(run: string, candidate: Candidate): void {
    this.#under.set(run, candidate);
  }

  /**
   * Called when the outcome of a run is on disk, or it has none.
   *
   * @param written the messages that the run has written, by their keys; undefined if it came to nothing
   */
  async over(run: string, written: readonly string[] | undefined): Promise<void> {
    const candidate = this.#under.get(run);
    if (candidate === undefined) return;
    this.#under.delete(run);
    const { owner, store, session } = candidate;
    try {
      if (session === undefined || written === undefined) await store.end(owner);
      else {
        const known = [...new Set([...session.known, ...written])];
        const used = this.#now().toISOString();
        if (known.length > MOST_KNOWN) await store.end(owner);
        else await store.put({ ...session, known, used });
        passed('session_kept');
      }
    } finally {
      store.leave(owner);
    }
  }
}

/**
 * Returns the usage of a run, by the total of its session, and the total before; undefined if it cannot be that
 * session.
 */
export function usageSince(total: Usage, before: Usage | undefined): Usage | undefined {
  if (before === undefined) return total;
  const [input, cached, output] = (['input', 'cached', 'output'] as const).map(
    (name) => total[name] - before[name],
  );
  if (input === undefined || cached === undefined || output === undefined) return undefined;
  // Tokens read from the cache may count as read anew at another time, but never fewer of both.
  if (input + cached < 0 || output < 0) return undefined;
  const { usd: sum, ...rest } = total;
  const usd = sum === undefined ? -1 : addMoney(sum, -(before.usd ?? 0));
  return {
    ...rest,
    ...{ input: Math.max(0, input), cached: Math.max(0, cached), output },
    // The total of a session never decreases: less than before states nothing.
    ...(usd >= 0 && { usd }),
  };
}
