import type { Joining } from '../../state/heartbeat.ts';

/** The most names in one line. */
const MAX_NAMED = 10;

/** Whom answers wait for, and until when. */
export function whomText({
  waits_for: names,
  until,
}: Pick<Joining, 'waits_for' | 'until'>): string {
  const more = names.length - MAX_NAMED;
  const named = names.slice(0, MAX_NAMED).join(', ');
  return `${named}${more > 0 ? ` and ${String(more)} more` : ''}, until ${until} at the latest`;
}

/** What an actor waits for, in one line. */
export function joiningLine(joining: Joining): string {
  const { actor, messages } = joining;
  const count = messages.length === 1 ? '1 answer' : `${String(messages.length)} answers`;
  return `${actor} has ${count} and waits for ${whomText(joining)}`;
}
