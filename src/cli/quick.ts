import { fstatSync, writeSync } from 'node:fs';
import { askToSend, isHeard, listenerFor, type Begun } from '../operations/sending/ask-to-send.ts';
import { handedInput } from '../operations/sending/handed.ts';
import { newMarks } from '../operations/sending/marks.ts';
import { sentJson } from '../operations/shapes/as-json.ts';
import { timeAndChanceOf } from '../operations/time-and-chance.ts';
import { EXIT } from './command/exit.ts';
import { flag, text, type CommandOptions } from './command/command.ts';
import { loginName } from './command/login.ts';
import { sendInput } from './command/send-input.ts';
import { stdinHolds } from './command/stdin.ts';
import { sentLines } from './view/sent.ts';

/*
 * The short way of the command that is given most: a plain `send` that a dispatcher takes over
 * (docs/decisions/0058). It is a bundle of its own, without the parser of commands; whatever is unusual
 * in any respect is left to the whole program.
 */

/** Options with a value that such a `send` may have, and those without one. */
export const VALUES = ['to', 'channel', 'from', 'tier', 'for', 'transport'];
export const FLAGS = ['new', 'json'];
/** The variables of ours that it may find. */
const VARIABLES = ['CROSSTALK_FROM', 'CROSSTALK_TRANSPORT', 'CROSSTALK_STATE_DIR'];

/** A command line that was understood. */
export interface Plain {
  options: CommandOptions;
  body: string;
}

/**
 * Reads a command line as the whole program would, if nothing in it needs a second look.
 *
 * @param argv without the program
 */
export function readPlain(argv: readonly string[]): Plain | undefined {
  const options: CommandOptions = {};
  const texts: string[] = [];
  for (let at = 1; at < argv.length; at++) {
    const word = argv[at] ?? '';
    if (!word.startsWith('-')) {
      texts.push(word);
      continue;
    }
    const name = word.startsWith('--') ? word.slice(2) : '';
    if (Object.hasOwn(options, name)) return undefined;
    if (FLAGS.includes(name)) options[name] = true;
    else if (VALUES.includes(name)) options[name] = argv[++at] ?? '';
    else return undefined;
    if (options[name] === '' || String(options[name]).startsWith('-')) return undefined;
  }
  const [body = ''] = texts;
  const isPlain = texts.length === 1 && body !== '' && options['to'] !== undefined;
  return argv[0] === 'send' && isPlain ? { options, body } : undefined;
}

/**
 * Sends a message by a dispatcher of this machine, and ends this process then.
 *
 * @returns what the whole program has to go on with; undefined where nothing was begun
 */
export async function quick(argv: readonly string[]): Promise<Begun | undefined> {
  const plain = isUsual() ? readPlain(argv) : undefined;
  if (plain === undefined) return undefined;
  const surroundings = { env: process.env, cwd: process.cwd() };
  const to = text(plain, 'to') ?? '';
  const input = sendInput(plain, { to, body: plain.body, login: loginName() });
  let begun: Begun | undefined;
  try {
    const listener = listenerFor(surroundings, text(plain, 'transport'));
    if (listener === undefined || !isHeard(listener)) return undefined;
    process.on('SIGINT', interrupted).on('SIGTERM', interrupted);
    const marks = newMarks(timeAndChanceOf({}));
    const request = { ...marks, input: handedInput(surroundings, input) };
    // From here on it has to be the same message, whatever happens.
    begun = { marks, answer: undefined };
    let held: Promise<string> | undefined;
    const answer = await askToSend(listener, request, () => {
      held = stdinHolds().catch(() => 'unknown');
    });
    begun = { marks, answer };
    const isBare = (await held) === 'nothing';
    // A write that waits for its reader lets no listener run: the system ends this process then.
    stopListening();
    if (isBare && isPrinted(begun, plain)) process.exit(EXIT.ok);
  } catch {
    // It is tried again by what says why it fails.
  }
  stopListening();
  return begun;
}

function stopListening(): void {
  process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
}

function interrupted(signal: NodeJS.Signals): void {
  process.exit(signal === 'SIGINT' ? EXIT.interrupted : 143);
}

/** Whether nothing around this process asks for more than sending. */
function isUsual(): boolean {
  const isOurs = (name: string): boolean => name.startsWith('CROSSTALK_');
  return Object.keys(process.env).every((name) => !isOurs(name) || VARIABLES.includes(name));
}

/** Prints what was sent, unless there is more to tell than that, or it cannot be written at once. */
function isPrinted({ answer }: Begun, plain: Plain): boolean {
  if (answer === undefined || answer === 'timeout') return false;
  const { sent, notes } = answer;
  if (sent?.delivered.published !== true || notes.length > 0) return false;
  const isJson = flag(plain, 'json');
  // What a terminal is shown is looked through before.
  if (isJson && fstatSync(1).isCharacterDevice()) return false;
  const body = isJson ? JSON.stringify(sentJson(sent), undefined, 2) : sentLines(sent);
  const bytes = Buffer.from(`${body}\n`);
  if (bytes.length > PIPE_BYTES) return false;
  // A disk that is nearly full takes a part, and says why it does not take the rest.
  for (let at = 0; at < bytes.length;) at += writeSync(1, bytes, at);
  return true;
}

/** A pipe takes so many bytes whole, or none of them. */
const PIPE_BYTES = 512;
