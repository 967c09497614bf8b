import { roomOf, type ChatState } from './model.ts';
import type { Entry } from './port.ts';
import { threadsOf } from './threads.ts';

/** The newest message of a kind, in the selected thread or in the channel. */
export function newestOf(state: ChatState, isMeant: (entry: Entry) => boolean): string | undefined {
  const newest = chosen(state, isMeant).at(-1);
  return newest && pathOf(newest);
}

/** The messages of a kind in the selected thread or in the channel, oldest first. */
export function chosen(state: ChatState, isMeant: (entry: Entry) => boolean): Entry[] {
  const { entries } = roomOf(state, state.current);
  const selected = threadsOf(entries).find(({ root }) => root.relPath === state.selected);
  const all =
    selected === undefined
      ? entries
      : [selected.root, ...selected.others.map(({ entry }) => entry)];
  return all.filter(isMeant);
}

/** The message that a command reads which names none: the newest of the selected thread or of the channel. */
export function toRead(state: ChatState): string | undefined {
  return newestOf(state, () => true);
}

/** The message that is copied: the newest of the selected thread, else the last answer of somebody else. */
export function toCopy(state: ChatState): string | undefined {
  if (state.selected !== undefined) return toRead(state);
  const isAnswer = ({ from, re, notYet }: Entry): boolean =>
    from !== state.me && re.length > 0 && notYet === undefined;
  return newestOf(state, isAnswer);
}

/** The unique name of a message. */
export function pathOf({ channel, relPath }: Entry): string {
  return `${channel}/${relPath}`;
}
