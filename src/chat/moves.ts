import { foldedThreads } from './conversation.ts';
import { typed } from './editing.ts';
import { lookAll, seen } from './looking.ts';
import { roomOf, step, withRoom, type ChatState, type Step } from './model.ts';
import { selectedLine, windowOf } from './view.ts';

/** Scrolls a page up (1) or down (-1); at the top, older messages are requested. */
export function scrolled(state: ChatState, by: 1 | -1): Step {
  const { height, total } = windowOf(state);
  const page = Math.max(1, height - 1);
  const most = Math.max(0, total - height);
  if (state.panel !== undefined) {
    const top = Math.max(0, Math.min(most, state.panel.top - by * page));
    return step({ ...state, panel: { ...state.panel, top } });
  }
  const scroll = Math.max(0, Math.min(most, state.scroll + by * page));
  const next = { ...state, scroll, below: scroll === 0 ? 0 : state.below };
  const room = roomOf(next, next.current);
  if (by < 0 || scroll < most || room.older !== 'more') return step(next);
  return step(withRoom(next, next.current, { older: 'loading' }), {
    do: 'older',
    channel: next.current,
  });
}

/** Selects the thread above (-1) or below (1); without a selection, the last thread. */
export function selectThread(state: ChatState, by: -1 | 1): Step {
  const roots = foldedThreads(state).map(({ thread }) => thread.root.relPath);
  const at = state.selected === undefined ? -1 : roots.indexOf(state.selected);
  const next = at < 0 ? roots.length - 1 : Math.max(0, Math.min(roots.length - 1, at + by));
  const chosen = { ...state, selected: roots[next] };
  const { height, total } = windowOf(chosen);
  const below = total - selectedLine(chosen);
  // Scroll as little as possible to make the thread visible.
  const scroll = Math.max(below - height, Math.min(chosen.scroll, below - 1), 0);
  return step({ ...chosen, scroll });
}

/** Folds the selected thread, or unfolds it. */
export function toggleSelected(state: ChatState): Step {
  const chosen = foldedThreads(state).find(({ thread }) => thread.root.relPath === state.selected);
  if (chosen === undefined) return step(state);
  const { folds } = roomOf(state, state.current);
  const root = chosen.thread.root.relPath;
  const change = { folds: { ...folds, [root]: !chosen.folded } };
  return step(bounded(withRoom(state, state.current, change)));
}

/** Folds every thread with answers; if all of them are folded, unfolds them. */
export function answersFold(state: ChatState): ChatState {
  const threads = foldedThreads(state).filter(({ thread }) => thread.others.length > 0);
  const fold = threads.some(({ folded }) => !folded);
  const folds = Object.fromEntries(threads.map(({ thread }) => [thread.root.relPath, fold]));
  return bounded(withRoom(state, state.current, { folds }));
}

/** Limits the scroll position after the conversation became shorter. */
function bounded(state: ChatState): ChatState {
  const { height, total } = windowOf(state);
  return { ...state, scroll: Math.min(state.scroll, Math.max(0, total - height)) };
}

/** Switches to the next channel of the list (1), or to the previous one (-1). */
export function switchedBy(state: ChatState, by: 1 | -1): Step {
  const ids = state.channels.map(({ id }) => id);
  if (ids.length < 2) return step(state);
  const at = ids.indexOf(state.current);
  return switchedTo(state, ids[(at + by + ids.length) % ids.length] ?? state.current);
}

/** Switches to another channel; the typed text stays with the previous channel. */
export function switchedTo(state: ChatState, channel: string): Step {
  if (channel === state.current) return step(state);
  const drafts = { ...state.drafts, [state.current]: state.input.text };
  const room = roomOf(state, channel);
  const isNew = room.older === 'unknown';
  const next = {
    ...state,
    drafts,
    current: channel,
    input: typed(drafts[channel] ?? ''),
    browsing: undefined,
    panel: undefined,
    scroll: 0,
    below: 0,
    selected: undefined,
    unread: { ...state.unread, [channel]: 0 },
  };
  return isNew
    ? step(withRoom(next, channel, { older: 'loading' }), { do: 'older', channel })
    : step(next, ...lookAll(next), ...seen(next));
}
