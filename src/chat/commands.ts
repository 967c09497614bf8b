import { skillAskedFor } from '../protocol/text/skill-call.ts';

/** The commands that can be typed after a `/`. */
export const COMMANDS = [
  { name: 'help', usage: '/help', summary: 'keys and commands' },
  { name: 'to', usage: '/to <names>', summary: 'who is spoken to when nobody is named' },
  {
    name: 'reply',
    usage: '/reply [message] <text>',
    summary: 'answer the newest message, or this one',
  },
  {
    name: 'now',
    usage: '/now [message] [@name] <text>',
    summary: 'say more about what you asked, to an actor that keeps its process and works on it',
  },
  {
    name: 'cancel',
    usage: '/cancel [message]',
    summary: 'take back what you asked last and is still open, or this message',
  },
  {
    name: 'approve',
    usage: '/approve <message> [note]',
    summary: 'let an actor do what it proposes there',
  },
  {
    name: 'deny',
    usage: '/deny <message> [why]',
    summary: 'keep an actor from what it proposes there',
  },
  {
    name: 'attach',
    usage: '/attach <file>',
    summary: 'send a file with the next message; alone: what waits; /attach - drops it',
  },
  {
    name: 'copy',
    usage: '/copy [message]',
    summary: 'the newest of the thread selected, or the last answer, to the clipboard',
  },
  { name: 'inbox', usage: '/inbox', summary: 'what came for you' },
  { name: 'channel', usage: '/channel <name>', summary: 'go to another channel' },
  { name: 'fold', usage: '/fold', summary: 'fold all threads, or unfold them' },
  {
    name: 'thread',
    usage: '/thread [message]',
    summary: 'who asked whom: the thread selected, or of a message',
  },
  {
    name: 'read',
    usage: '/read [message]',
    summary: 'a whole message: the newest of the thread selected or of the channel, or this one',
  },
  { name: 'search', usage: '/search <words>', summary: 'find messages of this channel' },
  { name: 'memory', usage: '/memory [words]', summary: 'find shared notes, or the newest ones' },
  { name: 'actors', usage: '/actors', summary: 'who can be written to, and on which hosts' },
  { name: 'status', usage: '/status', summary: 'health, dispatcher, outbox, dead letters' },
  { name: 'retry', usage: '/retry <id|all>', summary: 'try a dead letter of this machine again' },
  { name: 'quit', usage: '/quit', summary: 'leave' },
] as const;

export type CommandName = (typeof COMMANDS)[number]['name'];

/** The request that a typed text expresses. */
export type Said =
  | { kind: 'nothing' }
  | { kind: 'message'; to: string; body: string }
  | { kind: 'command'; name: CommandName; argument: string }
  | { kind: 'wrong'; problem: string };

/**
 * Parses the typed text: `/command argument`, `@name text`, or a text to the default addressees. To send a text that
 * begins with `/`, one types `//`; `/name` of a skill whose name no command has is a text as well, since actors
 * understand it.
 *
 * @param known addresses that may follow an `@`
 * @param to default addressees
 * @param skills names of skills
 */
export function read(
  text: string,
  known: readonly string[],
  to: string,
  skills: readonly string[],
): Said {
  const trimmed = text.trim();
  if (trimmed === '') return { kind: 'nothing' };
  if (trimmed.startsWith('/') && !trimmed.startsWith('//') && !isForSkill(trimmed, skills))
    return command(trimmed);
  const plain = trimmed.startsWith('//') ? trimmed.slice(1) : trimmed;
  const named = addressed(plain);
  const unknown = named.names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    return {
      kind: 'wrong',
      problem: `nobody here is called ${unknown}; Tab completes names, /to ${unknown} speaks to it anyway`,
    };
  }
  const names = named.names.length > 0 ? named.names.join(',') : to;
  if (names === '')
    return { kind: 'wrong', problem: 'to whom? begin with @name, or set one with /to <name>' };
  const body = named.names.length > 0 ? named.rest : plain;
  return body === ''
    ? { kind: 'wrong', problem: 'the message is empty; write something after the name' }
    : { kind: 'message', to: names, body };
}

function isForSkill(text: string, skills: readonly string[]): boolean {
  const name = skillAskedFor(text);
  return (
    name !== undefined &&
    skills.includes(name) &&
    !COMMANDS.some((command) => command.name === name)
  );
}

function command(text: string): Said {
  const name = /^\/(\S*)/.exec(text)?.[1] ?? '';
  const argument = text.slice(1 + name.length).trimStart();
  const exact = COMMANDS.find((one) => one.name === name);
  const [only, ...others] = COMMANDS.filter((one) => name !== '' && one.name.startsWith(name));
  const chosen = exact ?? (others.length === 0 ? only : undefined);
  return chosen === undefined
    ? {
        kind: 'wrong',
        problem: `no command /${name}; see /help, or write // for a text that begins with /`,
      }
    : { kind: 'command', name: chosen.name, argument };
}

/** Returns the names at the beginning of a text, each preceded by an `@`. */
export function addressed(text: string): { names: string[]; rest: string } {
  const names: string[] = [];
  let rest = text;
  for (;;) {
    const found = /^@([A-Za-z0-9][A-Za-z0-9._@-]*?)[,:]?(?:\s+|$)/.exec(rest);
    if (found === null) return { names, rest };
    names.push(found[1] ?? '');
    rest = rest.slice(found[0].length);
  }
}

/** Returns the lines of `/help`. */
export function help(): string[] {
  const keys = [
    ['Enter', 'send; with nothing typed: fold or unfold the thread selected'],
    ['Alt-Enter, \\ Enter', 'a new line'],
    ['@name', 'at the beginning: to whom; Tab completes names'],
    ['Up, Down', 'what was sent before'],
    ['PgUp, PgDn', 'scroll; Esc goes back to the newest'],
    ['Alt-Up, Alt-Down', 'select a thread'],
    ['Ctrl-T', 'fold all threads, or unfold them'],
    ['Ctrl-N, Ctrl-P', 'the next channel, the one before'],
    ['Ctrl-L', 'draw everything anew'],
    ['Ctrl-C', 'clear what is typed, then leave'],
  ];
  const rows: string[][] = [...COMMANDS.map(({ usage, summary }) => [usage, summary]), [], ...keys];
  const width = Math.max(...rows.map(([what = '']) => what.length));
  return rows.map(([what = '', then = '']) => `${what.padEnd(width + 2)}${then}`.trimEnd());
}
