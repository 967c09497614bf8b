import { amount } from './amounts.ts';
import { isOneLine, escapeInvisible } from './quoted.ts';

const REF_PART = /^(?:[A-Za-z0-9_]|[A-Za-z0-9_][A-Za-z0-9._+#-]*[A-Za-z0-9_+#-])$/;

/** Whether a text is the name of a branch, a tag or a remote, as git allows it and a command line may contain it. */
export function isRefName(text: unknown): text is string {
  return (
    typeof text === 'string' &&
    text.length <= 200 &&
    text.split('/').every((part) => REF_PART.test(part) && !part.endsWith('.lock'))
  );
}

/** The branch of an answer's run, as the answer records it (work.md). */
export interface BranchOnRecord {
  /** Name in the repository of the tier, such as `crosstalk/0a1b2c3d`. */
  name: string;
  commit: string;
  /** The commit from which the branch started. */
  base: string;
  /** Number of files that differ between the two. */
  changed: number;
  /**
   * Reason why the commit is not on that branch in the repository itself, or what else was not transferred,
   * in one line.
   */
  held?: string;
}

const OID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
const MAX_FILES = 1e9;
const MAX_WORDS = 300;

/** Parses a branch from a header, which anybody may have pushed; undefined if it is invalid. */
export function branchIn(value: unknown): BranchOnRecord | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { name, commit, base, changed, held } = value as Record<string, unknown>;
  const isOid = (text: unknown): text is string => typeof text === 'string' && OID.test(text);
  const files = amount(changed, MAX_FILES);
  if (!isRefName(name) || !isOid(commit) || !isOid(base) || files === undefined) return undefined;
  const why = isOneLine(held) && held.length <= MAX_WORDS ? held : undefined;
  return { name, commit, base, changed: files, ...(why !== undefined && { held: why }) };
}

/** Number of digits of a commit that distinguish it for people. */
const SHORT = 12;

/** Describes a branch in one line for people, such as `crosstalk/0a1b2c3d from 3f2a9c1d77e0, 4 files changed`. */
export function branchInWords({ name, base, changed, held }: BranchOnRecord): string {
  const files = changed === 1 ? '1 file' : `${String(changed)} files`;
  const why = held === undefined ? '' : `; ${escapeInvisible(held)}`;
  return `${name} from ${base.slice(0, SHORT)}, ${files} changed${why}`;
}
