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
  parked: 'bad',
};

/** Whether the state can change into another without anybody's action. */
export function isOpen({ state }: NodeState): boolean {
  return state === 'queued' || state === 'running' || state === 'waiting' || state === 'failed';
}

/**
 * Describes a state in words.
 *
 * @param waited seconds since the message was written, if they matter
 * @param isOnly whether the message has only one addressee, so that it is clear who answered
 */
export function describeState(
  { actor, state, detail, took_s: took }: NodeState,
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
      return `waiting for ${actor}…${since}`;
    case 'silent':
      return `${actor} said nothing`;
    case 'failed':
      return `${actor} failed, dead letter ${ending(detail)}`;
    case 'parked':
      return `${actor} is held back, dead letter ${ending(detail)}`;
  }
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
