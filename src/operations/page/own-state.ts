import type { MessageRef } from '../../protocol/message-ref.ts';
import { decodeTime } from 'ulid';
import { placeOf } from '../../protocol/layout.ts';
import { withoutSequences } from '../../protocol/text/words.ts';
import type { WebDeadLetter, WebOutboxEntry, WebRun } from '../../api/api.ts';
import type { DeadLetter } from '../../state/dead-letters.ts';
import { loadHeartbeat } from '../../state/heartbeat.ts';
import { holderOf } from '../../state/lock.ts';
import type { OutboxEntry } from '../../state/outbox.ts';
import type { Context } from '../context.ts';
import { channelsOf } from '../view.ts';

/** What is under way on this machine, oldest first. */
export interface OwnState {
  outbox: WebOutboxEntry[];
  dead_letters: WebDeadLetter[];
  running: WebRun[];
}

/** The dead letters that somebody may want to do something about: not those that were cancelled. */
export function lettersOf({ dead_letters: all }: Pick<OwnState, 'dead_letters'>): WebDeadLetter[] {
  return all.filter(({ state }) => state !== 'cancelled');
}

/** Reads what is under way on this machine from its state directory. */
export async function ownState(context: Context): Promise<OwnState> {
  const [entries, letters, running] = await Promise.all([
    context.outbox.all(),
    context.deadLetters.all(),
    runningHere(context),
  ]);
  const nameOf = await channelNames(context);
  const now = context.now();
  return {
    outbox: entries.map((entry) => outboxEntry(entry, now)),
    dead_letters: letters.map((letter) => deadLetter(letter, nameOf(letter.channel))),
    running,
  };
}

/** The current names of channels by id. */
export async function channelNames(context: Context): Promise<(id: string) => string> {
  const names = new Map((await channelsOf(context)).map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? id;
}

/**
 * The CLIs at work on this machine: by their records, which exist for the whole run; the
 * dispatcher's heartbeat contains their tier. A run whose process has ended is not over before its
 * record is removed, since a dispatcher is still recording the outcome; runs that a dead dispatcher
 * left are over.
 */
async function runningHere(context: Context): Promise<WebRun[]> {
  const { runs, paths } = context;
  const [records, dispatcher, heartbeat, nameOf] = await Promise.all([
    runs.leftovers(),
    holderOf(paths.root, 'dispatcher'),
    loadHeartbeat(paths.heartbeat),
    channelNames(context),
  ]);
  return records
    .filter(({ alive }) => alive || dispatcher !== undefined)
    .map(({ id, actor, channel, messages }) => {
      const said = heartbeat?.running.find(
        (run) => run.actor === actor && run.messages.some((path) => messages.includes(path)),
      );
      return {
        id,
        actor,
        host: heartbeat?.host ?? null,
        channel,
        channel_name: nameOf(channel),
        tier: said?.tier ?? null,
        since: beginningOf(id, context.now()),
        until: null,
        outcome: 'running',
        messages,
        answers: [],
        known_from: 'observed',
      };
    });
}

/** The start of a run: a dispatch id is a ULID, which begins with the time. */
function beginningOf(id: string, otherwise: Date): string {
  try {
    return new Date(decodeTime(id)).toISOString();
  } catch {
    return otherwise.toISOString();
  }
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

/** The messages in an outbox entry. */
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
