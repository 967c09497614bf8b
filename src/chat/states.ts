import { reasonInWords } from '../protocol/text/words.ts';
import type { NodeState } from '../operations/tracing/thread.ts';

/** The meaning that a colour gives a state; the words express the same. */
export type Tone = 'good' | 'busy' | 'bad' | 'quiet';

export const TONES: Readonly<Record<NodeState['state'], Tone>> = {
  answered: 'good',
  queued: 'busy',
  running: 'busy',
  waiting: 'busy',
  silent: 'quiet',
  failed: 'bad',
  cancelled: 'quiet',
  parked: 'bad',
};

/** Whether the state can change into another without anybody's action. */
export function isOpen({ state }: NodeState): boolean {
  return state === 'queued' || state === 'running' || state === 'waiting' || state === 'failed';
}

/** Whether it has failed and is not tried again automatically, as what was cancelled. */
export function hasEnded({ state, delay }: NodeState): boolean {
  return state === 'failed' && (delay?.until ?? null) === null;
}

/**
 * Describes a state in words.
 *
 * @param waited seconds since the message was written, if they matter
 * @param isOnly whether the message has only one addressee, so that it is clear who answered
 */
export function describeState(
  { actor, state, detail, took_s: took, delay, failed_on: where, held_up: why, heard }: NodeState,
  waited: number | undefined,
  isOnly = false,
): string {
  const who = isOnly ? '' : `${actor} `;
  const since = waited === undefined ? '' : ` ${seconds(waited)}`;
  switch (state) {
    case 'answered':
      return took === null ? `${actor} reacted` : `${who}answered after ${seconds(took)}`;
    case 'queued':
      return 'queued, not on the remote yet';
    case 'running':
      return `${actor} runs${detail === null ? '' : ` on ${detail}`}…${since}`;
    case 'waiting':
      return `waiting for ${actor}…${since}${heard === undefined ? whyItWaits(delay, why) : ` (${heard})`}`;
    case 'silent':
      return `${actor} said nothing`;
    case 'failed':
      return `${actor} failed${where === undefined ? '' : ` on ${where}`}, dead letter ${ending(detail)}`;
    case 'cancelled':
      return isOnly ? 'cancelled' : `${actor}: cancelled`;
    case 'parked':
      return `${actor} is held back, dead letter ${ending(detail)}`;
  }
}

/** What holds an answer up, as far as it is known. */
function whyItWaits(delay: NodeState['delay'], why: string | undefined): string {
  if (why !== undefined) return `: ${why}`;
  if (delay?.reason === null || delay?.reason === undefined) return '';
  const until = delay.until === null ? '' : ` until ${clock(delay.until)}`;
  return `: held${until}, ${reasonInWords(delay.reason)}`;
}

/** A time of this machine's time zone, such as `18:00`. */
function clock(time: string): string {
  const at = new Date(time);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** The ending by which a dead letter can be named. */
function ending(id: string | null): string {
  return (id ?? '').slice(-6);
}

/** `5 s`, `3 min`, `2 h`, `4 d`. */
function seconds(count: number): string {
  const whole = Math.max(0, Math.round(count));
  if (whole < 120) return `${String(whole)} s`;
  if (whole < 7200) return `${String(Math.round(whole / 60))} min`;
  return whole < 172_800
    ? `${String(Math.round(whole / 3600))} h`
    : `${String(Math.round(whole / 86_400))} d`;
}
