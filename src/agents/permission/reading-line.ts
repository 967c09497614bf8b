/** A command that only reads, by its name: which options it may be given, each whole. Operands are plain words. */
const COMMANDS: Readonly<Record<string, RegExp>> = {
  basename: /^-[as]$/,
  cat: /^-[AbeEnstTuv]{1,9}$/,
  cmp: /^-[bls]{1,3}$/,
  cut: /^-(?:s|[bcdf][\w,:.-]{0,20})$/,
  df: /^-[ahikPT]{1,6}$/,
  diff: /^-[abBiNqrsuwy]{1,9}$/,
  dirname: /^-z$/,
  du: /^-[achksx]{1,6}$/,
  echo: /^-[neE]{1,3}$/,
  find: /^-(?:name|iname|path|ipath|type|size|mtime|newer|empty|maxdepth|mindepth|print)$/,
  grep: /^-(?:[cEFHhilLnoqrRsvwx]{1,12}|[ABCm]\d{0,6}|e)$/,
  head: /^-(?:[nc]\d{0,9}|\d{1,9}|q|v)$/,
  ls: /^-[1aAdFghiklLnopqrRsStuUxX]{1,12}$/,
  md5sum: /^-b$/,
  pwd: /^-[LP]$/,
  sha256sum: /^-b$/,
  stat: /^-[Lx]$/,
  tail: /^-(?:[nc]\d{0,9}|\d{1,9}|q|v)$/,
  tr: /^-[cds]{1,3}$/,
  wc: /^-[clLmw]{1,5}$/,
};

/** A word that every shell takes as it stands: of plain letters, or quoted with nothing to evaluate in it. */
const WORD =
  /^(?:(?<bare>[\w./,:@+-]{1,1000})|'(?<single>[^'\\!\p{C}]{0,1000})'|"(?<double>[^"$`\\!\p{C}]{0,1000})")$/u;
/** So long are the lines that are looked at. */
const MOST = 4000;

/**
 * The operands of a line whose every command is one of a few that only read, with options of which that is known;
 * undefined for all other lines. It goes by the form of the whole line: whatever has another meaning to some shell,
 * such as an expansion, a pattern, an assignment or a redirection, is no part of that form.
 */
export function readingLine(line: string): string[] | undefined {
  if (line.length > MOST) return undefined;
  const operands: string[] = [];
  for (const command of line.split(/ (?:\||&&) /)) {
    const [name = '', ...args] = wordsOf(command) ?? [];
    const options = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (options === undefined) return undefined;
    for (const arg of args)
      if (!arg.startsWith('-')) operands.push(arg);
      else if (!options.test(arg) && arg !== '--') return undefined;
  }
  return operands;
}

/** The words of a simple command without their quotes; undefined if one of them is in no such form. */
function wordsOf(command: string): string[] | undefined {
  const words: string[] = [];
  for (const [part] of command.matchAll(/(?:'[^']*'|"[^"]*"|[^ '"])+|['"]/g)) {
    const { bare, single, double } = WORD.exec(part)?.groups ?? {};
    const word = bare ?? single ?? double;
    if (word === undefined) return undefined;
    words.push(word);
  }
  return words;
}
