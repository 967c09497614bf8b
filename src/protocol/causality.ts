import { EVERYONE } from './address.ts';
import type { Located, Message } from './message.ts';
import { isForeign, refsFrom, refFrom, type Ref } from './layout.ts';

/**
 * Looks up a message by its name relative to the current channel (`seenFrom`): a relPath is in this channel,
 * `<channel id>/<relPath>` in another one. Undefined when it is missing or malformed.
 */
export type Lookup = (ref: string) => Message | undefined;

/** Most steps for which a chain is followed (protocol.md §4). */
export const MAX_STEPS = 64;

/** Whether a message is a new question: one without `re:`, or a reply that asks anew in an old thread (talk.md). */
export function isQuestion({ re, asks }: Pick<Message, 're' | 'asks'>): boolean {
  return re.length === 0 || asks === true;
}

/** A question whose sender waits for an answer, and its sender; see {@link isQuestion}. */
export interface Question {
  /** Its name in the current channel. */
  relPath: string;
  asker: string;
  /** The host that wrote it, to which the answer is addressed. */
  host?: string;
}

/** Returns the messages to which a message reacts: its `cause`, otherwise its `re` (protocol.md §4). */
export function originsOf(message: Message): string[] {
  return message.cause.length > 0 ? message.cause : message.re;
}

/**
 * Finds the open questions of a message delivered to `actor` (protocol.md §4): the message itself when it is
 * a question; otherwise, for each of the actor's messages that it answers, the messages that the actor was
 * processing when it wrote that one, followed to questions that the actor did not send.
 *
 * A message processed in another channel counts only if it asked the actor: `origin` is a claim of the
 * message's pusher, and nobody who did not ask is answered.
 */
export function openQuestions(delivered: Located, actor: string, lookup: Lookup): Question[] {
  return walk(delivered, actor, lookup).questions;
}

/**
 * Finds the missing messages among those that an actor was processing when it wrote the messages that a batch
 * answers; with them the batch may have more open questions.
 */
export function missingOrigins(batch: readonly Located[], actor: string, lookup: Lookup): string[] {
  return [...new Set(batch.flatMap((delivered) => walk(delivered, actor, lookup).missing))];
}

function walk(
  delivered: Located,
  actor: string,
  lookup: Lookup,
): { questions: Question[]; missing: string[] } {
  const found: Question[] = [];
  const missing: string[] = [];
  const seen = new Set<string>();
  let frontier: Located[] = [delivered];
  for (let step = 0; step < MAX_STEPS && frontier.length > 0; step++) {
    const next: Located[] = [];
    for (const { relPath, message } of frontier) {
      if (seen.has(relPath)) continue;
      seen.add(relPath);
      if (isQuestion(message)) {
        if (message.from !== actor && (!isForeign(relPath) || isTo(message, actor)))
          found.push(questionOf(relPath, message));
        continue;
      }
      for (const own of located(message.re, lookup)) {
        if (own.message.from !== actor) continue;
        const origins = originsOf(own.message);
        next.push(...located(origins, lookup));
        missing.push(...origins.filter((ref) => lookup(ref) === undefined));
      }
    }
    frontier = next;
  }
  return { questions: found, missing };
}

/** Whether a message is addressed to an actor, on any host. */
export function isTo({ type, to }: Message, actor: string): boolean {
  return type === 'text' && to.some(({ name }) => name === actor || name === EVERYONE);
}

function questionOf(relPath: string, message: Message): Question {
  return {
    relPath,
    asker: message.from,
    ...(message.host === undefined ? {} : { host: message.host }),
  };
}

/** Finds the open questions of a whole batch, each once, in the order in which they are found. */
export function openQuestionsOfBatch(
  batch: readonly Located[],
  actor: string,
  lookup: Lookup,
): Question[] {
  const byPath = new Map<string, Question>();
  for (const delivered of batch) {
    for (const question of openQuestions(delivered, actor, lookup))
      byPath.set(question.relPath, question);
  }
  return [...byPath.values()];
}

/**
 * Selects the open questions that still need an answer: one that has its final answer is left out as long as others
 * remain (protocol.md §4).
 *
 * @param answered paths of the messages that the actor has answered on its host
 */
export function stillOpen(
  questions: readonly Question[],
  answered: ReadonlySet<string>,
): Question[] {
  const left = questions.filter(({ relPath }) => !answered.has(relPath));
  return left.length > 0 ? left : [...questions];
}

/**
 * Returns the causal chain behind some messages, breadth first: the messages that they answer or were caused
 * by, then those of these, and so on. Level 0 contains the messages themselves.
 */
export function chainLevels(triggers: readonly Located[], lookup: Lookup): Located[][] {
  return levelsFrom(triggers, lookup, () => true);
}

/** @param isFollowed whether the messages that a message answers, or was caused by, belong to the chain */
function levelsFrom(
  triggers: readonly Located[],
  lookup: Lookup,
  isFollowed: (message: Message) => boolean,
): Located[][] {
  const levels: Located[][] = [];
  const seen = new Set<string>();
  let level: Located[] = [...triggers];
  while (level.length > 0 && levels.length < MAX_STEPS) {
    const fresh = level.filter(({ relPath }) => !seen.has(relPath) && seen.add(relPath));
    if (fresh.length === 0) break;
    levels.push(fresh);
    level = fresh.flatMap(({ message }) =>
      isFollowed(message) ? located([...message.re, ...message.cause], lookup) : [],
    );
  }
  return levels;
}

/**
 * Counts the messages from the first question to some messages. A question in an old thread starts the count
 * anew, so that a person may talk to an actor for as long as they like.
 */
export function depthOf(triggers: readonly Located[], lookup: Lookup): number {
  return levelsFrom(triggers, lookup, ({ asks }) => asks !== true).length;
}

/**
 * Finds the messages that a message to `addressee` answers when it is sent while `triggers` are processed: the nearest
 * messages of the chain that the addressee sent. If there are none, it is a new task (protocol.md §4).
 *
 * @param isEligible for a message that may only go to some channels: whether it may name this one
 */
export function answeredBySend(
  triggers: readonly Located[],
  addressee: string,
  lookup: Lookup,
  isEligible: (ref: string) => boolean = () => true,
): string[] {
  for (const level of chainLevels(triggers, lookup)) {
    const theirs = level.filter(
      ({ relPath, message }) => message.from === addressee && isEligible(relPath),
    );
    if (theirs.length > 0) return theirs.map(({ relPath }) => relPath);
  }
  return [];
}

function located(relPaths: readonly string[], lookup: Lookup): Located[] {
  return relPaths.flatMap((relPath) => {
    const message = lookup(relPath);
    return message === undefined ? [] : [{ relPath, message }];
  });
}

/** Most bytes of a list of paths: a header has 64 KiB, including its other fields. */
export const MAX_LINKS_BYTES = 60 * 1024;

/** Returns the number of bytes that a list of paths takes in a header. */
export function linksBytes(relPaths: readonly string[]): number {
  return relPaths.reduce((sum, relPath) => sum + relPath.length + '  - \n'.length, 0);
}

/** The names of other messages in a message's header. */
export interface Links {
  re: string[];
  cause: string[];
  origin: string[];
}

/**
 * Returns the links of a message for one channel that is written while messages of another channel may be processed.
 *
 * @param re names in `home` of messages of `target`
 * @param cause names in `home` of the messages being processed
 */
export function linksIn(
  target: string,
  home: string,
  re: readonly string[],
  cause: readonly string[],
): Links {
  const causes = refsFrom(target, home, cause);
  const room = MAX_LINKS_BYTES - linksBytes(refsFrom(target, home, re));
  return {
    re: refsFrom(target, home, re),
    cause: causes.filter((ref) => !isForeign(ref)),
    origin: fitting(
      causes.filter((ref) => isForeign(ref)),
      room,
    ),
  };
}

/** Returns the last of some names that fit into a header, since they are longer than names inside a channel. */
function fitting(refs: readonly string[], room: number): string[] {
  const fit: string[] = [];
  let bytes = 0;
  for (const ref of [...refs].reverse()) {
    bytes += linksBytes([ref]);
    if (bytes > room) break;
    fit.unshift(ref);
  }
  return fit;
}

/** Cache by the origins of a message, so that one with thousands of paths is processed once. */
const merged = new WeakMap<readonly Ref[], { channel: string; cause: Ref[]; causes: Ref[] }>();

/** Returns the causes of a message, in its channel and in others, each once. */
function withOrigins(channel: string, cause: Ref[], origin?: readonly Ref[]): Ref[] {
  if (origin === undefined) return cause;
  const known = merged.get(origin);
  if (known?.channel === channel && known.cause === cause) return known.causes;
  const causes = [...new Set([...cause, ...refsFrom(channel, channel, origin)])];
  merged.set(origin, { channel, cause, causes });
  return causes;
}

/**
 * Returns a message of `channel` as it is seen from `home`: every message it names has the name relative to `home`, and
 * messages of other channels that were being processed are among its causes, so that code which follows `re` and
 * `cause` follows them too. Applying it twice changes nothing.
 *
 * @param located a message whose names are relative to `channel`
 */
export function seenFrom(home: string, channel: string, located: Located): Located {
  const { relPath, message } = located;
  const { origin, cancels } = message;
  if (channel === home && origin === undefined) return located;
  const causes = withOrigins(channel, message.cause, origin);
  if (channel === home) return { relPath, message: { ...message, cause: causes } };
  return {
    relPath: refFrom(home, channel, relPath),
    message: {
      ...message,
      re: refsFrom(home, channel, message.re),
      cause: refsFrom(home, channel, causes),
      ...(cancels === undefined ? {} : { cancels: refsFrom(home, channel, [cancels])[0] }),
    },
  };
}
