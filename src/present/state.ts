import type { WebState, WebWaiting } from '../api/api.ts';
import { reasonInWords } from '../protocol/text/words.ts';
import { takenWords } from './claims.ts';
import {
  attemptsInWords,
  gateWords,
  holdWords,
  nextInWords,
  permissionWords,
  waitingFor,
} from './holds.ts';
import { ageOf, localTimes, secondsSince } from './times.ts';

/**
 * Standing of an addressee, finer than in a thread: a delivery that is tried again is failing, and one that waits for
 * a reason held.
 */
export type Standing = WebState['state'] | WebWaiting['state'] | 'sent';

/** The weight of a state, which a face gives a colour; the words express the same. */
export type Tone = 'good' | 'busy' | 'wait' | 'held' | 'bad' | 'dim';

/** State of a message at one addressee; without an actor, of the message itself. */
export interface Addressee
  extends Pick<WebState, 'detail'>, Partial<Omit<WebState, 'actor' | 'state' | 'detail'>> {
  actor: string | null;
  state: Standing;
  /** Since when, or when the message was written. */
  since?: string;
}

/** Action of a reader that a state allows. */
export type Action = 'cancel' | 'say more' | 'retry' | 'decide';

/** One addressee's state, ready to be shown. */
export interface Presented {
  standing: Standing;
  /** A symbol, so that colour is not the only difference. */
  sign: string;
  tone: Tone;
  /** The state in words, and why it is so; an age belongs between them. Times are ISO 8601. */
  what: string;
  why: string;
  /** The time whose age is worth showing. */
  since: string | undefined;
  actions: readonly Action[];
}

/** Each standing's symbol, weight and possible actions. */
const LOOKS: Record<Standing, [sign: string, tone: Tone, ...actions: Action[]]> = {
  queued: ['◌', 'wait', 'cancel'],
  sent: ['→', 'busy'],
  waiting: ['◔', 'wait', 'cancel'],
  held: ['⊘', 'held', 'cancel'],
  running: ['▶', 'busy', 'cancel', 'say more'],
  answered: ['✓', 'good'],
  silent: ['–', 'dim'],
  failing: ['↻', 'wait', 'cancel', 'retry'],
  failed: ['✕', 'bad', 'retry'],
  cancelled: ['⊖', 'dim'],
  parked: ['‖', 'held', 'retry'],
};

/** Returns the symbol and the weight of a standing. */
export function lookOf(standing: Standing): { sign: string; tone: Tone } {
  const [sign, tone] = LOOKS[standing];
  return { sign, tone };
}

/** Returns the standing of an addressee. */
export function standingOf({ state, delay }: Pick<Addressee, 'state' | 'delay'>): Standing {
  if (state === 'failed' && (delay?.until ?? null) !== null) return 'failing';
  return state === 'waiting' && (delay?.reason ?? null) !== null ? 'held' : state;
}

/** Whether a state can change into another; a dead letter can be released. */
export function isOpen(one: Addressee): boolean {
  return standingOf(one) === 'failed' || canDo(one, 'cancel');
}

/** Whether a reader may do something about a state. */
export function canDo(one: Addressee, action: Action): boolean {
  return actionsOf(one).includes(action);
}

function actionsOf(one: Addressee): readonly Action[] {
  const [, , ...actions] = LOOKS[standingOf(one)];
  const undecided = one.gate?.approved === false || one.permission !== undefined;
  return undecided ? [...actions, 'decide'] : actions;
}

const [QUEUED, NOT_YET] = ['queued', ', not on the remote yet'];

/** Words a run, and the host or the message on which its actor works. */
export function atWork(actor: string, on: string | null): string {
  return `${actor} is at work${on === null ? '' : ` on ${on}`}`;
}

/** Words a message that waits in the outbox. @param reason why */
export function queuedLine(reason?: string): string {
  return `${QUEUED}${NOT_YET}${reason === undefined ? '' : `: ${reason}`}`;
}

/** Reader of a state, and the form for them. */
export interface Reader {
  /** The name of the reader. */
  me?: string | undefined;
  /** Milliseconds. */
  now?: number;
  /** Whether dead letters are named by their ends alone, for want of room. */
  brief?: boolean;
}

/** Presents all of a message's addressees. */
export function presentAll(states: readonly Addressee[], reader: Reader = {}): Presented[] {
  return states.map((one) => present(one, { ...reader, isOnly: states.length === 1 }));
}

/** Presents one addressee of a message. @param reader `isOnly`: whether there is no other */
export function present(one: Addressee, reader: Reader & { isOnly?: boolean } = {}): Presented {
  const standing = standingOf(one);
  const [what, why] = wordsOf(standing, one, reader);
  const since = sinceOf(standing, one);
  return { standing, ...lookOf(standing), what, why, since, actions: actionsOf(one) };
}

/**
 * Returns a state as one text.
 *
 * @param now milliseconds, where its age is part of it
 * @param format how its times are written; by default as they are
 */
export function inWords(
  { what, why, since }: Presented,
  now?: number,
  format: (time: string) => string = (time) => time,
): string {
  const isAged = now !== undefined && since !== undefined;
  return localTimes(`${what}${isAged ? `… ${ageOf(secondsSince(since, now))}` : ''}${why}`, format);
}

function sinceOf(standing: Standing, { delay, since, taken }: Addressee): string | undefined {
  switch (standing) {
    case 'held':
      // The time at which it ends is more useful than its age.
      return (delay?.until ?? null) === null ? (delay?.since ?? since) : undefined;
    case 'running':
      return delay?.since ?? since;
    case 'waiting':
      // Its words say when it was taken.
      return taken === undefined ? since : undefined;
    case 'queued':
      return since;
    default:
      return undefined;
  }
}

function wordsOf(
  standing: Standing,
  one: Addressee,
  { me, now, brief = false, isOnly = false }: Reader & { isOnly?: boolean },
): [what: string, why: string] {
  const {
    actor,
    detail,
    delay,
    took_s: took,
    failed_on: host,
    held_up: why,
    heard,
    gate,
    taken,
  } = one;
  const who = actor ?? '';
  const id = brief ? detail?.slice(-6) : detail;
  const letter = (where: string): string =>
    id === null || id === undefined ? '' : `, dead letter ${id} ${where}`;
  switch (standing) {
    case 'queued':
      return [QUEUED, NOT_YET];
    case 'sent':
      return ['sent', ''];
    case 'waiting':
      if (gate !== undefined) return [gateWords(who, gate, me), ''];
      if (taken !== undefined) {
        // Its age is wanted by all who read it, and not only by those who see retries come due.
        const words = takenWords(who, taken, now ?? Date.now());
        if (words !== '') return [words, ''];
      }
      if (who === me) return [waitingFor('you'), ''];
      if (heard !== undefined) return [waitingFor(who), ` (${heard})`];
      return [waitingFor(who), why === undefined ? '' : `: ${why}`];
    case 'held':
      return [waitingFor(who), delay ? `: ${holdWords(delay)}` : ''];
    case 'running':
      return [
        atWork(who, detail),
        one.permission === undefined ? '' : `, and ${permissionWords(one.permission, me)}`,
      ];
    case 'answered':
      // A reaction to it answers another message, so it has no time.
      if (took === null) return [`${who} reacted`, ''];
      return [`${who} answered`, took === undefined ? '' : ` after ${ageOf(took)}`];
    case 'silent':
      return [`${who} said nothing`, ''];
    case 'failing': {
      const next = delay ? `; ${attemptsInWords(delay)}, ${nextInWords(delay.until, now)}` : '';
      return [`${who} failed`, `${letter('here')}${next}`];
    }
    case 'failed':
      return host === undefined
        ? [`${who} failed`, letter('here')]
        : [`${who} failed on ${host}`, letter('there')];
    case 'cancelled':
      return [isOnly ? 'cancelled' : `${who}: cancelled`, ''];
    case 'parked':
      return [
        `${who} is parked`,
        `: ${reasonInWords(delay?.reason ?? 'too_deep')}${letter('here')}`,
      ];
  }
}
