/** One simple command of a text for a shell. */
export interface SimpleCommand {
  /** Its words without quotes; those of redirections are not among them. */
  words: readonly string[];
  /** The files to which it writes its output. */
  writesTo: readonly string[];
  /** Whether it reads what the command before it prints. */
  piped: boolean;
}

/** What a text for a shell does, as far as the text alone says. */
export interface ShellText {
  commands: readonly SimpleCommand[];
  /** Whether a part is computed or hidden: a substitution, a variable, a function, an open quote. */
  isOpen: boolean;
}

const OPERATORS = new Set([';', '\n', '|', '&', '(', ')']);

/**
 * Takes a text for a shell apart into its simple commands. It is made for judging a text, not for running
 * it: what is not understood makes the text open. It reads each character once.
 */
export function simpleCommands(text: string): ShellText {
  const commands: SimpleCommand[] = [];
  let isOpen = false;
  let words: string[] = [];
  let writesTo: string[] = [];
  let piped = false;
  let [word, has] = ['', false];
  let redirects: 'to' | 'from' | undefined;
  const endWord = (): void => {
    if (has && redirects === 'to') writesTo.push(word);
    else if (has && redirects === undefined) words.push(word);
    if (has) redirects = undefined;
    [word, has] = ['', false];
  };
  const endCommand = (next: 'piped' | 'apart'): void => {
    endWord();
    if (redirects !== undefined) isOpen = true;
    redirects = undefined;
    if (words.length > 0 || writesTo.length > 0) commands.push({ words, writesTo, piped });
    [words, writesTo, piped] = [[], [], next === 'piped'];
  };
  for (let at = 0; at < text.length; at++) {
    const letter = text.charAt(at);
    const next = text.charAt(at + 1);
    if (letter === "'") {
      const end = text.indexOf("'", at + 1);
      if (end < 0) isOpen = true;
      word += text.slice(at + 1, end < 0 ? undefined : end);
      has = true;
      at = end < 0 ? text.length : end;
    } else if (letter === '"') {
      const quoted = doubleQuoted(text, at + 1);
      word += quoted.text;
      has = true;
      isOpen ||= quoted.isOpen;
      at = quoted.end;
    } else if (letter === '\\') {
      if (next !== '\n') {
        word += next;
        has = true;
      }
      at++;
    } else if (letter === '>' || letter === '<') {
      // A number directly before it belongs to it.
      if (/^\d+$/.test(word)) [word, has] = ['', false];
      endWord();
      if (redirects !== undefined) isOpen = true;
      const twice = next === letter || next === '|';
      if (letter === '<' && (next === '<' || next === '(')) isOpen = true;
      if (letter === '>' && next === '(') isOpen = true;
      redirects = letter === '>' ? 'to' : 'from';
      if (letter === '<' && next === '>') redirects = 'to';
      if (twice || next === '>') at++;
      if (text.charAt(at + 1) === '&') {
        // Another descriptor, or a file for both outputs.
        at++;
        if (/[\d-]/.test(text.charAt(at + 1))) {
          redirects = undefined;
          while (/[\d-]/.test(text.charAt(at + 1))) at++;
        }
      }
    } else if (OPERATORS.has(letter)) {
      if (letter === '(' || letter === ')') isOpen = true;
      if (letter === '&' && next === '>') continue;
      const isPipe = letter === '|' && next !== '|';
      endCommand(isPipe ? 'piped' : 'apart');
      if (next === letter && letter !== '\n') at++;
      else if (letter === '|' && next === '&') at++;
    } else if (letter === ' ' || letter === '\t') endWord();
    else if (letter === '#' && !has) {
      const end = text.indexOf('\n', at);
      at = end < 0 ? text.length : end - 1;
    } else {
      if (/[$`{}\r]/.test(letter)) isOpen = true;
      word += letter;
      has = true;
    }
  }
  endCommand('apart');
  return { commands, isOpen };
}

function doubleQuoted(text: string, from: number): { text: string; end: number; isOpen: boolean } {
  let [found, isOpen] = ['', false];
  for (let at = from; at < text.length; at++) {
    const letter = text.charAt(at);
    if (letter === '"') return { text: found, end: at, isOpen };
    if (letter === '\\' && /["$`\\]/.test(text.charAt(at + 1))) found += text.charAt(++at);
    else {
      if (letter === '$' || letter === '`') isOpen = true;
      found += letter;
    }
  }
  return { text: found, end: text.length, isOpen: true };
}
