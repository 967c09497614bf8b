import type { WebDelay, WebTaken } from '../api/api.ts';
import { CANCELLED } from '../protocol/cancel.ts';
import type { SessionKind } from '../protocol/files/tier-options.ts';
import type { Steered } from '../protocol/talk.ts';
import { takenWords } from './claims.ts';
import { type GatedMail, gateLine, joiningWords, parkedWords, permissionWords } from './holds.ts';

/** Facts about a message for one actor, each on its own, from this machine's point of view. */
export interface Facts {
  /** Whether it waits in this machine's outbox. */
  queued_here: boolean;
  /** Whether it is on the bus: at the remote, or on the local branch in solo mode. */
  on_the_bus: boolean;
  /**
   * Aliases of the hosts known to have seen it: this one by its own state, others by one of their messages that names
   * it in `re` or `cause`. Hosts do not report to each other which messages they have read.
   */
  seen_by: string[];
  running: boolean;
  /** Paths of the actor's messages that answer it; a word on the way to an answer is none. */
  answered_by: string[];
  /** Paths of the notices that it came to nothing. */
  failed_in: string[];
  /** Paths of the message that took it back, and of the actor's notice that it did nothing for it. */
  cancelled_in: string[];
  /** Paths of the tasks that the actor delegated because of it, and of its interim messages because of an answer. */
  delegated_in: string[];
  /** Whether a run on this machine handled it and chose to give no answer. */
  silent: boolean;
  /**
   * Reason why it waits on this machine although its actor could run: `max_runs_per_hour`, `rate_limited` and so on.
   */
  parked: { reason: string; until: string } | null;
  /**
   * Names for whose answers it waits, where its actor is woken once for all answers to a question (`wake: all`), and
   * the latest time. It is one of these answers, or the question.
   */
  joining: { waits_for: string[]; until: string } | null;
  /** The plan that its actor has made of it, and who decides on that. */
  gated: GatedMail | null;
  /** Question of the run for permission, with its addressee and its end. */
  permission: { relPath: string; approver: string; tool: string; until: string } | null;
  /** Since when it runs, or why it failed or waits, and until when. */
  delay: WebDelay | null;
  /** Its dead letter on this machine, if any. */
  dead_letter: { id: string; state: string } | null;
  /** The host that has taken it; absent where no host needs to, and where none has. */
  taken?: WebTaken;
}

/** Words the facts as one line, in the order in which they happened. @param now milliseconds */
export function factsLine(facts: Facts, actor: string, now: number): string {
  const parts = [
    facts.queued_here ? 'queued here' : '',
    facts.on_the_bus ? 'on the bus' : 'not on the bus',
    facts.seen_by.length === 0 ? '' : `seen by ${facts.seen_by.join(', ')}`,
    facts.taken === undefined ? '' : takenWords(actor, facts.taken, now),
    facts.running ? 'running' : '',
    facts.permission === null
      ? ''
      : `${permissionWords(facts.permission)}, as ${facts.permission.relPath} asks`,
    facts.delegated_in.length > 0 ? `passed on by ${facts.delegated_in.join(', ')}` : '',
    facts.cancelled_in.length > 0 ? `cancelled by ${facts.cancelled_in.join(', ')}` : '',
    facts.failed_in.length > 0 ? `failed, as ${facts.failed_in.join(', ')} tells` : '',
    facts.answered_by.length > 0 ? `answered by ${facts.answered_by.join(', ')}` : '',
    facts.parked === null ? '' : parkedWords(facts.parked),
    facts.delay?.reason === 'paused' ? `paused ${facts.delay.said ?? ''}` : '',
    facts.joining === null ? '' : joiningWords(facts.joining),
    facts.gated === null ? '' : gateLine(facts.gated.actor, facts.gated),
    ...(facts.gated?.ignored ?? []).map(
      ({ relPath, decision, why }) => `${relPath} (${decision}) is ignored: ${why}`,
    ),
    facts.silent ? 'met with silence' : '',
    facts.dead_letter === null || facts.dead_letter.state === CANCELLED
      ? ''
      : `${facts.dead_letter.state} as dead letter ${facts.dead_letter.id}`,
  ];
  return parts.filter((part) => part !== '').join(', ');
}

/** Facts about the sessions in which a message was handled, or will be. */
export interface SessionAbout {
  /** Kind of the run that has answered it, as the answer states. */
  run?: SessionKind;
  /** The session of this machine with which the next run in its thread goes on, if nothing has changed. */
  next?: {
    agent: string;
    tier: string;
    turns: number;
    used: string;
    /** Whether its process is pooled. */
    kept?: true;
  };
}

/** Words the sessions of a message, a line each. */
export function sessionLines({ run, next }: SessionAbout): string[] {
  const began = {
    fresh: 'its run began a session',
    resumed: 'its run went on with a session',
    warm: 'its run went on with a session whose process was kept',
  };
  return [
    ...(run === undefined ? [] : [began[run]]),
    ...(next === undefined
      ? []
      : [
          `the next run in this thread goes on with a session of ${next.agent}${next.kept === true ? ' whose process is kept' : ''} (tier ${next.tier}, ${next.turns === 1 ? '1 run' : `${String(next.turns)} runs`} so far), unless something has changed`,
        ]),
  ];
}

/** Outcome of a message for work under way (warm.md, "Steering"). */
export interface SteeringAbout {
  /** The question for the work on which it is. */
  steers: string;
  /**
   * `into`, `again`: it went into a run under way, which went on with it, or was ended and started again with both;
   * `together`: a run had both from its start; `own`: it came too late, and was handled alone; `open`: no run has had
   * it yet; `ordinary`: it is not such a message.
   */
  became: Steered['how'] | 'together' | 'own' | 'open' | 'ordinary';
  /** The id of the run, for `into` and `again`. */
  run?: string;
  /** The answer to it, if there is one. */
  answer?: string;
  /** Reason why it is an ordinary message. */
  why?: string;
}

/** Words the outcome of a message for work under way. */
export function steeringLine({ steers, became, run = '', why = '' }: SteeringAbout): string {
  switch (became) {
    case 'into':
      return `for the work on ${steers}: it went into the run ${run} while that was under way`;
    case 'again':
      return `for the work on ${steers}: the run ${run} was ended and begun again with both`;
    case 'together':
      return `for the work on ${steers}: one run had both from its beginning`;
    case 'own':
      return `for the work on ${steers}: it came too late for its run, and is handled by itself`;
    case 'open':
      return `for the work on ${steers}: no run has it yet`;
    case 'ordinary':
      return `not for work under way, as ${why}: it is a message like any other`;
  }
}
