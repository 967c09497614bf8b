import type { Status } from '../../operations/health/report.ts';
import { nameText } from '../../protocol/approval/text.ts';

/** The sessions with which runs go on, a row each. */
export function sessionRows({ sessions }: Status): string[][] {
  return sessions.map(({ actor, tier, agent, threads, used }) => [
    actor,
    nameText(tier),
    agent,
    threads === 1 ? '1 thread' : `${String(threads)} threads`,
    `last used ${used}`,
  ]);
}

const MIB = 1024 * 1024;

/** Of the processes that are kept, all of their memory. */
export function warmTitle({ warm }: Status): string {
  const all = warm.reduce((sum, { memory }) => sum + memory, 0);
  return `Sessions kept warm, with ${megabytes(all)} of memory`;
}

/** The processes that are kept, a row each. */
export function warmRows({ warm }: Status): string[][] {
  return warm.map(({ actor, tier, agent, turns, context, memory, used, id }) => [
    actor,
    nameText(tier),
    agent,
    turns === 1 ? '1 run' : `${String(turns)} runs`,
    context === null ? '' : `${String(context.used)} of ${String(context.size)} tokens`,
    megabytes(memory),
    `last used ${used}`,
    id,
  ]);
}

function megabytes(bytes: number): string {
  return `${String(Math.round(bytes / MIB))} MiB`;
}
