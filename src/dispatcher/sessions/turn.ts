import { cleanLine } from '../../agents/clean-line.ts';
import { isSessionRefused, sessionsOf } from '../../agents/sessions/sessions-of.ts';
import { warmOf } from '../../agents/sessions/warm-of.ts';
import { passed } from '../../crash-points.ts';
import { isAmongItsOwn } from '../../protocol/accepted.ts';
import { threadRoots } from '../../protocol/thread.ts';
import type { InvocationResult } from '../../runner/runner.ts';
import {
  madeOf,
  SessionOfRun,
  type About,
  type SessionJob,
  type Turn,
  type TurnApp,
} from './session-of-run.ts';

/**
 * Runs an actor's CLI in the session that it keeps for the thread, if its tier keeps any (warm.md). A session that
 * the CLI does not have any more costs nothing: the same run starts anew. Any other problem is a failed run, and ends
 * the session.
 *
 * @param run makes the run; undefined for one without a session
 */
export async function inSession(
  app: TurnApp,
  job: SessionJob,
  about: About,
  run: (turn: Turn | undefined) => Promise<InvocationResult>,
): Promise<InvocationResult> {
  const { batch, lookup } = about.briefing;
  const { session } = job.tier;
  // Messages that belong to several threads go to the session of none.
  if (session === undefined || job.plans || threadRoots(batch, lookup).length !== 1)
    return run(undefined);
  // A session knows messages that are on no bus: a link by somebody who took no part in its thread opens none.
  if (!batch.every((located) => isAmongItsOwn(located, job.actor, lookup))) return run(undefined);
  return session === 'warm'
    ? inWarmSession(app, job, about, run)
    : inKeptSession(app, job, about, run);
}

type Run = (turn: Turn | undefined) => Promise<InvocationResult>;

/** In a session that the CLI keeps on disk. */
async function inKeptSession(
  app: TurnApp,
  job: SessionJob,
  about: About,
  run: Run,
): Promise<InvocationResult> {
  const { sessions, runs, log } = app;
  const store = sessions.kept;
  const found = sessionsOf(job.tier.cli);
  const owner = ownerOf(job, about);
  // Another run of the thread may be at work in its session.
  if (!found.ok || !store.claim(owner)) return run(undefined);
  sessions.note(job.id, { owner, store });
  const made = await madeOf(app, job, about);
  const { call } = found;
  let session = new SessionOfRun(app, job, about, { call, made, store });
  const before = await store.of(owner);
  if (before !== undefined && session.mayGoOn(before)) {
    await store.put({ ...before, under: job.id });
    passed('session_under');
    const turn = session.goOn(before);
    const result = await run(turn);
    if (!isSessionRefused(call.agent, result) || (await runs.sent(job.id)).length > 0)
      return session.ended(turn, result, before);
    log('session_refused', {
      ...{ id: job.id, actor: job.actor, agent: call.agent, turns: before.turns },
    });
    // Nothing was spent, so no run can have left anything.
    await runs.end(job.id);
    session = new SessionOfRun(app, job, about, { call, made, store });
  }
  await store.end(owner);
  const turn = session.begin();
  return session.ended(turn, await run(turn), undefined);
}

/**
 * Runs in a session whose process is pooled. Where none can be pooled just now, and where a process does not get as
 * far as its first prompt, the run is one of its own: nothing was spent, and no mail waits for an adapter.
 */
async function inWarmSession(
  app: TurnApp,
  job: SessionJob,
  about: About,
  run: Run,
): Promise<InvocationResult> {
  const { sessions, runs, log } = app;
  const store = sessions.warm;
  const found = warmOf(job.tier.cli);
  const owner = ownerOf(job, about);
  if (!found.ok || !store.claim(owner)) return run(undefined);
  sessions.note(job.id, { owner, store });
  const { way } = found;
  const made = await madeOf(app, job, about);
  const call = {
    ...WARM_CALL,
    agent: way.agent,
    first: () => way.command,
    next: () => way.command,
  };
  const session = new SessionOfRun(app, job, about, { call, made, store });
  const before = await store.of(owner);
  const goesOn = before !== undefined && session.mayGoOn(before);
  if (!goesOn) await store.end(owner);
  const kept = goesOn ? store.goOn(owner, way) : await store.begin(owner, job.tier.name, way);
  if (kept === undefined) return run(undefined);
  const turn = {
    ...(goesOn ? session.goOn(before, 'warm') : session.begin(kept.id)),
    kept,
  };
  const result = await run(turn);
  if (result.unsent !== true) return session.ended(turn, result, goesOn ? before : undefined);
  log('session_refused', {
    ...{ id: job.id, actor: job.actor, agent: way.agent, turns: before?.turns ?? 0 },
    reason: result.reported ?? lastLine(result.stderrTail),
  });
  await runs.end(job.id);
  sessions.note(job.id, { owner, store });
  await store.end(owner);
  return run(undefined);
}

const WARM_CALL = { isGiven: true, sums: 'money', isId: () => true } as const;

function ownerOf({ actor }: SessionJob, { root }: About) {
  return { actor, channel: root.channel, root: root.relPath };
}

function lastLine(text: string): string {
  return cleanLine(text.trim().split('\n').at(-1) ?? '');
}
