import type { Arrow, Bar, Picture } from './layout.ts';
import { plainOf } from '../text/plain.ts';
import { ageOf, clockOf } from '../text/time.ts';
import type { WebRun } from '../../api/api.ts';

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

export const barKey = ({ run }: Bar): string => `run ${run.id}`;
export const arrowKey = ({ message, to }: Arrow): string => `message ${message.relPath} ${to}`;

/** All marks from left to right, which is the order for the keyboard. */
export function marksOf(picture: Picture, now: number): Mark[] {
  const marks = [
    ...picture.bars.map((bar) => markOfBar(bar, now)),
    ...picture.arrows.map(markOfArrow),
  ];
  return marks.sort((a, b) => a.x - b.x || a.y - b.y);
}

const OUTCOMES: Record<WebRun['outcome'], string> = {
  running: 'is still running',
  answered: 'answered',
  silent: 'said nothing',
  failed: 'failed',
  parked: 'was parked',
};

function markOfBar(bar: Bar, now: number): Mark {
  const { run, x, y, height } = bar;
  const until = run.until === null ? now : Date.parse(run.until);
  const took = ageOf((until - Date.parse(run.since)) / 1000);
  const host = run.host === null ? '' : ` on ${run.host}`;
  const tier = run.tier === null ? '' : ` (${run.tier})`;
  return {
    key: barKey(bar),
    x,
    y: y + height,
    words: `${run.actor}${tier}${host} ${OUTCOMES[run.outcome]}, ${took}`,
    more: `from ${clockOf(run.since)}, in ${run.channel_name}`,
    channel: run.channel,
    relPath: run.messages[0] ?? run.answers[0],
  };
}

function markOfArrow(arrow: Arrow): Mark {
  const { message, to, x1, y1 } = arrow;
  const kind = message.re.length > 0 ? 'answered' : 'wrote to';
  return {
    key: arrowKey(arrow),
    x: x1,
    y: y1,
    words: `${message.from} ${kind} ${to} at ${clockOf(message.timestamp)}`,
    more: plainOf(message.excerpt),
    channel: message.channel,
    relPath: message.relPath,
  };
}
