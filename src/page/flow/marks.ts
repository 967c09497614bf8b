import type { Arrow, Bar, Picture } from './layout.ts';
import { plainOf } from '../text/plain.ts';
import type { WebRun } from '../../api/api.ts';
import { ageOf, clockOf, momentOf } from '../../present/times.ts';
import { OUTCOMES } from '../../present/runs.ts';

/** An item of the picture that can be selected, with its description. */
export interface Mark {
  key: string;
  /** The position of its description. */
  x: number;
  y: number;
  words: string;
  more: string;
  /** The message to which it leads. */
  channel: string;
  relPath: string | undefined;
}

export const barKey = ({ runs: [run] }: Bar): string => `run ${run.id}`;
export const arrowKey = ({ messages: [message], to }: Arrow): string =>
  `message ${message.relPath} ${to}`;

/** Returns all marks from left to right, which is the order for the keyboard. */
export function marksOf(picture: Picture, now: number): Mark[] {
  const marks = [
    ...picture.bars.map((bar) => markOfBar(bar, now)),
    ...picture.arrows.map(markOfArrow),
  ];
  return marks.sort((a, b) => a.x - b.x || a.y - b.y);
}

/** Outcomes that stand out among several runs, the most important first. */
const FIRST_SEEN = [
  'failed',
  'parked',
  'stopped',
  'running',
  'cancelled',
  'answered',
  'silent',
] as const;

/** Returns the outcome by which one or several runs are drawn. */
export function outcomeOf({ runs }: Bar): WebRun['outcome'] {
  return FIRST_SEEN.find((one) => runs.some(({ outcome }) => outcome === one)) ?? 'answered';
}

/** Whether only a message and its answer are known, so that the bar includes the wait for a run. */
export function isConcluded({ runs: [run] }: Bar): boolean {
  return run.known_from === 'record';
}

function markOfBar(bar: Bar, now: number): Mark {
  const { runs, x, y, height } = bar;
  const [run] = runs;
  return {
    key: barKey(bar),
    x,
    y: y + height,
    ...(runs.length === 1 ? aboutOne(run, now) : aboutSeveral(bar)),
    channel: run.channel,
    relPath: run.messages[0] ?? run.answers[0],
  };
}

function aboutOne(run: WebRun, now: number): Pick<Mark, 'words' | 'more'> {
  const until = run.until === null ? now : Date.parse(run.until);
  const took = ageOf((until - Date.parse(run.since)) / 1000);
  const host = run.host === null ? '' : ` on ${run.host}`;
  const tier = run.tier === null ? '' : ` (${run.tier})`;
  const who = `${run.actor}${tier}${host}`;
  switch (run.known_from) {
    case 'record':
      return {
        words: `${who} ${OUTCOMES[run.outcome]} ${took} after the message`,
        more: `asked at ${clockOf(run.since)}, in ${run.channel_name}; when the run began is not known here`,
      };
    case 'dead_letter':
      return {
        words: `${who} ${OUTCOMES[run.outcome]} at ${clockOf(run.since)}`,
        more: `in ${run.channel_name}; how long it ran is not known here`,
      };
    case 'observed':
      return {
        words: `${who} ${OUTCOMES[run.outcome]}, ${took}`,
        more: `from ${clockOf(run.since)}, in ${run.channel_name}`,
      };
  }
}

function aboutSeveral(bar: Bar): Pick<Mark, 'words' | 'more'> {
  const { runs } = bar;
  const counts = FIRST_SEEN.flatMap((one) => {
    const count = runs.filter(({ outcome }) => outcome === one).length;
    return count === 0 ? [] : [`${String(count)} ${OUTCOMES[one]}`];
  });
  return {
    words: `${runs[0].actor}: ${String(runs.length)} runs`,
    more: `${between(runs.map(({ since }) => since))}: ${counts.join(', ')}${isConcluded(bar) ? '; with the wait for them' : ''}`,
  };
}

function markOfArrow(arrow: Arrow): Mark {
  const { messages, to, x1, y1 } = arrow;
  const [message] = messages;
  const kind = message.re.length > 0 ? 'answered' : 'wrote to';
  const place = { key: arrowKey(arrow), x: x1, y: y1 };
  const { channel, relPath, from } = message;
  const words =
    messages.length === 1
      ? `${from} ${kind} ${to} at ${clockOf(message.timestamp)}`
      : `${from} ${kind} ${to}: ${String(messages.length)} messages`;
  const more =
    messages.length === 1
      ? plainOf(message.excerpt)
      : between(messages.map(({ timestamp }) => timestamp));
  return { ...place, words, more, channel, relPath };
}

/** Returns the first and the last of some times. */
function between(times: readonly string[]): string {
  const sorted = times.toSorted();
  return `${momentOf(sorted[0] ?? '')} to ${momentOf(sorted.at(-1) ?? '')}`;
}
