import type { HeldChange } from '../../protocol/approval/approval.ts';
import { changeText, pushedText } from '../../protocol/approval/text.ts';
import { act, type Finding } from './finding.ts';

/** The most files of a kind that are named, so that a flood cannot hide other problems. */
export const NAMED_CHANGES = 5;

function pushed(change: HeldChange): string {
  const text = pushedText(change);
  return text === undefined ? '' : `; ${text}`;
}

/** A line for each held change, and one for those for which there is no room. */
export function changeProblems(held: readonly HeldChange[]): Finding[] {
  const lines = held
    .slice(0, NAMED_CHANGES)
    .map((change) =>
      change.refused === undefined
        ? act(
            `held until approved: ${changeText(change)}${pushed(change)}; look at it with: crosstalk host show, accept it with: crosstalk host approve ${change.digest}, refuse it with: crosstalk host reject ${change.digest}`,
            'crosstalk host show',
          )
        : act(`held: ${changeText(change)}${pushed(change)}`),
    );
  const more = held.length - lines.length;
  return more > 0
    ? [
        ...lines,
        act(
          `and ${String(more)} more held changes; see them with: crosstalk host show`,
          'crosstalk host show',
        ),
      ]
    : lines;
}
