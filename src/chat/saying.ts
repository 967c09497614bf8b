import { forMessage, waitsForFile, withoutFiles } from './attaching.ts';
import { newestOf } from './choosing.ts';
import { addressed } from './commands.ts';
import { cleared, noticed, roomOf, step, type ChatState, type Effect, type Step } from './model.ts';
import type { Entry } from './port.ts';
import { hasEnded, isOpen } from './states.ts';

/** A message that is named by the first word of a reply. */
const NAMED = /^((?:[^\s/]+\/)?\d{4}\/\d{2}\/\d{2}\/\S+|[0-9a-f]{8,64})(?:\s+|$)/;

/** Replies to the message that is named first, else to the newest of somebody else. */
export function replied(state: ChatState, argument: string): Step {
  const [again = ''] = /^--again(?:\s+|$)/.exec(argument) ?? [];
  const [name = '', named] = NAMED.exec(argument.slice(again.length)) ?? [];
  const body = argument.slice(again.length + name.length).trim();
  const message = named ?? newestOf(state, ({ from }) => from !== state.me);
  if (message === undefined)
    return wrong(state, 'reply to which message? name one: /reply 1f2e3d4c <text>');
  if (body === '') return wrong(state, 'the reply is empty; write /reply <text>');
  if (state.reading > 0) return waitsForFile(state);
  const { text } = state.input;
  const said = { channel: state.current, message, body, typed: text };
  return kept(state, withoutFiles(cleared(state)), {
    do: 'reply',
    ...said,
    ...(again !== '' && { again: true }),
    ...forMessage(state),
  });
}

/** Says more about the message that is named first, else about the newest of the user's own that somebody works on. */
export function saidNow(state: ChatState, argument: string): Step {
  const [name = '', named] = NAMED.exec(argument) ?? [];
  const { names, rest } = addressed(argument.slice(name.length));
  const message =
    named ?? newestOf(state, (entry) => isUnderWay(state, entry) && isServed(state, entry));
  if (message === undefined)
    return wrong(
      state,
      'nobody works on a message of yours here; name one: /now 1f2e3d4c <text>, or send the text as a message',
    );
  const body = rest.trim();
  if (body === '') return wrong(state, 'there is nothing to say; write /now <text>');
  if (state.attached.length > 0 || state.reading > 0)
    return wrong(
      state,
      'files do not go along with what is said now; /attach - drops them, a message takes them',
    );
  const to = names.length > 0 ? { to: names.join(',') } : {};
  const said = { channel: state.current, message, body, typed: state.input.text };
  return kept(state, cleared(state), { do: 'now', ...said, ...to });
}

/** Whether somebody works on a message of the user's own, which was not taken back. */
export function isUnderWay(state: ChatState, { channel, from, relPath }: Entry): boolean {
  const isCancelled = roomOf(state, channel).entries.some(
    ({ cancels, from: who }) => cancels === relPath && who === from,
  );
  const states = state.standings[relPath] ?? [];
  return (
    from === state.me &&
    !isCancelled &&
    (state.queued[relPath] === true || states.some((one) => isOpen(one) && !hasEnded(one)))
  );
}

/** Whether a host serves one of those to whom a message went: `name@host` is known of each that one serves. */
function isServed({ addresses }: ChatState, { to }: Entry): boolean {
  const served = addresses.map(({ value }) => value).filter((value) => value.includes('@'));
  return to.some((one) => served.some((value) => value === one || value.startsWith(`${one}@`)));
}

/** Adds the typed text to the history, without repeating the last entry, and forgets the draft. */
export function kept(before: ChatState, state: ChatState, ...effects: Effect[]): Step {
  const line = before.input.text.trim();
  const history = state.history.at(-1) === line ? state.history : [...state.history, line];
  const drafts = { ...state.drafts, [before.current]: '' };
  // After a switch of the channel, that channel's own draft is in the input.
  const input =
    state.current === before.current
      ? state.input
      : { text: drafts[state.current] ?? '', cursor: (drafts[state.current] ?? '').length };
  return step(
    { ...state, history, drafts, input },
    { do: 'remember', line },
    { do: 'draft', channel: before.current, text: '' },
    ...effects,
  );
}

/** Refuses what was typed, which stays where it is. */
export function wrong(state: ChatState, text: string): Step {
  return step(noticed(state, text, 'bad'));
}
