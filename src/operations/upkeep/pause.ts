import { ask } from '../../dispatcher/socket/wake.ts';
import { BudgetHolds, letPass, type BudgetHold } from '../../state/bills/budget-holds.ts';
import { readPause, removePause, writePause, type Pause } from '../../state/pause.ts';
import type { Context } from '../context.ts';
import { releaseHeld, type HeldAgent } from '../health/held-agents.ts';
import { resolveFrom } from '../lookup/resolve.ts';

/** Keeps this machine's dispatcher from starting runs until `resume`; current runs continue. */
export async function pause(context: Context, login: string): Promise<Pause> {
  const existing = await readPause(context.paths.pause);
  if (existing !== undefined) return existing;
  const made = { since: context.now().toISOString(), by: resolveFrom(context, undefined, login) };
  await writePause(context.paths.pause, made);
  return made;
}

/**
 * Ends a pause, lets held agent CLIs be tried, and wakes the dispatcher.
 *
 * @returns the pause that was in force, if any, and the holds that are tried again
 */
export async function resume(
  context: Context,
): Promise<{ pause: Pause | undefined; tried: HeldAgent[] }> {
  const existing = await readPause(context.paths.pause);
  await removePause(context.paths.pause);
  const tried = await releaseHeld(context);
  await ask(context.paths.socket, { op: 'wake' }, 2000);
  return { pause: existing, tried };
}

/**
 * Lets the mail of an actor run that waits for a budget, whatever it costs, and wakes the dispatcher.
 *
 * @returns what waited
 */
export async function resumeFor(context: Context, actor: string): Promise<BudgetHold[]> {
  const { held } = await new BudgetHolds(context.paths.budgetHolds).load();
  const waiting = held.filter((hold) => hold.actor === actor);
  if (waiting.length === 0) return [];
  await letPass(context.paths.budgetPasses, actor, waiting, context.now());
  await ask(context.paths.socket, { op: 'wake' }, 2000);
  return waiting;
}
