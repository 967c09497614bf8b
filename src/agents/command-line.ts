import { trailingStart } from '../protocol/text/quoted.ts';

/**
 * A parsed command line of a host file or of an operator. All code that needs to know something
 * about a command line gets it from {@link commandLine}. It reads the line as `/bin/sh` would, as
 * far as the text alone determines that, and evaluates nothing.
 */
export interface CommandLine {
  /** The words of its first simple command. */
  words: readonly Word[];
  /**
   * Whether these words are the complete line. If they are not (because of `;`, `|`, a redirection,
   * a substitution, a comment, another line, or a quote that is never closed), only a shell can
   * tell what else the line does.
   */
  whole: boolean;
  /** The words after the first simple command, as far as the text alone determines them. */
  rest: readonly Word[];
  /** The program that the first simple command starts; undefined when the text does not determine it. */
  start: Start | undefined;
}

/** A word of a command line. */
export interface Word {
  /** The word as it was written, including its quotes. */
  raw: string;
  /** The text without its quotes; variables and patterns are not expanded. */
  text: string;
  /** The value that a shell would pass on; undefined if it depends on a variable or on files. */
  value: string | undefined;
}

/** A program that a command line starts, and its arguments and variables. */
export interface Start {
  /** `NAME=value` words that the shell itself evaluates, in order. */
  assignments: readonly Word[];
  /** `env` and `nice` with all their arguments, in order. */
  starters: readonly Word[];
  program: Word;
  /** The program without its folder. */
  name: string;
  args: readonly Word[];
  /**
   * The variables that are set for the program, by name; an empty value means that the variable is
   * removed.
   */
  variables: ReadonlyMap<string, string>;
  /** Whether the program receives nothing of the environment around it. */
  bare: boolean;
}

const BLANK = /[ \t]/;
const MARGIN = /[ \t\n]/;
/** The characters, outside of quotes, that make a line more than one simple command. */
const OPERATOR = /[|&;<>()`\r\n]/;

/** Parses a command line, one character after the other: its words go `into` those of the first command, then into the rest. */
export function commandLine(line: string): CommandLine {
  const words: Word[] = [];
  const rest: Word[] = [];
  let into = words;
  let [raw, text, quote] = ['', '', ''];
  let varies = false;
  /** Whether the word contains a substitution, so that its value is unknown. */
  let cut = false;
  const end = (): void => {
    if (raw !== '' && !cut) into.push({ raw, text, value: varies ? undefined : text });
    [raw, text, varies, cut] = ['', '', false, false];
  };
  const last = trailingStart(line, MARGIN);
  for (let at = line.search(/[^ \t\n]|$/); at < last; at++) {
    const letter = line.charAt(at);
    const next = line.charAt(at + 1);
    if (quote !== "'" && letter === '\\' && next === '\n') at++;
    else if (quote === '' && BLANK.test(letter)) end();
    else if (quote === '' && (OPERATOR.test(letter) || (letter === '#' && raw === ''))) {
      // A number directly before a redirection belongs to it.
      cut ||= /[(`]/.test(letter) || (/[<>]/.test(letter) && /^\d+$/.test(raw));
      end();
      into = rest;
    } else if (quote === '"' && (letter === '`' || (letter === '$' && next === '('))) {
      cut = true;
      into = rest;
    } else if (letter === quote) {
      raw += letter;
      quote = '';
    } else if (quote === '' && (letter === '"' || letter === "'")) {
      raw += letter;
      quote = letter;
    } else if (letter === '\\' && (quote === '' || (quote === '"' && /["$`\\]/.test(next)))) {
      raw += letter + next;
      text += next;
      at++;
    } else {
      varies ||= quote !== "'" && (letter === '$' || (quote === '' && /[*?[~{]/.test(letter)));
      raw += letter;
      text += letter;
    }
  }
  const whole = into === words && quote === '';
  if (quote === '') end();
  return { words, whole, rest, start: startOf(words) };
}

/** A program, or a word of the shell, that only starts another program. */
interface Starter {
  /** Whether it is a word of the shell itself, so that no program of that name runs. */
  ofShell: boolean;
  /** The pattern of a word that sets a variable for the program. */
  sets: RegExp;
  /** Options without a value. */
  flags: RegExp;
  /** Options whose value is the next word. */
  valued: RegExp;
  /** Options that remove the whole environment, and options that remove the variable they name. */
  clears: RegExp;
  unsets: RegExp;
}

const NONE = /(?!)/;
const NOTHING = { sets: NONE, flags: /^--$/, valued: NONE, clears: NONE, unsets: NONE };
const OF_SHELL: Starter = { ...NOTHING, ofShell: true };
/** The shell itself, which reads the assignments before any other starter. */
const SHELL: Starter = { ...OF_SHELL, sets: /^[A-Za-z_][A-Za-z0-9_]*(?==)/ };
const STARTERS: ReadonlyMap<string, Starter> = new Map([
  ['exec', OF_SHELL],
  ['command', OF_SHELL],
  [
    'nice',
    { ...NOTHING, ofShell: false, flags: /^(?:--|-n?-?\d+|--adjustment=.+)$/, valued: /^-n$/ },
  ],
  [
    'env',
    {
      ofShell: false,
      sets: /^[^=]+(?==)/,
      flags: /^(?:--|--unset=.+|-u.+)$/,
      valued: /^(?:-u|--unset)$/,
      clears: /^(?:-|-i|--ignore-environment)$/,
      unsets: /^(?:-u|--unset=)(.+)$/,
    },
  ],
]);

/**
 * Finds the program of a command, one word after the other. `starter` reads the next word, first the shell: as the value
 * of its last option, an option, an assignment, the name of the next starter, or else as the program.
 */
function startOf(words: readonly Word[]): Start | undefined {
  const variables = new Map<string, string>();
  const assignments: Word[] = [];
  const starters: Word[] = [];
  let bare = false;
  let starter = SHELL;
  /** Whether options of the starter may still follow. */
  let options = false;
  /** Whether the word before was an option whose value is this word. */
  let waiting = false;
  for (const [at, word] of words.entries()) {
    const { raw, text } = word;
    // A shell recognizes an assignment only when its name is written without quotes.
    const [name] = starter.sets.exec(starter.ofShell ? raw : text) ?? [];
    if (waiting) {
      waiting = false;
      if (starter.unsets !== NONE) variables.set(text, '');
    } else if (at > 0 && text.startsWith('-')) {
      waiting = starter.valued.test(text);
      const clears = starter.clears.test(text);
      // An unknown option may do anything, and may or may not take a value, so the result is
      // unknown.
      if (!options || !(waiting || clears || starter.flags.test(text))) return undefined;
      options = text !== '--';
      bare ||= clears;
      if (clears) variables.clear();
      const [, unset] = starter.unsets.exec(text) ?? [];
      if (unset !== undefined) variables.set(unset, '');
    } else if (name !== undefined) {
      options = false;
      variables.set(name, text.slice(name.length + 1));
      if (starter.ofShell) assignments.push(word);
    } else {
      const next = STARTERS.get(word.value ?? '');
      if (next === undefined || (next.ofShell && !starter.ofShell)) {
        const args = words.slice(at + 1);
        const called = text.split('/').at(-1) ?? '';
        return { assignments, starters, program: word, name: called, args, variables, bare };
      }
      starter = next;
      options = true;
    }
    if (!starter.ofShell) starters.push(word);
  }
  return undefined;
}

/**
 * Returns the value to which a line sets a variable: empty when the line removes it, undefined when it keeps
 * the value of the environment.
 */
export function setBy({ variables, bare }: Start, variable: string): string | undefined {
  return variables.get(variable) ?? (bare ? '' : undefined);
}

/** Words that the shell executes itself, although a program of that name may exist too. */
const SHELL_WORDS = new Set(
  '! . : [[ alias bg break case cd command continue do done elif else esac eval exec exit export fg fi for function getopts hash if jobs local read readonly return select set shift source then time times trap type ulimit umask unalias unset until wait while { }'.split(
    ' ',
  ),
);
/** A program name that can be looked up and shown. */
const PROGRAM = /^[\w./+][\w./+@:,= -]*$/;

/** Whether the shell executes this word itself. */
export function isOfShell({ value }: Word): boolean {
  return SHELL_WORDS.has(value ?? '');
}

/**
 * Returns the program that a line starts, in a form that can be looked up on a PATH or by its path; undefined when only
 * a shell can tell which program it is, when the line starts no program, and when the line sets a PATH of its own.
 *
 * @param home the folder that `~` and `$HOME` stand for, if it is known
 */
export function programToFind({ start }: CommandLine, home = ''): string | undefined {
  if (start === undefined || isOfShell(start.program)) return undefined;
  const { value, text } = start.program;
  const program = value ?? (home === '' ? text : inHome(text, home));
  const elsewhere = !program.includes('/') && setBy(start, 'PATH') !== undefined;
  return PROGRAM.test(program) && !elsewhere ? program : undefined;
}

/** Expands `~` at the beginning of a text, and every `$HOME`, as a shell would. */
export function inHome(text: string, home: string): string {
  return text.replace(/^~(?=\/|$)/, () => home).replace(/\$HOME\b|\$\{HOME\}/g, () => home);
}

/** Whether a line contains the name of a variable anywhere, for any purpose. */
export function namesVariable(line: string, variable: string): boolean {
  return line.split(/\W+/).includes(variable);
}
