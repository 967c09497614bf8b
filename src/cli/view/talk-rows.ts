import { branchInWords } from '../../protocol/text/branch.ts';
import { optionLines } from '../../protocol/choice.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { reasonInWords } from '../../protocol/text/reasons.ts';
import type { Failure, TalkFields } from '../../protocol/talk.ts';
import type { Mark } from '../../protocol/owed.ts';
import type { Cancellation, Force } from '../../operations/lookup/taken-back.ts';

const MARKS = { interim: 'interim', failure: 'notice of a failure' } as const;
const CANCELS: Record<Force, string> = {
  cancels: 'cancels it',
  late: 'cancels it after the answer, which stays',
  none: 'would cancel it, but has no force',
};

/** The words for the mark of a message. @param force of a cancellation */
export function markWords(mark: Exclude<Mark, null>, force: Force = 'cancels'): string {
  return mark === 'cancel' ? CANCELS[force] : MARKS[mark];
}

/** Words for a message that was taken back. @param shortened how its path is shown */
export function cancelledWords(
  { relPath, force, queued }: Cancellation,
  shortened: (relPath: string) => string = (whole) => whole,
): string {
  const late = force === 'late' ? ', after the answer, which stays' : '';
  return `by ${shortened(relPath)}${late}${queued === true ? ', which is not on the remote yet' : ''}`;
}

/** What a message says of its part in an exchange (talk.md), as rows of a name and a text. */
export function talkRows(fields: TalkFields, force?: Force): [string, string | undefined][] {
  const { asks, options = [], interim, final, failed, cancels, schema, json, branch } = fields;
  const { proposal, permission, decision } = fields;
  return [
    ['asks', asks && 'anew, in an old thread'],
    ...optionLines(options).map((line): [string, string] => ['option', line]),
    ['schema', schema && escapeInvisible(schema)],
    ['json', json && 'fits the schema of what it answers'],
    ['interim', interim && 'the answer is still to come'],
    ['final', final],
    ['failed', failed && whyFailed(failed)],
    [
      'cancels',
      cancels && [cancels, ...(force === 'none' ? ['which has no force'] : [])].join(', '),
    ],
    ['branch', branch && branchInWords(branch)],
    ['proposal', proposal && 'waits for a decision: crosstalk approve, or crosstalk deny'],
    ['tool', permission && escapeInvisible(permission.tool)],
    ['input', permission && escapeInvisible(permission.input)],
    ['marks', permission?.marks?.join(', ')],
    ['decision', decision],
  ];
}

function whyFailed({ reason, attempts, host, dead_letter: id }: Failure): string {
  return `${reasonInWords(reason)} after ${String(attempts)} ${attempts === 1 ? 'attempt' : 'attempts'} on ${host}, dead letter ${id}`;
}
