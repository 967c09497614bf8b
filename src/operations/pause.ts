import { ask } from '../dispatcher/wake.ts';
import { readPause, removePause, writePause, type Pause } from '../state/pause.ts';
import type { Context } from './context.ts';
import { resolveFrom } from './resolve.ts';

/** Lets this machine's dispatcher start nothing more until `resume`; what runs goes on. */
export async function pause(context: Context, login: string): Promise<Pause> {
  const existing = await readPause(context.paths.pause);
  if (existing !== undefined) return existing;
  const made = { since: context.now().toISOString(), by: resolveFrom(context, undefined, login) };
  await writePause(context.paths.pause, made);
  return made;
}

/** Ends a pause and wakes the dispatcher; the pause that was in force, if any. */
export async function resume(context: Context): Promise<Pause | undefined> {
  const existing = await readPause(context.paths.pause);
  await removePause(context.paths.pause);
  await ask(context.paths.socket, { op: 'wake' }, 2000);
  return existing;
}
