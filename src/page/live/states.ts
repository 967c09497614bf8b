import { messageKey } from '../../protocol/message-ref.ts';
import type { WebDelay, WebFact, WebMessage, WebState, WebWaiting } from '../../api/api.ts';
import { type KnownMessages } from './facts.ts';

/** The state of a message at one addressee, or, without an actor, of the message itself. */
export interface Shown {
  state: WebState['state'] | WebWaiting['state'] | 'sending' | 'sent';
  actor: string | null;
  detail: string | null;
  /** Since when, or when the message was written, for a running clock. */
  since: string;
  /** Why it goes on later, or since when it runs. */
  delay?: WebDelay | null;
  /** The other host on which it failed. */
  failed_on?: string | undefined;
  /** Why nobody reads it at the moment. */
  held_up?: string | undefined;
}

/**
 * The states to show for a message in a conversation, from everything known: the events, what the
 * bus waits for, and the loaded answers.
 *
 * @param answers loaded messages that name it in `re`
 */
export function shownStatesOf(
  message: WebMessage,
  known: KnownMessages,
  waiting: readonly WebWaiting[],
  answers: readonly WebMessage[],
): Shown[] {
  const since = message.timestamp;
  const facts = known.get(messageKey(message));
  const states = new Map<string, Shown>();
  for (const { channel, relPath, state, actor, delay } of waiting) {
    if (channel === message.channel && relPath === message.relPath)
      states.set(actor, { state, actor, detail: null, since, delay });
  }
  for (const [actor, { state, detail, at }] of Object.entries(facts?.actors ?? {})) {
    const heard = named(state);
    const loaded = states.get(actor);
    // What was loaded says more than the event that reports the same.
    const delay = loaded !== undefined && agree(loaded.state, heard) ? loaded.delay : undefined;
    states.set(actor, {
      state: delay === undefined ? heard : (loaded?.state ?? heard),
      actor,
      detail,
      since: state === 'taken' ? at : since,
      ...(delay !== undefined && { delay }),
    });
  }
  for (const { from, relPath, mark } of answers)
    if (mark === undefined)
      states.set(from, { state: 'answered', actor: from, detail: relPath, since });
  if (states.size > 0) return [...states.values()];
  const self = { actor: null, detail: null, since };
  if (message.queued && facts?.self !== 'sent') return [{ state: 'queued', ...self }];
  return facts === undefined ? [] : [{ state: facts.self === 'sent' ? 'sent' : 'queued', ...self }];
}

/** Whether what was loaded is a finer form of what an event said. */
function agree(loaded: Shown['state'], heard: Shown['state']): boolean {
  if (heard === 'failed') return loaded === 'failed' || loaded === 'failing' || loaded === 'held';
  return loaded === heard || (heard === 'waiting' && loaded === 'held');
}

function named(state: WebFact['state']): Shown['state'] {
  return state === 'taken' ? 'running' : state;
}
