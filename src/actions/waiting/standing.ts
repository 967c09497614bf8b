import type { WebFailed, WebTaken } from '../../api/api.ts';
import type { MessageRef } from '../../protocol/layout.ts';
import type { Located, Message } from '../../protocol/message.ts';
import { cancelOf } from '../../protocol/cancel.ts';
import { saidBesides } from '../../protocol/failure-notice.ts';
import {
  asksSeveral,
  debtorsOf,
  isAnswer,
  reactionOf,
  verdictOf,
  type Debtor,
  type Outcome,
} from '../../protocol/owed.ts';
import type { CancelHere } from '../lookup/queued.ts';
import type { Served } from '../lookup/people.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import { Settled } from '../../state/settled.ts';
import type { Context } from '../context.ts';
import { deliveryOf, isElsewhere, type Delivery } from '../state/delivery.ts';
import type { Local } from '../state/local.ts';

/** Returns those of some actors of this machine that are on record as silent on a message. */
export async function silentHere(
  { paths }: Context,
  ref: MessageRef,
  actors: readonly string[],
): Promise<Set<string>> {
  const deliveries = actors.map((actor) => ({ ...ref, actor }));
  const silent = await new Settled(paths.root).of('silent', deliveries);
  return new Set([...silent].map(({ actor }) => actor));
}

/** Returns the addressees of a question that are on record here as silent on it. */
export async function silentTo(
  context: Context,
  { ref, question }: { ref: MessageRef; question: Message | undefined },
): Promise<string[]> {
  return [...(await silentHere(context, ref, question?.to.map(({ name }) => name) ?? []))];
}

/** Message with the replies on the bus to it. */
export interface Asked {
  ref: MessageRef;
  /** Undefined for a file that is not a message: nobody knows who owes an answer to it. */
  question: Message | undefined;
  /** The messages that name it in `re`, oldest first. */
  replies: Located[];
  /** The messages that name it only in `cause`. */
  caused: Located[];
  /** Answers of its writer to interim answers. */
  returned: Located[];
  /** Whether it is for nobody whom a host serves, nor for a person; looked up where an operator took it back. */
  isNobodys?: boolean;
  /** The hosts that have taken it, by its actors; looked up while it is open. */
  taken?: ReadonlyMap<string, WebTaken>;
}

/** Other facts: the served names with their hosts, and the state of this machine. */
export interface World extends Served {
  /** The names among the addressees that are those of people, whom no host serves. */
  people: ReadonlySet<string>;
  /** Reasons why hosts cannot take the work of shared actors, by their own words: of a host and an actor, a line. */
  away?: ReadonlyMap<string, string>;
  /** Milliseconds at which each claim was seen first, so that its line stays the same. */
  seen?: ReadonlyMap<string, number>;
  /** The alias of this machine; undefined where it serves nobody. */
  alias: string | undefined;
  /** Undefined where this machine's state is none of the reader's business, as in a run. */
  local: Local | undefined;
}

/** Somebody who still owes an answer. */
export interface Owing extends Debtor {
  /** State by this machine's records; absent unless it is owed here. */
  here?: Delivery;
  /** Start of its run; absent unless it runs on this machine. */
  runs_since?: string;
  /** The host that has taken it for this actor; absent where none has. */
  taken?: WebTaken;
}

/** Standing of a message. */
export interface Standing {
  /** `REPLIED` from the first answer on. */
  state: Outcome;
  /** Those who have not answered; empty once the only name that was asked has. */
  owing: Owing[];
  failures: WebFailed[];
  /** The actors of this machine that chose to say nothing. */
  silent: Debtor[];
  /** The message by which it was taken back. */
  cancelled: CancelHere | undefined;
  /** Whether there is nothing to wait for any more: all that are served have answered, failed or chosen silence. */
  isOver: boolean;
}

/** Whether all that a message asks for has come: an answer, and of several who were asked one of each. */
export function isSettled({ question, replies }: Pick<Asked, 'question' | 'replies'>): boolean {
  return !asksSeveral(question?.to ?? []) && replies.some(({ message }) => isAnswer(message));
}

/**
 * Determines the standing of a message. Where one host has taken it for an actor, the others owe nothing. If it was cancelled, the host that serves an addressee owes the notice of
 * that, and nobody owes anything for a name that nobody serves. A pure function.
 *
 * @param silent the actors of this machine that are on record as silent on it
 */
export function standingOf(
  asked: Asked,
  world: World,
  silent: ReadonlySet<string>,
  now: Date,
): Standing {
  const { ref, question, replies } = asked;
  const { alias, local } = world;
  const standing: Standing = {
    state: 'PENDING',
    owing: [],
    failures: [],
    silent: [],
    cancelled: undefined,
    isOver: false,
  };
  if (replies.some(({ message }) => isAnswer(message))) standing.state = 'REPLIED';
  if (isSettled(asked)) return { ...standing, isOver: true };
  if (question === undefined) return standing;
  const several = asksSeveral(question.to);
  const { isNobodys = false } = asked;
  const place = { relPath: ref.relPath, message: question };
  const cancelled: CancelHere | undefined = cancelOf(place, replies, { isNobodys });
  const debtors = debtorsOf(question, world);
  const reactions = replies.map(reactionOf);
  for (const debtor of debtors) {
    const { actor, host } = debtor;
    const { outcome, notice } = verdictOf(debtor, reactions);
    // Nobody owes themselves an answer.
    if (several && (actor === question.from || outcome === 'REPLIED')) continue;
    const taken = asked.taken?.get(actor);
    // A claim of a host that does not serve the actor leaves all of them owing.
    const isOther = ({ actor: name, host: on }: Debtor): boolean =>
      name === actor && on === taken?.host;
    if (isElsewhere(taken, host) && debtors.some(isOther)) continue;
    const here =
      local !== undefined && host !== undefined && host === alias
        ? deliveryOf(local, ref, { actor, tier: question.tier ?? null, taken }, now)
        : undefined;
    const { letter, run } = here ?? {};
    const owing = {
      ...debtor,
      ...(here && { here }),
      ...(run && { runs_since: run.since }),
      ...(taken && { taken }),
    };
    const isTried = letter?.state === 'retrying' || run !== undefined;
    const failed =
      letter === undefined || isTried ? undefined : failedHere(letter, actor, host ?? '');
    if (failed !== undefined) standing.failures.push(failed);
    else if (isTried) standing.owing.push(owing);
    else if (notice !== undefined && host !== undefined)
      standing.failures.push(failedThere(notice, actor));
    else if (here !== undefined && silent.has(actor) && !goesOn(asked, actor))
      standing.silent.push(debtor);
    else if (cancelled === undefined || isServed(debtor, world)) standing.owing.push(owing);
  }
  const isServedHere = (debtor: Debtor): boolean => isServed(debtor, world);
  const waitsForNobody =
    several && debtors.some(isServedHere) && !standing.owing.some(isServedHere);
  const isOver = standing.owing.length === 0 || waitsForNobody;
  const isVain = standing.failures.length > 0 || cancelled !== undefined;
  const hasFailed = isOver && isVain && standing.state === 'PENDING';
  return { ...standing, cancelled, isOver, ...(hasFailed && { state: 'FAILED' }) };
}

/** Whether a host serves somebody who owes an answer, as far as is known. */
export function isServed({ actor, host }: Debtor, { serving }: Pick<Served, 'serving'>): boolean {
  return serving.some(({ alias, actors }) => alias === host && actors.includes(actor));
}

/** Whether an actor that fell silent delegated a task, or was answered since. */
function goesOn({ replies, caused, returned }: Asked, actor: string): boolean {
  if (caused.some(({ message }) => message.from === actor)) return true;
  const theirs = replies.filter(({ message }) => message.from === actor);
  return returned.some(({ message }) => theirs.some(({ relPath }) => message.re.includes(relPath)));
}

/** Returns the words on the way to an answer, oldest first. */
export function interimOf({ replies }: Pick<Asked, 'replies'>): Located[] {
  return replies.filter(({ message }) => message.interim === true);
}

function failedHere(letter: DeadLetter, actor: string, host: string): WebFailed {
  const { reason, attempts, id, detail } = letter;
  return { actor, host, reason, attempts, dead_letter: id, detail };
}

function failedThere({ message }: Located, actor: string): WebFailed {
  const { reason = '', attempts = 0, host = '', dead_letter = '' } = message.failed ?? {};
  return { actor, host, reason, attempts, dead_letter, detail: saidBesides(message) };
}
