import type { WebForce, WebThreadNode } from '../api/api.ts';
import { branchInWords, type BranchOnRecord, reasonInWords } from '../protocol/text/words.ts';

const MARKS = { interim: 'interim', failure: 'notice of a failure' } as const;
const CANCELS: Record<WebForce, string> = {
  cancels: 'cancels it',
  late: 'cancels it after the answer, which stays',
  none: 'would cancel it, but has no force',
};

/** Returns the words for the mark of a message. @param force of a cancellation */
export function markWords(
  mark: Exclude<WebThreadNode['mark'], null>,
  force: WebForce = 'cancels',
): string {
  return mark === 'cancel' ? CANCELS[force] : MARKS[mark];
}

/** Returns the marks of a message in a thread. A proposal is an interim answer as well, which goes without saying. */
export function marksOf({
  mark,
  force,
  proposal,
  decision,
}: Pick<WebThreadNode, 'mark' | 'force' | 'proposal' | 'decision'>): string[] {
  return [
    ...(proposal === true ? ['proposal'] : []),
    ...(mark === null || (proposal === true && mark === 'interim') ? [] : [markWords(mark, force)]),
    ...(decision === undefined ? [] : [`decision: ${decision}`]),
  ];
}

/** Returns the mark of the notice of a failure in an inbox; a cancelled message has not failed. */
export function failureMark(reason: string): string {
  return reason === 'cancelled' ? reason : `failed: ${reasonInWords(reason)}`;
}

/** Words for a message that was taken back. @param shortened how its path is shown */
export function cancelledWords(
  { relPath, force, queued }: { relPath: string; force: WebForce; queued?: true },
  shortened: (relPath: string) => string = (whole) => whole,
): string {
  const late = force === 'late' ? ', after the answer, which stays' : '';
  return `by ${shortened(relPath)}${late}${queued === true ? ', which is not on the remote yet' : ''}`;
}

/** Whether the writer of a message has signed it; nothing where no key of that name is pinned here. */
export function verifiedWords(verified: boolean | undefined): string[] {
  if (verified === undefined) return [];
  return [verified ? 'verified' : 'unverified'];
}

/** Returns the name of a writer with that mark. */
export function writerWords(from: string, verified: boolean | undefined): string {
  return [from, ...verifiedWords(verified).map((word) => `(${word})`)].join(' ');
}

/** Returns the number of files of a message as a mark; nothing for none. */
export function filesMark(files: readonly unknown[] = []): string[] {
  const count = files.length;
  return count === 0 ? [] : [count === 1 ? '1 file' : `${String(count)} files`];
}

/** Returns the mark of the branch on which an answer was worked out; nothing if there is none. */
export function branchMark({ branch }: { branch?: BranchOnRecord | undefined }): string[] {
  return branch === undefined ? [] : [`branch ${branchInWords(branch)}`];
}
