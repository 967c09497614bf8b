import { type MessageRef, placeOf } from '../../protocol/layout.ts';
import { withoutSequences } from '../../protocol/text/words.ts';
import type { WebDeadLetter, WebOutboxEntry, WebRun } from '../../api/api.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import type { OutboxEntry } from '../../state/outbox.ts';
import type { Context } from '../context.ts';
import { readRecords, type Records } from '../state/local.ts';
import { channelsOf } from '../view.ts';

/** Work under way on this machine, oldest first. */
export interface OwnState {
  outbox: WebOutboxEntry[];
  dead_letters: WebDeadLetter[];
  running: WebRun[];
}

/** Returns the dead letters that somebody may want to do something about: not those that were cancelled. */
export function lettersOf({ dead_letters: all }: Pick<OwnState, 'dead_letters'>): WebDeadLetter[] {
  return all.filter(({ state }) => state !== 'cancelled');
}

/** Reads the work under way on this machine from its state directory. */
export async function ownState(context: Context): Promise<OwnState> {
  const [records, nameOf] = await Promise.all([readRecords(context), channelNames(context)]);
  return ownIn(context, records, nameOf);
}

/** Returns the work under way by the records of this machine. */
export function ownIn(
  { now }: Context,
  { outbox, letters, running, lastSaid }: Records,
  nameOf: (id: string) => string,
): OwnState {
  return {
    outbox: outbox.map((entry) => outboxEntry(entry, now())),
    dead_letters: letters.map((letter) => deadLetter(letter, nameOf(letter.channel))),
    running: running.map((run) => ({
      ...run,
      host: lastSaid?.host ?? null,
      channel_name: nameOf(run.channel),
      until: null,
      outcome: 'running',
      answers: [],
      known_from: 'observed',
    })),
  };
}

/** Returns the current names of channels by id. */
export async function channelNames(context: Context): Promise<(id: string) => string> {
  const names = new Map((await channelsOf(context)).map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? id;
}

function outboxEntry({ id, commits }: OutboxEntry, now: Date): WebOutboxEntry {
  const written = Date.parse(commits[0]?.at ?? '');
  const age = Math.round((now.getTime() - written) / 1000);
  return {
    id,
    age_s: Number.isNaN(age) ? 0 : Math.max(0, age),
    messages: messagesIn(commits),
  };
}

/** Returns the messages in an outbox entry. */
export function messagesIn(commits: OutboxEntry['commits']): MessageRef[] {
  return commits.flatMap(({ files }) =>
    files.flatMap(({ path }) => {
      const place = placeOf(path);
      return place.kind === 'message' ? [{ channel: place.channel, relPath: place.relPath }] : [];
    }),
  );
}

function deadLetter(letter: DeadLetter, channelName: string): WebDeadLetter {
  const { id, state, actor, channel, messages, reason, detail, attempts } = letter;
  return {
    id,
    state,
    actor,
    channel,
    channel_name: channelName,
    messages,
    reason,
    detail: withoutSequences(detail),
    attempts,
    attempts_since_release: letter.attempts_since_release,
    attempts_allowed: letter.attempts_allowed ?? null,
    last_failed_at: letter.last_failed_at,
    next_retry_at: letter.next_retry_at ?? null,
  };
}
