import type { WebForce } from '../api/api.ts';
import { optionLines, type TalkFields } from '../protocol/talk.ts';
import { countOf, reasonInWords, branchInWords } from '../protocol/text/words.ts';
import { escapeInvisible } from '../protocol/text/quoted.ts';

/** Returns the part of a message in an exchange (talk.md), as rows of a name and a text. */
export function talkRows(fields: TalkFields, force?: WebForce): [string, string | undefined][] {
  const { asks, options = [], interim, final, failed, cancels, schema, json, branch } = fields;
  const { proposal, permission, decision } = fields;
  return [
    ['asks', asks && 'anew, in an old thread'],
    ...optionLines(options).map((line): [string, string] => ['option', line]),
    ['schema', schema && escapeInvisible(schema)],
    ['json', json && 'fits the schema of what it answers'],
    ['interim', interim && 'the answer is still to come'],
    ['final', final],
    [
      'failed',
      failed &&
        `${reasonInWords(failed.reason)} after ${countOf(failed.attempts, 'attempt')} on ${failed.host}, dead letter ${failed.dead_letter}`,
    ],
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
