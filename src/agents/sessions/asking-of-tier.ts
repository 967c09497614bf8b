import { askingOf, type Asking } from '../permission/asking.ts';
import { warmOf } from './warm-of.ts';

/**
 * How the runs of a tier ask for permission: by what is added to the command, or over the Agent Client
 * Protocol, where their process is kept. A run of such a tier for which none is kept cannot ask, and is refused
 * what its command does not allow, as any run without a terminal.
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
