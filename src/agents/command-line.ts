import { trailingStart } from '../protocol/text/trailing.ts';

/**
 * What a command line of a host file, or of an operator, is made of. Nothing else takes command lines
 * apart: what anybody has to know of one is a function over {@link commandLine}. It reads what `/bin/sh`
 * would read, as far as the text tells, and evaluates nothing.
 */
export interface CommandLine {
  /** The words of its first simple command. */
  words: readonly Word[];
  /**
   * Whether those are all of it. Where they are not (`;`, `|`, a redirection, a substitution, a comment,
   * another line, a quote that stays open), only a shell can tell what else is done.
   */
  whole: boolean;
  /** Words that come after the first simple command, as far as they can be told from the text. */
  rest: readonly Word[];
  /** What the first simple command starts; undefined when it cannot be told. */
  start: Start | undefined;
}

/** A word of a command line. */
export interface Word {
  /** As it was written, quotes and all. */
  raw: string;
  /** Without its quotes, with variables and patterns as they were written. */
  text: string;
  /** What a shell would hand over; undefined where that depends on a variable or on files. */
  value: string | undefined;
}

/** A program that a command line starts, and with what. */
export interface Start {
  /** `NAME=value` words that the shell itself takes, in order. */
  assignments: readonly Word[];
  /** `env` and `nice` with everything that they are given, in order. */
  starters: readonly Word[];
  program: Word;
  /** The program without its folder. */
  name: string;
  args: readonly Word[];
  /** The variables that are set for the program, by name; empty for one that is taken away. */
  variables: ReadonlyMap<string, string>;
  /** Whether nothing of the environment around it reaches the program. */
  bare: boolean;
}

const BLANK = /[ \t]/;
const MARGIN = /[ \t\n]/;
/** What makes a line more than one simple command, outside of quotes. */
const OPERATOR = /[|&;<>()`\r\n]/;

export function commandLine(line: string): CommandLine {
  const words: Word[] = [];
  const rest: Word[] = [];
  let into = words;
  let [raw, text, quote] = ['', '', ''];
  let varies = false;
  /** Whether the word holds a substitution, so that it is none that could be told. */
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
      // A number right before a redirection belongs to it.
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

/** What does nothing but start another program. */
interface Starter {
  /** Whether it is the shell itself, so that no program of that name is run. */
  ofShell: boolean;
  /** What sets a variable for the program. */
  sets: RegExp;
  /** Options that stand alone. */
  flags: RegExp;
  /** Options that the next word belongs to. */
  valued: RegExp;
  /** Options that take the whole environment away, and those that take away the variable they name. */
  clears: RegExp;
  unsets: RegExp;
}

const NONE = /(?!)/;
const NOTHING = { sets: NONE, flags: /^--$/, valued: NONE, clears: NONE, unsets: NONE };
const OF_SHELL: Starter = { ...NOTHING, ofShell: true };
/** The shell that reads the line, before any other starter. */
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

function startOf(words: readonly Word[]): Start | undefined {
  const variables = new Map<string, string>();
  const [assignments, starters]: [Word[], Word[]] = [[], []];
  let bare = false;
  let by = SHELL;
  /** Whether options of the starter may still follow, and which of them waits for its value. */
  let options = false;
  let waiting = false;
  for (const [at, word] of words.entries()) {
    const { raw, text } = word;
    // A shell knows an assignment by its name being written without quotes.
    const [name] = by.sets.exec(by.ofShell ? raw : text) ?? [];
    if (waiting) {
      waiting = false;
      if (by.unsets !== NONE) variables.set(text, '');
    } else if (at > 0 && text.startsWith('-')) {
      waiting = by.valued.test(text);
      const clears = by.clears.test(text);
      // What another option does, and whether it takes a value, is not for us to guess.
      if (!options || !(waiting || clears || by.flags.test(text))) return undefined;
      options = text !== '--';
      bare ||= clears;
      if (clears) variables.clear();
      const [, unset] = by.unsets.exec(text) ?? [];
      if (unset !== undefined) variables.set(unset, '');
    } else if (name !== undefined) {
      options = false;
      variables.set(name, text.slice(name.length + 1));
      if (by.ofShell) assignments.push(word);
    } else {
      const next = STARTERS.get(word.value ?? '');
      if (next === undefined || (next.ofShell && !by.ofShell)) {
        const args = words.slice(at + 1);
        const called = text.split('/').at(-1) ?? '';
        return { assignments, starters, program: word, name: called, args, variables, bare };
      }
      by = next;
      options = true;
    }
    if (!by.ofShell) starters.push(word);
  }
  return undefined;
}

/** The value that a line sets a variable to, empty where it takes it away; undefined: as it is around it. */
export function setBy({ variables, bare }: Start, variable: string): string | undefined {
  return variables.get(variable) ?? (bare ? '' : undefined);
}

/** What a shell does itself, beside what it has a program for as well. */
const SHELL_WORDS = new Set(
  '! . : [[ alias bg break case cd command continue do done elif else esac eval exec exit export fg fi for function getopts hash if jobs local read readonly return select set shift source then time times trap type ulimit umask unalias unset until wait while { }'.split(
    ' ',
  ),
);
/** A program as it can be looked for and shown. */
const PROGRAM = /^[\w./+][\w./+@:,= -]*$/;

/** Whether a program is something that the shell does itself. */
export function isOfShell({ value }: Word): boolean {
  return SHELL_WORDS.has(value ?? '');
}

/**
 * The program that a line starts, as it can be looked for on a PATH or by its path; undefined where only
 * a shell can tell, where it is none, and where the line brings a PATH of its own.
 *
 * @param home the folder that `~` and `$HOME` stand for, where it is known
 */
export function programToFind({ start }: CommandLine, home = ''): string | undefined {
  if (start === undefined || isOfShell(start.program)) return undefined;
  const { value, text } = start.program;
  const program = value ?? (home === '' ? text : inHome(text, home));
  const elsewhere = !program.includes('/') && setBy(start, 'PATH') !== undefined;
  return PROGRAM.test(program) && !elsewhere ? program : undefined;
}

/** A text with `~` at its beginning, and every `$HOME`, as a shell would expand them. */
export function inHome(text: string, home: string): string {
  return text.replace(/^~(?=\/|$)/, () => home).replace(/\$HOME\b|\$\{HOME\}/g, () => home);
}

/** Whether a line says the name of a variable anywhere, whatever it does with it. */
export function namesVariable(line: string, variable: string): boolean {
  return line.split(/\W+/).includes(variable);
}
