import {
  isSessionRefused,
  sessionsOf,
  type SessionCall,
} from '../../agents/sessions/sessions-of.ts';
import { passed } from '../../crash-points.ts';
import { SESSION_MAX_TURNS, type SessionKind } from '../../protocol/files/tier-session.ts';
import { messageKey, type MessageRef } from '../../protocol/message-ref.ts';
import type { Located } from '../../protocol/message.ts';
import { placeOfRef, refFrom } from '../../protocol/reference.ts';
import type { Lookup } from '../../protocol/causality.ts';
import { threadOf, threadRoots } from '../../protocol/thread.ts';
import type { Usage } from '../../protocol/usage.ts';
import type { InvocationResult } from '../../runner/runner.ts';
import type { Log } from '../../log.ts';
import type { Runs } from '../../state/runs.ts';
import type { AgentSession } from '../../state/sessions/agent-sessions.ts';
import type { ServersOfRun } from '../laying/mcp-servers.ts';
import { digestOf, madeOf, type MadeParts, type RunOfSession } from './made.ts';
import { usageSince, type Candidate, type Sessions } from './sessions.ts';

/** One run of a session: how it is begun, and what it need not be told. */
export interface Turn {
  kind: SessionKind;
  /** The command line that begins the session, or goes on with it. */
  command: string;
  /** Whether the session was shown a message, or has written it; by its name in the channel of the job. */
  knows: (ref: string) => boolean;
  /** The last message that it was given; absent in its first run. */
  last?: string;
  /** Whether something was not told to the session before, or was told otherwise; remembers it. */
  isNews: (what: string, value: unknown) => boolean;
  /** What the session used before, if its CLI states only what it used in all. */
  before?: Usage;
}

interface TurnParts extends MadeParts {
  sessions: Sessions;
  runs: Pick<Runs, 'sent' | 'end'>;
  log: Log;
  uuid: () => string;
}

/** A run that may have a session; `plans`: it has none, as nobody has approved yet what it may know. */
type SessionJob = RunOfSession & { plans?: boolean };

/** What a run is about, where it decides about its session. */
interface About {
  briefing: { batch: readonly Located[]; channel: readonly Located[]; lookup: Lookup };
  /** The first message of its thread. */
  root: MessageRef;
  dir: string;
  tools: ServersOfRun;
}

/**
 * Runs an actor's CLI in the session that it keeps for the thread, if its tier keeps any (warm.md). A session
 * that the CLI does not have any more costs nothing: the same run is begun anew. Whatever else goes wrong is a
 * failed run, and ends the session.
 *
 * @param run makes the run; undefined for one without a session
 */
export async function inSession(
  parts: TurnParts,
  job: SessionJob,
  about: About,
  run: (turn: Turn | undefined) => Promise<InvocationResult>,
): Promise<InvocationResult> {
  const { sessions, runs, log } = parts;
  const found = job.tier.session === undefined || job.plans ? undefined : sessionsOf(job.tier.cli);
  const { batch, lookup } = about.briefing;
  // What belongs to several threads is told to the session of none.
  if (found?.ok !== true || threadRoots(batch, lookup).length !== 1) return run(undefined);
  const owner = { actor: job.actor, channel: about.root.channel, root: about.root.relPath };
  // Another run of the thread is at work in its session.
  if (!sessions.kept.claim(owner)) return run(undefined);
  sessions.note(job.id, { owner });
  const made = await madeOf(parts, job, about);
  let session = new SessionOfRun(parts, job, about, { call: found.call, made });
  const before = await sessions.kept.of(owner);
  if (before !== undefined && session.mayGoOn(before)) {
    await sessions.kept.put({ ...before, under: job.id });
    passed('session_under');
    const turn = session.goOn(before);
    const result = await run(turn);
    const { agent } = found.call;
    if (!isSessionRefused(agent, result) || (await runs.sent(job.id)).length > 0)
      return session.ended(turn, result, before);
    log('session_refused', { id: job.id, actor: job.actor, agent, turns: before.turns });
    // Nothing was spent, so that there is no run of which anything could be left.
    await runs.end(job.id);
    session = new SessionOfRun(parts, job, about, { call: found.call, made });
  }
  await sessions.kept.end(owner);
  const turn = session.begin();
  return session.ended(turn, await run(turn), undefined);
}

/** The session of one run, from its beginning to its end. */
class SessionOfRun {
  readonly #parts: TurnParts;
  readonly #job: SessionJob;
  readonly #about: About;
  readonly #call: SessionCall;
  readonly #made: string;
  #id = '';
  #told: Record<string, string> = {};

  constructor(
    parts: TurnParts,
    job: SessionJob,
    about: About,
    { call, made }: { call: SessionCall; made: string },
  ) {
    this.#parts = parts;
    this.#job = job;
    this.#about = about;
    this.#call = call;
    this.#made = made;
  }

  mayGoOn({ agent, session, made, turns }: AgentSession): boolean {
    const most = this.#job.tier.sessionMaxTurns ?? SESSION_MAX_TURNS;
    const isSame = agent === this.#call.agent && made === this.#made;
    return isSame && turns < most && this.#call.isId(session);
  }

  goOn({ session, known, told, last, total }: AgentSession): Turn {
    this.#id = session;
    this.#told = { ...told };
    const all = new Set(known);
    return {
      kind: 'resumed',
      command: this.#call.next(session),
      knows: (ref) => all.has(this.#key(ref)),
      last: this.#ref(last),
      isNews: this.#isNews,
      ...(this.#call.sums && total && { before: total }),
    };
  }

  begin(): Turn {
    this.#id = this.#call.isGiven ? this.#parts.uuid() : '';
    this.#told = {};
    return {
      kind: 'fresh',
      command: this.#call.first(this.#id),
      knows: () => false,
      isNews: this.#isNews,
    };
  }

  /** What the run has used, and what the session knows if it comes to something. */
  async ended(
    { kind }: Turn,
    result: InvocationResult,
    before: AgentSession | undefined,
  ): Promise<InvocationResult> {
    const { actor, tier, id } = this.#job;
    const { root } = this.#about;
    const owner = { actor, channel: root.channel, root: root.relPath };
    const session = this.#call.isGiven || before ? this.#id : (result.session ?? '');
    const candidate: Candidate = { owner };
    const { usage: total } = result;
    const usage = this.#call.sums && total !== undefined ? usageSince(total, before?.total) : total;
    // A CLI that says another id, or that it used less than before, has another session than it was to go on with, as after a restored disk.
    const isOther = total !== undefined && usage === undefined;
    const isElsewhere = before && result.session !== undefined && result.session !== session;
    if (this.#call.isId(session) && !isOther && isElsewhere !== true)
      candidate.session = {
        ...owner,
        ...{ agent: this.#call.agent, session, tier: tier.name, made: this.#made },
        turns: (before?.turns ?? 0) + 1,
        known: [...new Set([...(before?.known ?? []), ...(await this.#shown())])],
        last: this.#key(this.#about.briefing.batch.at(-1)?.relPath ?? ''),
        told: this.#told,
        ...(this.#call.sums && total && { total }),
      };
    this.#parts.sessions.note(id, candidate);
    return { ...result, ...((usage ?? total) && { usage: usage ?? total }), sessionKind: kind };
  }

  /** The messages that the run was shown, or told of as left out, and those that it has sent. */
  async #shown(): Promise<string[]> {
    const { batch, channel, lookup } = this.#about.briefing;
    const thread: Located[] = [...threadOf(batch, this.#job.actor, channel, lookup), ...batch];
    const sent = await this.#parts.runs.sent(this.#job.id);
    return [
      ...thread.map(({ relPath }) => this.#key(relPath)),
      ...sent.map(([where, { relPath }]) => messageKey({ channel: where, relPath })),
    ];
  }

  readonly #isNews = (what: string, value: unknown): boolean => {
    const digest = digestOf(value ?? null);
    if (this.#told[what] === digest) return false;
    this.#told[what] = digest;
    return true;
  };

  /** A key as a name in the channel of the job. */
  #ref(key: string): string {
    const { channel, relPath } = placeOfRef('', key);
    return refFrom(this.#job.channel, channel, relPath);
  }

  #key(ref: string): string {
    return messageKey(placeOfRef(this.#job.channel, ref));
  }
}
