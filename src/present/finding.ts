import type { WebFinding } from '../api/api.ts';
import { withoutSequences } from '../protocol/text/words.ts';

/** Something that keeps mail from getting on, and who ends it. */
export type Finding = WebFinding;

/** A problem that somebody has to solve. @param command what to run, if that is all there is to do */
export function act(problem: string, command?: string): Finding {
  return { problem: withoutSequences(problem), kind: 'act', command: command ?? null };
}

/** A problem that ends without anybody's action. @param command what ends it earlier, or tells more */
export function wait(problem: string, command?: string): Finding {
  return { problem: withoutSequences(problem), kind: 'wait', command: command ?? null };
}
