import { memoryOf } from '../../runner/memory.ts';
import { KeptProcesses } from '../../state/sessions/kept-processes.ts';
import type { MessageRef } from '../../protocol/message-ref.ts';
import type { Context } from '../context.ts';

/** A process of an agent CLI that is kept between runs. */
export interface WarmSession {
  /** The id of the session. */
  id: string;
  actor: string;
  tier: string;
  /** The CLI. */
  agent: string;
  /** The first message of the thread. */
  thread: MessageRef;
  pid: number;
  /** How many runs it has had. */
  turns: number;
  /** How full its context is, in tokens; null where that is not known. */
  context: { used: number; size: number } | null;
  /** Bytes in memory, with what it has started. */
  memory: number;
  /** When it was started, and when its last run ended, ISO 8601 UTC. */
  since: string;
  used: string;
}

/** The processes that this machine keeps; none where no tier keeps any. */
export async function warmSessions({ paths }: Pick<Context, 'paths'>): Promise<WarmSession[]> {
  // A run may not look into the state of its machine.
  const alive = await new KeptProcesses(paths.warmSessions).alive().catch(() => []);
  const memory = await memoryOf(alive.map(({ process }) => process.pid)).catch(
    () => new Map<number, number>(),
  );
  return alive
    .map(({ id, actor, tier, agent, channel, root, process: { pid }, ...rest }) => ({
      ...{ id, actor, tier, agent, pid, thread: { channel, relPath: root } },
      turns: rest.turns,
      context: rest.context ?? null,
      memory: memory.get(pid) ?? 0,
      ...{ since: rest.since, used: rest.used },
    }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}
