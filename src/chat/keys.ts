import { answersFold, scrolled, selectThread, switchedBy, toggleSelected } from './moves.ts';
import { clean } from './clean.ts';
import { cycle } from './completion.ts';
import { erase, insert, move, typed, vertical, type Input, type Motion } from './editing.ts';
import { cleared, step, type ChatState, type Effect, type Key, type Step } from './model.ts';
import { submitted } from './submit.ts';

const MOTIONS: Readonly<Record<string, Motion>> = {
  left: 'left',
  right: 'right',
  'ctrl-b': 'left',
  'ctrl-f': 'right',
  home: 'lineStart',
  end: 'lineEnd',
  'ctrl-a': 'lineStart',
  'ctrl-e': 'lineEnd',
  'alt-left': 'wordLeft',
  'alt-right': 'wordRight',
  'ctrl-left': 'wordLeft',
  'ctrl-right': 'wordRight',
  'alt-b': 'wordLeft',
  'alt-f': 'wordRight',
};

const ERASURES: Readonly<Record<string, Motion>> = {
  backspace: 'left',
  delete: 'right',
  'ctrl-h': 'left',
  'ctrl-w': 'wordLeft',
  'alt-backspace': 'wordLeft',
  'ctrl-u': 'lineStart',
  'ctrl-k': 'lineEnd',
  'alt-d': 'wordRight',
};

/** Milliseconds for which a notice stays visible while somebody is typing. */
export const NOTICE_MS = 3000;

/** Applies a key to the state. */
export function pressed(before: ChatState, key: Key): Step {
  const { name } = key;
  if (name === 'tab' || name === 'shift-tab')
    return typing(before, cycle(before, name === 'tab' ? 1 : -1));
  const state = { ...before, completion: undefined, notice: noticeAfter(before, name) };
  const motion = MOTIONS[name];
  if (motion !== undefined) return step({ ...state, input: move(state.input, motion) });
  const erasure = ERASURES[name];
  if (erasure !== undefined) return edited(state, erase(state.input, erasure));
  switch (name) {
    case 'text':
      return edited(state, insert(state.input, clean(key.text)));
    case 'return':
    case 'enter':
      return entered(state);
    case 'alt-return':
    case 'alt-enter':
      return edited(state, insert(state.input, '\n'));
    case 'up':
    case 'down':
      return upOrDown(state, name === 'up' ? -1 : 1);
    case 'pageup':
    case 'pagedown':
      return scrolled(state, name === 'pageup' ? 1 : -1);
    case 'alt-up':
    case 'alt-down':
      return selectThread(state, name === 'alt-up' ? -1 : 1);
    case 'ctrl-n':
    case 'ctrl-p':
      return switchedBy(state, name === 'ctrl-n' ? 1 : -1);
    case 'ctrl-t':
      return step(answersFold(state));
    case 'ctrl-l':
      return step(state, { do: 'redraw' });
    case 'escape':
      return escaped(state);
    case 'ctrl-c':
      return interrupted(state);
    case 'ctrl-d':
      return state.input.text === ''
        ? step(state, { do: 'quit' })
        : edited(state, erase(state.input, 'right'));
    default:
      return step(state);
  }
}

function noticeAfter({ notice, now }: ChatState, key: string): ChatState['notice'] {
  const isRead = key !== 'text' || notice === undefined || now - notice.at > NOTICE_MS;
  return isRead ? undefined : notice;
}

function entered(state: ChatState): Step {
  const { text, cursor } = state.input;
  if (text.slice(0, cursor).endsWith('\\')) {
    const without = { text: text.slice(0, cursor - 1) + text.slice(cursor), cursor: cursor - 1 };
    return edited(state, insert(without, '\n'));
  }
  if (text.trim() !== '') return submitted(state);
  return toggleSelected(state);
}

/**
 * Closes the panel if one is open, otherwise drops the selection and scrolls to the newest message.
 */
function escaped(state: ChatState): Step {
  if (state.panel !== undefined) return step({ ...state, panel: undefined });
  return step({ ...state, selected: undefined, scroll: 0, below: 0 });
}

/**
 * Closes the panel, or clears the typed text, which stays in the history of this session, or quits.
 */
function interrupted(state: ChatState): Step {
  const { text } = state.input;
  if (state.panel !== undefined) return step({ ...state, panel: undefined });
  if (text === '') return step(state, { do: 'quit' });
  const history = [...state.history, text];
  return step({ ...cleared(state), history }, draft(state, ''));
}

function upOrDown(state: ChatState, by: -1 | 1): Step {
  const moved = vertical(state.input, by);
  if (moved !== undefined && state.browsing === undefined) return step({ ...state, input: moved });
  const { history, browsing } = state;
  const at = (browsing?.at ?? history.length) + by;
  const unsent = browsing?.draft ?? state.input.text;
  if (at < 0 || at > history.length) return step(state);
  if (at === history.length) return step({ ...state, input: typed(unsent), browsing: undefined });
  return step({ ...state, input: typed(history[at] ?? ''), browsing: { at, draft: unsent } });
}

function edited(state: ChatState, input: Input): Step {
  return typing(state, { ...state, input, browsing: undefined });
}

/** Stores the typed text as a draft if it changed. */
function typing(before: ChatState, state: ChatState): Step {
  const { text } = state.input;
  return text === before.input.text ? step(state) : step(state, draft(state, text));
}

function draft({ current }: ChatState, text: string): Effect {
  return { do: 'draft', channel: current, text };
}
