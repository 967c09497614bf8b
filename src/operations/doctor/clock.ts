import { suffixOf } from '../../protocol/names.ts';
import type { Context } from '../context.ts';
import { takeCensus } from '../health/census.ts';
import { ago } from '../lookup/heard.ts';
import type { Check } from './check.ts';

const CLOCK_TOLERANCE_S = 300;

/**
 * Compares this machine's clock with the newest message's time, as most messages are from other
 * machines.
 */
export async function clock(context: Context): Promise<Check> {
  const { channels } = await takeCensus(context);
  const newest =
    Object.values(channels)
      .map(({ last }) => last)
      .sort()
      .at(-1) ?? '';
  const match = /^(\d{4})\/(\d{2})\/(\d{2})\/(\d{2})(\d{2})(\d{2})/.exec(newest);
  if (match === null)
    return { check: 'clock', ok: true, found: 'no message to compare with', fix: '' };
  const [year = 0, month = 1, ...rest] = match.slice(1).map(Number);
  const [day = 1, hours = 0, minutes = 0, seconds = 0] = rest;
  const at = Date.UTC(year, month - 1, day, hours, minutes, seconds);
  const ahead = Math.round((at - context.now().getTime()) / 1000);
  const ok = ahead <= CLOCK_TOLERANCE_S;
  const found = ok
    ? 'not behind the newest message'
    : `message ${suffixOf(newest)} is ${ago(context.now().toISOString(), new Date(at))} in the future`;
  return {
    check: 'clock',
    ok,
    warning: true,
    found,
    fix: 'set the clock here, or on the machine that wrote it',
  };
}
