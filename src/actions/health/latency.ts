import { escapeInvisible } from '../../protocol/text/quoted.ts';
import type { Status } from './report.ts';

/**
 * Words how soon this machine hears of messages from other machines, and why, as the end of a line; empty where there
 * is no other machine, or no dispatcher.
 */
export function latencyText({ dispatcher, origin }: Pick<Status, 'dispatcher' | 'origin'>): string {
  if (dispatcher === null || !origin) return '';
  const { interval, slowed_by: slowedBy, bell } = dispatcher;
  const why = slowedBy === undefined ? '' : `, as ${slowedBy}`;
  const poll = `within ${String(Math.round(interval * 10) / 10)} s (it polls${why})`;
  if (bell === undefined) return `hears of other machines ${poll}`;
  if (bell.failing === undefined)
    return `hears of other machines at once (bell at ${bell.servers})`;
  const { since, reason } = bell.failing;
  return `hears of other machines ${poll}; the bell is down since ${since}: ${escapeInvisible(reason)}`;
}
