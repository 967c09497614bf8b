import { askingOf, type Asking } from '../permission/asking.ts';
import { warmOf } from './warm-of.ts';

/**
 * Returns the method by which the runs of a tier ask for permission: flags added to the command, or the Agent
 * Client Protocol, if their process is kept warm. A run of a warm tier without such a process cannot ask; it
 * may do only what its command allows, as any run without a terminal.
 */
export function askingOfTier({
  cli,
  session,
}: {
  cli: string;
  session?: string | undefined;
}): Asking {
  const asking = askingOf(cli);
  const isOverAcp = !asking.ok && session === 'warm' && warmOf(cli).ok;
  return isOverAcp ? { ok: true, flags: '' } : asking;
}
