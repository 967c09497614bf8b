import { fstatSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import {
  askToSend,
  isHeard,
  listenerFor,
  type Answered,
  type Begun,
  handedInput,
} from '../operations/sending/handed.ts';
import { newMarks } from '../operations/sending/marks.ts';
import { sentJson } from '../operations/shapes/as-json.ts';
import { clockOf } from '../operations/clock.ts';
import { EXIT, loginName } from './command/io.ts';
import { flag, text, type CommandOptions } from './command/command.ts';
import { sendInput } from './command/send-input.ts';
import { stdinHolds } from './command/stdin.ts';
import { handedWord, sentLines } from './view/sent.ts';

/*
 * The short way of what is said most: a plain `send` that a dispatcher takes over, and the first step of a
 * plain `ask` (docs/decisions/0058). It is a bundle of its own, without the parser of commands; whatever is unusual
 * in any respect is left to the whole program.
 */

/** By command, the options with a value that it may have here, and those without one. */
export const UNDERSTOOD = {
  send: { values: ['to', 'channel', 'from', 'tier', 'for', 'transport'], flags: ['new', 'json'] },
  ask: { values: ['channel', 'from', 'tier', 'transport'], flags: ['json'] },
};
/** The variables of ours that it may find. */
const VARIABLES = ['CROSSTALK_FROM', 'CROSSTALK_TRANSPORT', 'CROSSTALK_STATE_DIR'];

/** A command line that was understood. */
interface Plain {
  name: keyof typeof UNDERSTOOD;
  options: CommandOptions;
  to: string;
  body: string;
}

/**
 * Reads a command line as the whole program would, if nothing in it needs a second look.
 *
 * @param argv without the program
 */
export function readPlain(argv: readonly string[]): Plain | undefined {
  const [name = '', ...words] = argv;
  if (!isUnderstood(name)) return undefined;
  const { values, flags } = UNDERSTOOD[name];
  const options: CommandOptions = {};
  const texts: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (!word.startsWith('-')) {
      texts.push(word);
      continue;
    }
    const option = word.startsWith('--') ? word.slice(2) : '';
    if (Object.hasOwn(options, option)) return undefined;
    if (flags.includes(option)) options[option] = true;
    else if (values.includes(option)) options[option] = words[++at] ?? '';
    else return undefined;
    if (options[option] === '' || String(options[option]).startsWith('-')) return undefined;
  }
  const to = name === 'ask' ? texts.shift() : text({ options }, 'to');
  const [body = '', ...more] = texts;
  if (to === undefined || to === '' || body === '' || more.length > 0) return undefined;
  return { name, options, to, body };
}

function isUnderstood(name: string): name is keyof typeof UNDERSTOOD {
  return Object.hasOwn(UNDERSTOOD, name);
}

/**
 * Has a dispatcher of this machine send a message, and ends this process then. A question is on its way when
 * this returns: what waits for the answer is loaded meanwhile.
 *
 * @returns what the whole program has to go on with; undefined where nothing was begun
 */
export async function quick(argv: readonly string[]): Promise<Begun | undefined> {
  const plain = isUsual() ? readPlain(argv) : undefined;
  const isTerminal = isatty(0) && isatty(2);
  // Whether a skill of that name is there is looked up first, for somebody who could have mistyped it.
  if (plain === undefined || (isTerminal && plain.body.startsWith('/'))) return undefined;
  const surroundings = { env: process.env, cwd: process.cwd() };
  const input = sendInput(plain, { ...plain, login: loginName(), isTerminal });
  let begun: Begun | undefined;
  try {
    const listener = listenerFor(surroundings, text(plain, 'transport'));
    if (listener === undefined || !isHeard(listener)) return undefined;
    const marks = newMarks(clockOf({}));
    const request = { ...marks, input: handedInput(surroundings, input) };
    // From here on it has to be the same message, whatever happens.
    const known = { marks, dispatcher: listener.state, letGo: stopListening };
    begun = { ...known, answer: undefined };
    startListening();
    // Not later: what is being written is with the dispatcher before this process knows.
    lastWord = handedWord(plain.name);
    if (plain.name === 'ask') {
      request.input.awaited = true;
      await new Promise<void>((onItsWay) => {
        const answer = askToSend(listener, request, onItsWay);
        begun = { ...known, answer };
        // Nobody may be there to be asked.
        void answer.then(() => {
          onItsWay();
        });
      });
    } else {
      let held: Promise<string> | undefined;
      begun.answer = await askToSend(listener, request, () => {
        held = stdinHolds().catch(() => 'unknown');
      });
      const isBare = (await held) === 'nothing';
      // A write that waits for its reader lets no listener run: the system ends this process then.
      stopListening();
      if (isBare && isPrinted(begun.answer, plain)) process.exit(EXIT.ok);
      startListening();
    }
  } catch {
    // It is tried again by what says why it fails.
  }
  // The whole program is loaded in this turn, and hears of an interrupt in the next one.
  return begun && { ...begun, ...(begun.answer !== undefined && { lastWord }) };
}

/** What is to be said if this process is interrupted. */
let lastWord = '';

function startListening(): void {
  process.on('SIGINT', interrupted).on('SIGTERM', interrupted);
}

function stopListening(): void {
  process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
}

function interrupted(signal: NodeJS.Signals): void {
  process.stderr.write(lastWord);
  process.exit(signal === 'SIGINT' ? EXIT.interrupted : 143);
}

/** Whether nothing around this process asks for more than sending. */
function isUsual(): boolean {
  const isOurs = (name: string): boolean => name.startsWith('CROSSTALK_');
  return Object.keys(process.env).every((name) => !isOurs(name) || VARIABLES.includes(name));
}

/** Prints what was sent, unless there is more to tell than that, or it cannot be written at once. */
function isPrinted(answer: Answered, plain: Plain): boolean {
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
