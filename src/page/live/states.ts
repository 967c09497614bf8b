import { messageKey } from '../../protocol/message-ref.ts';
import type { WebFact, WebMessage, WebState, WebWaiting } from '../../api/api.ts';
import { type KnownMessages } from './facts.ts';

/** The state of a message at one addressee, or, without an actor, of the message itself. */
export interface Shown {
  state: WebState['state'] | 'sending' | 'sent';
  actor: string | null;
  detail: string | null;
  /** Since when, or when the message was written, for a running clock. */
  since: string;
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
  for (const one of waiting) {
    if (one.channel === message.channel && one.relPath === message.relPath)
      states.set(one.actor, { state: one.state, actor: one.actor, detail: null, since });
  }
  for (const [actor, { state, detail, at }] of Object.entries(facts?.actors ?? {}))
    states.set(actor, {
      state: named(state),
      actor,
      detail,
      since: state === 'taken' ? at : since,
    });
  for (const { from, relPath } of answers)
    states.set(from, { state: 'answered', actor: from, detail: relPath, since });
  if (states.size > 0) return [...states.values()];
  const self = { actor: null, detail: null, since };
  if (message.queued && facts?.self !== 'sent') return [{ state: 'queued', ...self }];
  return facts === undefined ? [] : [{ state: facts.self === 'sent' ? 'sent' : 'queued', ...self }];
}

function named(state: WebFact['state']): Shown['state'] {
  return state === 'taken' ? 'running' : state;
}
