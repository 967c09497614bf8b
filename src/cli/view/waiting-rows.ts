import type { Status } from '../../operations/health/report.ts';
import { gatedLine } from '../../operations/lookup/gated.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { shortName } from './message.ts';

/** What asks the one who looks something, as `status` shows it, and how to react to it. */
export function inboxRows({ inbox }: Status): string[][] {
  if (inbox === null) return [];
  const { asking, questions } = inbox;
  const more = questions - asking.length;
  return [
    ...asking.map(({ from, relPath, excerpt }) => [
      escapeInvisible(from),
      shortName(relPath),
      escapeInvisible(oneLine(excerpt)),
    ]),
    ...(more > 0
      ? [[`and ${String(more)} more`, '', 'see them with: crosstalk inbox --questions']]
      : []),
    ...(asking.some(({ proposal }) => proposal)
      ? [['', '', 'decide with: crosstalk approve <message>, or crosstalk deny <message> "<why>"']]
      : []),
    ...(asking.some(({ proposal }) => !proposal)
      ? [['', '', 'answer with: crosstalk reply <message> "<text>"']]
      : []),
  ];
}

/** The mail of this machine that waits for somebody to decide on a plan. */
export function gatedRows({ gated }: Status): string[][] {
  return gated.flatMap((one) => [
    [one.actor, shortName(one.messages[0] ?? ''), `since ${one.since}`, gatedLine(one)],
    ...one.ignored.map(({ relPath, decision, why }) => [
      ...['', shortName(relPath)],
      ...[`ignored: ${decision}`, why],
    ]),
  ]);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
