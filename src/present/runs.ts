import type { WebRun } from '../api/api.ts';
import { dollars, grouped, reasonInWords } from '../protocol/text/words.ts';

/** Words for the state or the end of a run, to follow its actor's name. */
export const OUTCOMES: Record<WebRun['outcome'], string> = {
  running: 'is still running',
  answered: 'answered',
  silent: 'said nothing',
  failed: 'failed',
  parked: 'was parked',
  cancelled: 'was cancelled',
  stopped: 'was cut off and waits again',
};

/** Reason why nothing of a run's end is known. */
export const CUT_OFF = 'cut off: its dispatcher ended before it did, or the disk was full';

/** Words the end of a watched run, with its reason. */
export function endedWords({ ended = '', reason }: { ended?: string; reason?: string }): string {
  return `${ended}${reason === undefined ? '' : `: ${reasonInWords(reason)}`}`;
}

/** Words the amount of a run's output that is not shown. */
export function leftOut(bytes: number | undefined): string {
  return bytes === undefined ? '… something is left out' : `… ${grouped(bytes)} bytes are left out`;
}

/** Words the usage of a run until now. */
export function usedWords(used: {
  input: number;
  cached: number;
  output: number;
  usd?: number | undefined;
}): string {
  const { input, cached, output, usd } = used;
  const money = usd === undefined ? '' : `, ${dollars(usd)}`;
  return `so far ${grouped(input)} in, ${grouped(cached)} cached, ${grouped(output)} out${money}`;
}
