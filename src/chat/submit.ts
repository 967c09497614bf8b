import { parseAddress } from '../protocol/address.ts';
import { skillAskedFor } from '../protocol/text/skill-call.ts';
import { help, read, type CommandName, addressed } from './commands.ts';
import { cleared, noticed, step, type ChatState, type Step, roomOf, type Effect } from './model.ts';
import { inWords, shortName } from './conversation.ts';
import { typed } from './editing.ts';
import { attachedFile, forMessage, waitsForFile, withoutFiles } from './attaching.ts';
import { answersFold, switchedTo } from './moves.ts';
import type { Entry } from './port.ts';
import { unservedInWords } from '../present/holds.ts';
import { canDo } from '../present/state.ts';
import { threadsOf } from './threads.ts';

/** The most messages among which a person chooses in one line. */
const MOST_LISTED = 4;

/**
 * Handles the typed text: sends it, or executes it as a command. A text with an error stays in the
 * input.
 */
export function submitted(state: ChatState): Step {
  const { text } = state.input;
  const known = state.addresses.map(({ value }) => value);
  const skills = (state.skills ?? []).map(({ value }) => value);
  const said = read(text, known, state.to, skills);
  switch (said.kind) {
    case 'nothing':
      return step(state);
    case 'wrong':
      if (state.skills === undefined && skillAskedFor(text.trim()) !== undefined)
        return step({
          ...noticed(state, 'this is sent as soon as the skills are read', 'plain'),
          untilSkills: text,
        });
      // Somebody may have added it since they were read.
      if (skillAskedFor(text.trim()) !== undefined)
        return step(noticed(state, said.problem, 'bad'), { do: 'skills' });
      return step(noticed(state, said.problem, 'bad'));
    case 'message': {
      const { to, body } = said;
      if (state.reading > 0) return waitsForFile(state);
      return kept(state, withoutFiles(cleared(state)), {
        do: 'send',
        channel: state.current,
        to,
        body,
        typed: text,
        ...forMessage(state),
      });
    }
    case 'command': {
      if (said.name === 'reply') return replied(state, said.argument.trim());
      if (said.name === 'now') return saidNow(state, said.argument.trim());
      const done = obeyed(state, said.name, said.argument.trim());
      if (done.state.notice?.bad === true) return done;
      return kept(state, cleared(done.state), ...done.effects);
    }
  }
}

/**
 * Takes the skills as they are now. Sends a message that waited for them; if a text was refused as an unknown
 * command, reports that it is a skill, if it is.
 */
export function skillsRead(state: ChatState, skills: ChatState['skills'] = []): Step {
  const next = { ...state, skills, untilSkills: undefined };
  if (state.untilSkills !== undefined) {
    const told = { ...next, notice: undefined };
    return state.untilSkills === state.input.text ? submitted(told) : step(told);
  }
  const name = skillAskedFor(state.input.text.trim());
  const isIn = (some: ChatState['skills']): boolean =>
    some?.some(({ value }) => value === name) === true;
  const isNew = state.skills !== undefined && isIn(skills) && !isIn(state.skills);
  const text = `/${name ?? ''} is a skill by now; press Enter again`;
  return step(isNew ? noticed(next, text, 'plain') : next);
}

function obeyed(
  state: ChatState,
  name: Exclude<CommandName, 'reply' | 'now'>,
  argument: string,
): Step {
  switch (name) {
    case 'help':
      return step({ ...state, panel: { title: 'help', lines: help(), top: 0 } });
    case 'to':
      return step(speakTo(state, argument));
    case 'channel':
      return toChannel(state, argument);
    case 'fold':
      return step(answersFold(state));
    case 'thread':
      return showThread(state, argument);
    case 'read':
      return readWhole(state, argument);
    case 'search':
      return argument === ''
        ? wrong(state, 'search for what? /search <words>')
        : step(state, { do: 'search', channel: state.current, words: argument });
    case 'cancel':
      return cancelled(state, argument);
    case 'approve':
    case 'deny':
      return decided(state, name, argument);
    case 'attach':
      return attachedFile(state, argument);
    case 'copy':
      return copied(state, argument);
    case 'actors':
      return step(state, { do: 'actors' });
    case 'memory':
      return step(state, { do: 'memory', words: argument });
    case 'inbox':
      return step(state, { do: 'inbox' });
    case 'status':
      return step(state, { do: 'status' });
    case 'retry':
      return argument === ''
        ? wrong(state, 'which dead letter? /retry <id|all>; /status lists them')
        : step(state, { do: 'retry', id: argument });
    case 'quit':
      return step(state, { do: 'quit' });
  }
}

/**
 * Takes back the message that is named, else the only one of the user's own that somebody works on. Of
 * several the newest is put into the input, where Enter confirms it or another one is named.
 */
function cancelled(state: ChatState, argument: string): Step {
  if (argument !== '') return step(state, { do: 'cancel', message: argument });
  const open = chosen(state, (entry) => isUnderWay(state, entry)).reverse();
  const [newest, ...others] = open;
  if (newest === undefined)
    return wrong(state, 'nobody works on a message of yours here; name one: /cancel 1f2e3d4c');
  if (others.length === 0) return step(state, { do: 'cancel', message: pathOf(newest) });
  const listed = open.slice(0, MOST_LISTED).map(inWords).join(', ');
  const asked = { ...state, input: typed(`/cancel ${shortName(newest.relPath)}`) };
  return wrong(
    asked,
    `${String(open.length)} of yours are open; Enter takes back the newest, or name another: ${listed}`,
  );
}

/** Decides on the message that is named first; the rest of the text is the note. */
function decided(state: ChatState, decision: 'approve' | 'deny', argument: string): Step {
  const [message = ''] = argument.split(/\s/, 1);
  const note = argument.slice(message.length).trim();
  return message === ''
    ? wrong(state, `which proposal? /${decision} <message> [note]; /inbox lists what waits for you`)
    : step(state, { do: 'decide', decision, message, note });
}

function speakTo(state: ChatState, argument: string): ChatState {
  const names = argument
    .split(/[\s,]+/)
    .map((name) => name.replace(/^@/, ''))
    .filter((name) => name !== '');
  if (names.length === 0) {
    const whom = state.to === '' ? 'nobody' : state.to;
    return noticed(state, `speaking to ${whom}; change it with /to <names>`, 'plain');
  }
  for (const name of names) {
    const address = parseAddress(name);
    if (!address.ok) return noticed(state, address.problems.join('; '), 'bad');
  }
  const known = new Set(state.addresses.map(({ value }) => value));
  const unknown = names.filter((name) => !known.has(name));
  const said =
    unknown.length === 0
      ? `speaking to ${names.join(', ')}`
      : unservedInWords(unknown.join(', '), []);
  return { ...noticed(state, said, 'plain'), to: names.join(',') };
}

function toChannel(state: ChatState, argument: string): Step {
  const name = argument.replace(/^#/, '');
  const exact = state.channels.filter((one) => one.name === name || one.id === name);
  const begun = state.channels.filter(
    (one) => one.name.startsWith(name) || one.id.startsWith(name),
  );
  const [only, ...others] = exact.length > 0 ? exact : name === '' ? [] : begun;
  if (only === undefined) {
    const names = state.channels.map((one) => one.name).join(', ');
    return wrong(state, `no channel "${name}" here; there are ${names}`);
  }
  if (others.length > 0) return wrong(state, `several channels are called "${name}"; give an id`);
  return switchedTo(state, only.id);
}

function showThread(state: ChatState, argument: string): Step {
  const message = argument === '' ? state.selected : argument;
  return message === undefined
    ? wrong(state, 'which thread? select one with Alt-Up, or name a message: /thread 1f2e3d4c')
    : step(state, { do: 'thread', message });
}

function readWhole(state: ChatState, argument: string): Step {
  const message = argument === '' ? toRead(state) : argument;
  return message === undefined
    ? wrong(state, 'which message? name one: /read 1f2e3d4c')
    : step(state, { do: 'read', message });
}

function copied(state: ChatState, argument: string): Step {
  const message = argument === '' ? toCopy(state) : argument;
  return message === undefined
    ? wrong(state, 'no answer here to copy; name a message: /copy 1f2e3d4c')
    : step(state, { do: 'copy', message });
}

/** A message that is named by the first word of a reply. */
const NAMED = /^((?:[^\s/]+\/)?\d{4}\/\d{2}\/\d{2}\/\S+|[0-9a-f]{8,64})(?:\s+|$)/;

/** Replies to the message that is named first, else to the newest of somebody else. */
function replied(state: ChatState, argument: string): Step {
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
function saidNow(state: ChatState, argument: string): Step {
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
function isUnderWay(state: ChatState, { channel, from, relPath }: Entry): boolean {
  const isCancelled = roomOf(state, channel).entries.some(
    ({ cancels, from: who }) => cancels === relPath && who === from,
  );
  const states = state.standings[relPath] ?? [];
  return (
    from === state.me &&
    !isCancelled &&
    (state.queued[relPath] === true || states.some((one) => canDo(one, 'cancel')))
  );
}

/** Whether a host serves one of those to whom a message went: `name@host` is known of each that one serves. */
function isServed({ addresses }: ChatState, { to }: Entry): boolean {
  const served = addresses.map(({ value }) => value).filter((value) => value.includes('@'));
  return to.some((one) => served.some((value) => value === one || value.startsWith(`${one}@`)));
}

/** Adds the typed text to the history, without repeating the last entry, and forgets the draft. */
function kept(before: ChatState, state: ChatState, ...effects: Effect[]): Step {
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

/** Refuses the typed text, which stays in the input. */
function wrong(state: ChatState, text: string): Step {
  return step(noticed(state, text, 'bad'));
}

/** Returns the newest message of a kind, in the selected thread or in the channel. */
function newestOf(state: ChatState, isMeant: (entry: Entry) => boolean): string | undefined {
  const newest = chosen(state, isMeant).at(-1);
  return newest && pathOf(newest);
}

/** Returns the messages of a kind in the selected thread or in the channel, oldest first. */
function chosen(state: ChatState, isMeant: (entry: Entry) => boolean): Entry[] {
  const { entries } = roomOf(state, state.current);
  const selected = threadsOf(entries).find(({ root }) => root.relPath === state.selected);
  const all =
    selected === undefined
      ? entries
      : [selected.root, ...selected.others.map(({ entry }) => entry)];
  return all.filter(isMeant);
}

/**
 * Returns the message that a command without an argument reads: the newest of the selected thread or of the channel.
 */
function toRead(state: ChatState): string | undefined {
  return newestOf(state, () => true);
}

/** Returns the message that is copied: the newest of the selected thread, else the last answer of somebody else. */
function toCopy(state: ChatState): string | undefined {
  if (state.selected !== undefined) return toRead(state);
  const isAnswer = ({ from, re, notYet }: Entry): boolean =>
    from !== state.me && re.length > 0 && notYet === undefined;
  return newestOf(state, isAnswer);
}

/** Returns the unique name of a message. */
function pathOf({ channel, relPath }: Entry): string {
  return `${channel}/${relPath}`;
}
