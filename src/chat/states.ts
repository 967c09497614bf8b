import type { NodeState } from '../operations/tracing/thread.ts';

/** What colour says of a state; words say the same. */
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

/** States that go over into another by themselves. */
export function isOpen({ state }: NodeState): boolean {
  return state === 'queued' || state === 'running' || state === 'waiting' || state === 'failed';
}

/**
 * A state in words.
 *
 * @param waited seconds since the message was written, where that is of interest
 * @param isOnly nobody else was asked, so that it is plain who answered
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

/** By which a dead letter may be named. */
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
