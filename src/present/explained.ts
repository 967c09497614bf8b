import type { WebDelay, WebGate, WebTaken } from '../api/api.ts';
import { CANCELLED } from '../protocol/cancel.ts';
import type { SessionKind } from '../protocol/files/tier-options.ts';
import { takenWords } from './claims.ts';
import { gateLine, joiningWords, parkedWords, permissionWords } from './holds.ts';

/** Facts about a message for one actor, each on its own; of those that are paths, the relPaths of messages. */
interface Facts {
  queued_here: boolean;
  on_the_bus: boolean;
  /** Aliases of hosts. */
  seen_by: readonly string[];
  running: boolean;
  answered_by: readonly string[];
  failed_in: readonly string[];
  cancelled_in: readonly string[];
  delegated_in: readonly string[];
  silent: boolean;
  parked: { reason: string; until: string } | null;
  joining: { waits_for: readonly string[]; until: string } | null;
  gated:
    | (WebGate & {
        actor: string;
        ignored: readonly { relPath: string; decision: string; why: string }[];
      })
    | null;
  permission: { relPath: string; approver: string; tool: string } | null;
  delay: WebDelay | null;
  dead_letter: { id: string; state: string } | null;
  /** Absent where no host has taken it. */
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

/** Sessions in which a message was handled, or will be. */
interface Sessions {
  run?: SessionKind;
  next?: { agent: string; tier: string; turns: number; kept?: true };
}

/** Words the sessions of a message, a line each. */
export function sessionLines({ run, next }: Sessions): string[] {
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

/** Outcome of a message for work under way. */
interface Steering {
  /** The question for that work. */
  steers: string;
  became: 'into' | 'again' | 'together' | 'own' | 'open' | 'ordinary';
  run?: string;
  why?: string;
}

/** Words the outcome of a message for work under way. */
export function steeringLine({ steers, became, run = '', why = '' }: Steering): string {
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
