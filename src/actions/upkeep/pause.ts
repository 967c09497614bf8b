import { ask } from '../../dispatcher/socket/wake.ts';
import { BudgetHolds, BudgetPasses, type BudgetHold } from '../../state/bills/budget-holds.ts';
import { noDispatcher } from '../../present/holds.ts';
import { Pauses, type Pause } from '../../state/holds.ts';
import type { Context } from '../context.ts';
import { releaseHeld, type HeldAgent } from '../health/held-agents.ts';
import { resolveFrom } from '../lookup/resolve.ts';
import { CrosstalkError } from '../../errors.ts';

/** Prevents this machine's dispatcher from starting runs until `resume`; current runs continue. */
export async function pause(context: Context, login: string): Promise<Pause> {
  const made = { since: context.now().toISOString(), by: resolveFrom(context, undefined, login) };
  return (await new Pauses(context.paths.root).change((found) => found ?? made)) ?? made;
}

/**
 * Ends a pause, releases held agent CLIs for another attempt, and wakes the dispatcher.
 *
 * @returns the pause that was in force, if any, and the holds that are tried again
 */
export async function resume(
  context: Context,
): Promise<{ pause: Pause | undefined; tried: HeldAgent[] }> {
  const existing = await new Pauses(context.paths.root).change(() => undefined);
  const tried = await releaseHeld(context);
  await ask(context.paths.socket, { op: 'wake' }, 2000);
  return { pause: existing, tried };
}

/**
 * Permits runs for the mail of an actor that waits for a budget, whatever they cost, and wakes the
 * dispatcher.
 *
 * @returns the mail that waited
 */
export async function resumeFor(context: Context, actor: string): Promise<BudgetHold[]> {
  const { held } = await new BudgetHolds(context.paths.root).load();
  const waiting = held.filter((hold) => hold.actor === actor);
  if (waiting.length === 0) return [];
  await new BudgetPasses(context.paths.root).let(actor, waiting, context.now());
  await ask(context.paths.socket, { op: 'wake' }, 2000);
  return waiting;
}

/**
 * Requests the running dispatcher to look for news now.
 *
 * @throws CrosstalkError `not_found` when none is running on this machine
 */
export async function wake({ paths, transport }: Context): Promise<{ pid: number }> {
  const asked = await ask(paths.socket, { op: 'wake' }, 5000);
  if (asked.kind === 'answered') return { pid: asked.answer.pid };
  throw new CrosstalkError(
    'not_found',
    asked.kind === 'timeout'
      ? `the dispatcher of ${transport.dir} does not answer; look at it with: crosstalk status`
      : noDispatcher(` for ${transport.dir}`),
  );
}
