import type { WebFinding } from '../api/api.ts';
import { withoutSequences } from '../protocol/text/words.ts';

/** Something that keeps mail from getting on, or that somebody should look at, and who ends it. */
export interface Finding extends WebFinding {
  /** The subject, as `doctor` names it. */
  check: string;
  /** The problem without its remedy; `fix` is the remedy, and empty where it is one with the problem. */
  found: string;
  fix: string;
}

/** The parts of a problem that `doctor` shows one below the other. */
type Parts = Pick<Finding, 'check' | 'found' | 'fix'>;

function finding(kind: Finding['kind'], said: string | Parts, command?: string): Finding {
  const { check, ...rest } = typeof said === 'string' ? { ...WHOLE, found: said } : said;
  const [found, fix] = [withoutSequences(rest.found), withoutSequences(rest.fix)];
  const problem = fix === '' ? found : `${found}; ${fix}`;
  return { problem, kind, command: command ?? null, check, found, fix };
}

const WHOLE = { check: 'mail', fix: '' };

/** Returns a problem that somebody has to solve. @param command what to run, if that is all there is to do */
export function act(said: string | Parts, command?: string): Finding {
  return finding('act', said, command);
}

/** Returns a problem that ends without anybody's action. @param command what ends it earlier, or shows more */
export function wait(said: string | Parts, command?: string): Finding {
  return finding('wait', said, command);
}
