/** A word of a command line. */
export interface Word {
  /** As it was written, quotes and all. */
  raw: string;
  /** What a shell would hand over; undefined where that depends on a variable. */
  value: string | undefined;
}

const BLANK = /[ \t]/;
/** What makes a line more than one simple command, outside of quotes. */
const OPERATOR = /[|&;<>()`\r\n]/;

/**
 * The words of a shell command line; undefined when it is more than one simple command, or when
 * only a shell can tell where its words end.
 */
export function wordsOf(line: string): Word[] | undefined {
  const { words, whole } = scan(line);
  return whole ? words : undefined;
}

/**
 * The words up to where the first simple command of a line ends.
 *
 * @returns `whole` says whether that is all of the line
 */
export function scan(line: string): { words: Word[]; whole: boolean } {
  const words: Word[] = [];
  let raw = '';
  let value = '';
  let varies = false;
  let quote = '';
  const end = (): void => {
    if (raw !== '') words.push({ raw, value: varies ? undefined : value });
    [raw, value, varies] = ['', '', false];
  };
  for (let at = 0; at < line.length; at++) {
    const letter = line.charAt(at);
    const next = line.charAt(at + 1);
    if (quote === '' && BLANK.test(letter)) {
      end();
      continue;
    }
    if (quote === '' && (OPERATOR.test(letter) || (letter === '#' && raw === ''))) {
      end();
      return { words, whole: false };
    }
    if (quote === '"' && (letter === '`' || (letter === '$' && next === '(')))
      return { words, whole: false };
    raw += letter;
    if (letter === quote) quote = '';
    else if (quote === '' && (letter === '"' || letter === "'")) quote = letter;
    else if (letter === '\\' && (quote === '' || (quote === '"' && /["$`\\]/.test(next)))) {
      raw += next;
      value += next;
      at++;
    } else {
      varies ||= quote !== "'" && (letter === '$' || (quote === '' && /[*?[~{]/.test(letter)));
      value += letter;
    }
  }
  if (quote !== '') return { words, whole: false };
  end();
  return { words, whole: true };
}
