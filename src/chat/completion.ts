import type { ChatState, Completion } from './model.ts';
import type { Choice } from './port.ts';
import { COMMANDS } from './commands.ts';
import { trailingStart } from '../protocol/text/trailing.ts';

/**
 * The words that can be inserted at the cursor: addresses after `@` and `/to`, channels after
 * `/channel`, and commands and skills after `/` at the beginning.
 *
 * @returns undefined where nothing can be completed
 */
function completionAt(state: ChatState): Completion | undefined {
  const { text, cursor } = state.input;
  const before = text.slice(0, cursor);
  const start = trailingStart(before, /\S/);
  const word = before.slice(start);
  const [, command = ''] = /^\/(\w+)\s/.exec(before) ?? [];
  const found = (
    choices: readonly Choice[],
    from: number,
    suffix: string,
  ): Completion | undefined => {
    const typed = before.slice(from).toLowerCase();
    const matching = choices.filter(({ value }) => value.toLowerCase().startsWith(typed));
    const known = matching.map(({ value, description }) => ({
      value: `${value}${suffix}`,
      description,
    }));
    return known.length === 0 ? undefined : { choices: known, index: -1, start: from, end: cursor };
  };
  if (word.startsWith('/') && start === 0) {
    const commands = COMMANDS.map(({ name, summary }) => ({ value: name, description: summary }));
    return found([...commands, ...skillsOf(state)], start + 1, ' ');
  }
  // After the names of those who are spoken to, only a skill can begin with a slash.
  if (word.startsWith('/') && /^(?:@\S+\s+)+$/.test(before.slice(0, start)))
    return found(state.skills ?? [], start + 1, ' ');
  if (command === 'to') {
    return found(state.addresses, start + word.lastIndexOf(',') + 1, '');
  }
  if (command === 'channel') {
    const rows = state.channels.map(({ name }) => ({ value: name, description: '' }));
    return found(rows, before.indexOf(command) + command.length + 1, '');
  }
  return word.startsWith('@') ? found(state.addresses, start + 1, ' ') : undefined;
}

/** The skills that no command hides. */
function skillsOf({ skills = [] }: ChatState): Choice[] {
  return skills.filter(({ value }) => !COMMANDS.some(({ name }) => name === value));
}

/** Inserts the next (1) or previous (-1) choice at the cursor. */
export function cycle(state: ChatState, by: 1 | -1): ChatState {
  const completion = state.completion ?? completionAt(state);
  if (completion === undefined) return state;
  const { choices, start, end } = completion;
  const count = choices.length;
  const fresh = completion.index < 0;
  const index = fresh ? (by > 0 ? 0 : count - 1) : (completion.index + by + count) % count;
  const value = choices[index]?.value ?? '';
  const { text } = state.input;
  const input = {
    text: text.slice(0, start) + value + text.slice(end),
    cursor: start + value.length,
  };
  const next = { ...completion, index, end: input.cursor };
  return { ...state, input, completion: count === 1 ? undefined : next };
}
