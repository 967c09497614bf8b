import { roomOf, type ChatState, type Effect } from './model.ts';
import { isOpen } from '../present/state.ts';

/** The number of newest messages whose addressees are watched. */
const LOOKED_AFTER = 60;
/** The number of unfinished messages that are looked at again and again. */
const FOLLOWED = 8;
/** Milliseconds after which a waiting person no longer expects an answer. */
const PATIENCE_MS = 3_600_000;

/** Marks the newest message of the channel on the screen as seen. */
export function seen(state: ChatState): Effect[] {
  const newest = roomOf(state, state.current).entries.at(-1);
  if (newest === undefined || state.scroll > 0) return [];
  return [{ do: 'seen', channel: state.current, relPath: newest.relPath }];
}

/** Returns the messages of the channel on the screen whose addressees may still make progress. */
function openOnes(state: ChatState): string[] {
  return roomOf(state, state.current)
    .entries.filter(
      ({ relPath, at }) =>
        state.now - at < PATIENCE_MS &&
        (state.queued[relPath] === true || (state.standings[relPath] ?? []).some(isOpen)),
    )
    .map(({ relPath }) => relPath)
    .slice(-FOLLOWED);
}

/** Whether the clock has to run, because something on the screen changes with time. */
export function isWaiting(state: ChatState): boolean {
  return openOnes(state).length > 0;
}

/** Looks up the state of the addressees of all messages on the screen. */
export function lookAll(state: ChatState): Effect[] {
  const newest = roomOf(state, state.current).entries.slice(-LOOKED_AFTER);
  return look(
    state,
    newest.map(({ relPath }) => relPath),
  );
}

/** Looks up the addressees whose state may still change without anybody's action. */
export function lookAfter(state: ChatState): Effect[] {
  return look(state, openOnes(state));
}

function look(state: ChatState, wanted: string[]): Effect[] {
  if (wanted.length === 0) return [];
  const { current } = state;
  return [{ do: 'look', channel: current, known: roomOf(state, current).entries, wanted }];
}
