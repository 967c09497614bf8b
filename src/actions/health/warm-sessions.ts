import { setTimeout as sleep } from 'node:timers/promises';
import { CrosstalkError } from '../../errors.ts';
import { endProcessGroup } from '../../runner/gated.ts';
import { memoryOf } from '../../runner/memory.ts';
import { isAlive } from '../../state/process-identity.ts';
import { Runs } from '../../state/runs.ts';
import { KeptProcesses } from '../../state/sessions/agent-sessions.ts';
import type { MessageRef } from '../../protocol/layout.ts';
import type { Context } from '../context.ts';

/** Process of an agent CLI that is pooled between runs. */
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
  /** Number of its runs. */
  turns: number;
  /** Tokens in its context, and its size; null if unknown. */
  context: { used: number; size: number } | null;
  /** Bytes in memory, with the processes it has started. */
  memory: number;
  /** When it was started, and when its last run ended, ISO 8601 UTC. */
  since: string;
  used: string;
}

/** Returns the processes that this machine pools; none where no tier keeps any. */
export async function warmSessions({ paths }: Pick<Context, 'paths'>): Promise<WarmSession[]> {
  // A run may not look into the state of its machine.
  const alive = await new KeptProcesses(paths.root).alive().catch(() => []);
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

/** Milliseconds between asking a process to end and ending it by force. */
const GRACE_MS = 5000;
const LOOK_MS = 20;

/**
 * Ends a pooled process that has nothing to do; the next run of its thread starts anew. Its dispatcher sees that
 * automatically.
 *
 * @param id of the session
 * @throws CrosstalkError `not_found`, or `refused` while it is at work
 */
export async function endWarmSession(
  { paths }: Pick<Context, 'paths'>,
  id: string,
): Promise<{ id: string; actor: string; agent: string }> {
  const alive = await new KeptProcesses(paths.root).alive();
  const found = alive.find((one) => one.id === id);
  if (found === undefined)
    throw new CrosstalkError(
      'not_found',
      `this machine keeps no session ${JSON.stringify(id)}; see: crosstalk session list`,
    );
  const runs = await new Runs(paths.root).leftovers();
  const under = runs.find(({ desk }) => desk === id);
  if (under !== undefined)
    throw new CrosstalkError(
      'refused',
      `the session is at work on ${under.messages.join(', ')}; call that off with crosstalk cancel, or wait for its end`,
    );
  const { actor, agent, process } = found;
  endProcessGroup(process.pid, 'SIGTERM');
  const deadline = performance.now() + GRACE_MS;
  while ((await isAlive(process)) && performance.now() < deadline) await sleep(LOOK_MS);
  if (await isAlive(process)) endProcessGroup(process.pid, 'SIGKILL');
  return { id, actor, agent };
}
