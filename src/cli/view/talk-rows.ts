import { branchInWords } from '../../protocol/text/branch.ts';
import { optionLines } from '../../protocol/choice.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { reasonInWords } from '../../protocol/text/reasons.ts';
import type { Failure, TalkFields } from '../../protocol/talk.ts';

/** What a message says of its part in an exchange (talk.md), as rows of a name and a text. */
export function talkRows(fields: TalkFields): [string, string | undefined][] {
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
    ['cancels', cancels],
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
