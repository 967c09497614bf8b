/** The effect of a key, as the help shows it. */
export interface Binding {
  /** Successive keys, such as `['g', 'n']`, each with its name in `KeyboardEvent.key`. */
  keys: readonly string[];
  /** Its effect, in words. */
  does: string;
  action: Action;
  /** The views in which it works; all views by default. */
  where?: 'messages' | 'flow' | 'inbox';
}

export type Action =
  | 'help'
  | 'close'
  | 'inbox'
  | 'now'
  | 'channels'
  | 'flow'
  | 'cost'
  | 'notes'
  | 'skills'
  | 'write'
  | 'search'
  | 'next'
  | 'previous'
  | 'first'
  | 'last'
  | 'thread'
  | 'zoom-in'
  | 'zoom-out'
  | 'earlier'
  | 'later'
  | 'theme'
  | 'done'
  | 'reply'
  | 'approve'
  | 'deny';

export const BINDINGS: readonly Binding[] = [
  { keys: ['?'], does: 'show or hide this help', action: 'help' },
  { keys: ['Escape'], does: 'close what is open', action: 'close' },
  { keys: ['g', 'i'], does: 'go to the inbox', action: 'inbox' },
  { keys: ['g', 'n'], does: 'go to Now', action: 'now' },
  { keys: ['g', 'c'], does: 'go to the conversations', action: 'channels' },
  { keys: ['g', 'f'], does: 'go to Flow', action: 'flow' },
  { keys: ['g', '$'], does: 'go to Cost', action: 'cost' },
  { keys: ['g', 'm'], does: 'go to the shared notes', action: 'notes' },
  { keys: ['g', 's'], does: 'go to the skills', action: 'skills' },
  { keys: ['w'], does: 'write a message', action: 'write' },
  { keys: ['/'], does: 'search', action: 'search' },
  { keys: ['t'], does: 'light, dark, or as the system has it', action: 'theme' },
  { keys: ['j'], does: 'the next row', action: 'next', where: 'inbox' },
  { keys: ['k'], does: 'the row before', action: 'previous', where: 'inbox' },
  { keys: ['r'], does: 'reply, or retry what failed', action: 'reply', where: 'inbox' },
  { keys: ['a'], does: 'read it and approve', action: 'approve', where: 'inbox' },
  { keys: ['d'], does: 'read it and deny', action: 'deny', where: 'inbox' },
  { keys: ['e'], does: 'done', action: 'done', where: 'inbox' },
  { keys: ['o'], does: 'open the thread of the row', action: 'thread', where: 'inbox' },
  { keys: ['j'], does: 'the next message', action: 'next', where: 'messages' },
  { keys: ['k'], does: 'the message before', action: 'previous', where: 'messages' },
  { keys: ['Home'], does: 'the oldest message', action: 'first', where: 'messages' },
  { keys: ['End'], does: 'the newest message', action: 'last', where: 'messages' },
  { keys: ['o'], does: 'open the thread of the message', action: 'thread', where: 'messages' },
  { keys: ['j'], does: 'the next run or message', action: 'next', where: 'flow' },
  { keys: ['k'], does: 'the run or message before', action: 'previous', where: 'flow' },
  { keys: ['+'], does: 'show a shorter time', action: 'zoom-in', where: 'flow' },
  { keys: ['-'], does: 'show a longer time', action: 'zoom-out', where: 'flow' },
  { keys: ['ArrowLeft'], does: 'earlier', action: 'earlier', where: 'flow' },
  { keys: ['ArrowRight'], does: 'later', action: 'later', where: 'flow' },
];

/** Keys pressed so far, which may be the beginning of a binding. */
export interface Pressed {
  keys: readonly string[];
  /** When the last of them was pressed, in milliseconds. */
  at: number;
}

/** The most milliseconds between two keys of one binding. */
const TOGETHER_MS = 1500;

/**
 * Processes one more key.
 *
 * @param where the current view
 * @returns the action, if the keys are complete, and the keys to remember
 */
export function press(
  before: Pressed,
  key: string,
  at: number,
  where: Binding['where'],
): { action?: Action; pressed: Pressed } {
  const earlier = at - before.at > TOGETHER_MS ? [] : before.keys;
  for (const keys of [[...earlier, key], [key]]) {
    const fitting = BINDINGS.filter(
      (one) =>
        (one.where === undefined || one.where === where) &&
        keys.every((pressed, index) => one.keys[index] === pressed),
    );
    const whole = fitting.find((one) => one.keys.length === keys.length);
    if (whole !== undefined) return { action: whole.action, pressed: { keys: [], at } };
    if (fitting.length > 0) return { pressed: { keys, at } };
  }
  return { pressed: { keys: [], at } };
}
