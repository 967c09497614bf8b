import { localTimes } from './message.ts';
import type { HeldChange } from '../../protocol/approval/approval.ts';
import { optionsOf, type Value } from '../../protocol/approval/record.ts';
import { commandText, nameText, optionText, pushedText } from '../../protocol/approval/text.ts';
import type { Tier } from '../../protocol/files/host-file.ts';

/** The command of a tier, and what differs from the defaults. */
export function tierText(tier: Tier): string {
  const rest = Object.entries(optionsOf(tier)).flatMap(([option, value]) =>
    option === 'cli' ? [] : [`${option.replaceAll('_', ' ')} ${wordsOf(option, value)}`],
  );
  return [commandText(tier.cli), ...(rest.length === 0 ? [] : [`(${rest.join('; ')})`])].join('  ');
}

/** A value without the marks of JSON, where it is plain text or a list of plain texts. */
function wordsOf(option: string, value: Value): string {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value];
  const words = all.filter((one) => typeof one === 'string');
  const isPlain = words.length === all.length && words.every((one) => /^[\w.@/~:-]+$/.test(one));
  return isPlain ? words.join(', ') : optionText(option, value);
}

/** Formats a held change: its digest, and both texts of every option that differs. */
export function changeLines(change: HeldChange): string {
  const { digest, name, changes, refused } = change;
  const pushed = pushedText(change);
  return [
    `${digest}  ${nameText(name)}`,
    ...(pushed === undefined ? [] : [`  ${localTimes(pushed)}`]),
    ...changes.flatMap(({ option, approved, proposed }) => [
      `  ${nameText(option)}`,
      ...(approved === undefined ? [] : [`  - ${optionText(option, approved)}`]),
      ...(proposed === undefined ? ['  + (removed)'] : [`  + ${optionText(option, proposed)}`]),
    ]),
    ...(refused === undefined ? [] : [`  cannot be approved: ${refused}`]),
  ].join('\n');
}
