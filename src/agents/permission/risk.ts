import { isAgentSetting } from '../settings.ts';

/** A tool that works on a path, which one of its arguments names. */
interface FileTool {
  kind: 'reads' | 'writes';
  /** The arguments that may name a path. */
  paths: readonly string[];
  /** Set if it works on the whole folder by default. */
  hasDefault?: true;
  others: readonly string[];
}

const GREP = [
  ...['pattern', 'output_mode', 'type', 'head_limit', 'offset', 'multiline'],
  ...['-A', '-B', '-C', '-i', '-n', '-o', 'context'],
];

/** Tools of agent CLIs that work on files, by name, with claude's arguments. */
const FILE_TOOLS: Readonly<Record<string, FileTool>> = {
  Read: { kind: 'reads', paths: ['file_path'], others: ['offset', 'limit', 'pages'] },
  Glob: { kind: 'reads', paths: ['path', 'pattern'], hasDefault: true, others: [] },
  Grep: { kind: 'reads', paths: ['path', 'glob'], hasDefault: true, others: GREP },
  LS: { kind: 'reads', paths: ['path'], hasDefault: true, others: ['ignore'] },
  NotebookRead: { kind: 'reads', paths: ['notebook_path'], others: ['cell_id'] },
  Write: { kind: 'writes', paths: ['file_path'], others: ['content'] },
  Edit: {
    kind: 'writes',
    paths: ['file_path'],
    others: ['old_string', 'new_string', 'replace_all'],
  },
  MultiEdit: { kind: 'writes', paths: ['file_path'], others: ['edits'] },
  NotebookEdit: {
    kind: 'writes',
    paths: ['notebook_path'],
    others: ['new_source', 'cell_id', 'cell_type', 'edit_mode'],
  },
};

/** Arguments, besides the command, of the tool that passes a text to a shell. */
const BESIDE_COMMAND = ['description', 'timeout', 'run_in_background', 'dangerouslyDisableSandbox'];

const FOREIGN = 'it is by another CLI than the one whose tools are known here';

/**
 * Estimates the risk of allowing a tool call (work.md, "A person in the loop"). It is based on the input alone: no file
 * is examined, so the target of a symlink is not known. It helps a person to read, and decides nothing.
 *
 * A tool or a command that is not known, or not understood, is `unknown`: it is never called read-only. The names of
 * tools are those of one CLI: a tool of this name in another CLI may be anything, such as a tool of some server.
 *
 * @param agent the CLI that asks
 * @param input the arguments of the tool, as the model gave them
 * @param place working directory and HOME of the run
 */
export function riskOf(
  agent: string | undefined,
  tool: string,
  input: Readonly<Record<string, unknown>>,
  place: Place,
): Risk {
  const risk = riskByName(tool, input, place);
  return agent === 'claude' ? risk : higher({ mark: 'unknown', because: [FOREIGN] }, risk);
}

function riskByName(tool: string, input: Readonly<Record<string, unknown>>, place: Place): Risk {
  if (tool === 'Bash') {
    const text = input['command'];
    if (typeof text !== 'string') return { mark: 'unknown', because: ['it names no command'] };
    const found = asFarAsKnown(shellRisk(text, place), input, ['command', ...BESIDE_COMMAND]);
    return input['dangerouslyDisableSandbox'] === true
      ? higher(found, { mark: 'dangerous', because: ['it leaves the sandbox of its CLI'] })
      : found;
  }
  const files = Object.hasOwn(FILE_TOOLS, tool) ? FILE_TOOLS[tool] : undefined;
  if (files !== undefined) return fileRisk(files, input, place);
  return { mark: 'unknown', because: ['it is not a tool that is known here'] };
}

function fileRisk(
  { kind, paths, hasDefault, others }: FileTool,
  input: Readonly<Record<string, unknown>>,
  place: Place,
): Risk {
  let risk: Risk = { mark: kind, because: [] };
  for (const name of paths) {
    const path = input[name];
    if (path === undefined && hasDefault === true) continue;
    if (typeof path !== 'string') return { mark: 'unknown', because: ['it names no path'] };
    risk = higher(risk, pathRisk(path, kind, place));
  }
  return asFarAsKnown(risk, input, [...paths, ...others]);
}

/** Raises the risk of a tool with unknown arguments, which may do more than is known. */
function asFarAsKnown(
  risk: Risk,
  input: Readonly<Record<string, unknown>>,
  known: readonly string[],
): Risk {
  const more = Object.keys(input).filter((name) => !known.includes(name));
  const because = `it is told more than is understood here: ${more.join(', ').slice(0, 100)}`;
  return more.length === 0 ? risk : higher(risk, { mark: 'unknown', because: [because] });
}

const FORCE = 'it removes by force or whole folders';
const FETCHED = 'it runs what it fetches from the network';
const LOSS = 'it may lose work that is in no commit, or commits';
const RIGHTS = 'it asks for the rights of another user';
const SETTINGS = 'it changes settings by which git runs commands, or rewrites history';

/**
 * Patterns that are dangerous anywhere in a text, quoted or computed. They help to see, and miss more than they find.
 */
const ANYWHERE: readonly (readonly [RegExp, string])[] = [
  [/\b(?:sudo|doas|pkexec)\b/, RIGHTS],
  [/\brm\b[^\n;|&]{0,200}?\s-(?:-recursive|-force|[a-zA-Z]{0,20}[rRf])/, FORCE],
  [
    /\bfind\b[^\n;|&]{0,200}?\s-(?:delete|exec|ok|fls|fprint)/,
    'it removes, writes or runs something for each file that it finds',
  ],
  [/\bgit\s{1,20}-/, 'it changes how git works for one call, which may run commands'],
  [/\bgit\s{1,20}(?:config|submodule|filter-branch)\b/, SETTINGS],
  [/\bgit\s{1,20}(?:rebase|reflog|gc|prune|update-ref|restore)\b/, LOSS],
  [
    /\bgit\s{1,20}(?:reset\s{1,20}--hard|clean\s{1,20}-|branch\s{1,20}-[Df]|checkout\s{1,20}(?:-|\.))/,
    LOSS,
  ],
  [
    /\bgit\b[^\n;|&]{0,200}?\bpush\b[^\n;|&]{0,200}?\s(?:-[fd]\b|--(?:force|mirror|delete|prune)|[+:])/,
    'it rewrites or removes what others have',
  ],
  [
    /\|\s{0,20}(?:[\w/]{0,40}\/)?(?:(?:ba|z|da|k|fi)?sh|python|node|perl|ruby|php)[\d.]{0,9}\b/,
    'it gives what another command prints to a shell or an interpreter',
  ],
  [/\b(?:ba|z|da|k)?sh\b[^\n]{0,200}(?:<\(|\$\(|`)\s{0,20}(?:curl|wget)\b/, FETCHED],
  [
    /\b(?:curl|wget)\b[^\n;|&]{0,200}?\s-(?:T|d|F|X|-(?:upload|data|form|post|body|request))/,
    'it sends something to the network',
  ],
  [/\b(?:npm|pnpm|yarn|cargo)\s{1,20}publish\b/, 'it publishes something'],
  [
    /\bmkfs\b|\bdd\b[^\n]{0,200}\bof=|>\s{0,20}\/dev\/(?!null\b|stdout\b|stderr\b|tty\b)/,
    'it writes to a device',
  ],
  [/\/dev\/(?:tcp|udp)\//, 'it opens a connection to the network'],
  [/:\s{0,5}\(\)\s{0,5}\{/, 'it defines a function that starts itself'],
  [
    /(?:^|[\s;|&(])(?:PATH|LD_\w{1,40}|DYLD_\w{1,40}|NODE_OPTIONS|GIT_\w{1,40}|BASH_ENV|ENV|IFS|PYTHON\w{0,40})=/,
    'it sets a variable by which programs load others',
  ],
];

/** First words of dangerous commands, and the reasons. */
const FIRST: readonly (readonly [RegExp, string])[] = [
  [/^(?:chmod|chown|chgrp|chattr|setfacl|setcap)$/, 'it changes who may use files'],
  [/^(?:kill|pkill|killall)$/, 'it ends processes'],
  [/^(?:shred|truncate|wipefs|fdisk|parted|mkswap)$/, 'it destroys what is stored'],
  [/^(?:mount|umount|iptables|nft|modprobe|sysctl|reboot|shutdown)$/, 'it changes the system'],
  [/^(?:systemctl|launchctl|service|crontab|at)$/, 'it starts or stops what stays after the run'],
  [/^(?:ssh|scp|sftp|rsync|ftp|nc|ncat|netcat|socat)$/, 'it talks to other machines'],
  [/^(?:docker|podman|kubectl|nsenter|chroot|unshare)$/, 'it starts or changes containers'],
  [/^(?:eval|source|\.|trap|alias)$/, 'it runs text as commands'],
  [/^(?:su|passwd|useradd|usermod|visudo)$/, RIGHTS],
];
const WRITERS = /^(?:cp|mv|ln|rm|tee|touch|mkdir|rmdir|install|patch|tar|unzip)$/;
/** Words before a command that only start it, and their arguments. */
const BEFORE = /^(?:\w{1,100}=.*|command|exec|nohup|time|nice|env|timeout|xargs|sudo|-.*|\d.*)$/;

/**
 * Estimates the risk of a text that a shell is to run. Only a whole line of known commands is called
 * read-only. Any other line is `unknown`, or dangerous where that is known.
 */
function shellRisk(text: string, place: Place): Risk {
  const operands = readingLine(text);
  if (operands !== undefined)
    return operands.map((operand) => pathRisk(operand, 'reads', place)).reduce(higher, READS);
  let risk: Risk = { mark: 'unknown', because: ['it is no line that is known to read only'] };
  const add = (reason: string): void => {
    risk = higher({ mark: 'dangerous', because: [reason] }, risk);
  };
  const plain = text.replaceAll(/['"\\]/g, '');
  for (const [pattern, reason] of ANYWHERE)
    if (pattern.test(text) || pattern.test(plain)) add(reason);
  for (const command of plain.split(/[;\n|&()`]/)) {
    const [words = '', ...targets] = command.split(/>{1,2}/);
    const all = words.split(/\s/).filter((word) => word !== '');
    const at = all.findIndex((word) => !BEFORE.test(word));
    const name = all[at] ?? '';
    for (const [names, reason] of FIRST) if (names.test(name)) add(reason);
    const written = targets.map((target) => target.trim().split(/\s/, 1)[0] ?? '');
    for (const word of all.slice(at + 1)) {
      const path = word.startsWith('-') ? word.slice(word.indexOf('=') + 1) : word;
      if (/^-|:\/\//.test(path)) continue;
      addPath(path, WRITERS.test(name) ? 'writes' : 'reads');
    }
    for (const path of written) if (!/^(?:\d?|\/dev\/\w{1,9})$/.test(path)) addPath(path, 'writes');
  }
  return risk;

  function addPath(path: string, kind: 'reads' | 'writes'): void {
    const found = pathRisk(path, kind, place);
    if (found.mark === 'dangerous') risk = higher(found, risk);
  }
}

const READS: Risk = { mark: 'reads', because: [] };

/** Commands that only read, by name, each with the options it may have, matched whole. Operands are plain words. */
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

/** A word that every shell takes literally: of plain letters, or quoted with nothing to evaluate in it. */
const WORD =
  /^(?:(?<bare>[\w./,:@+-]{1,1000})|'(?<single>[^'\\!\p{C}]{0,1000})'|"(?<double>[^"$`\\!\p{C}]{0,1000})")$/u;
/** Longest line that is examined, in characters. */
const MOST = 4000;

/**
 * Returns the operands of a line that only reads: every command is one of a few, with options that are known to only
 * read; undefined for all other lines. The form of the whole line decides: whatever has another meaning to some shell,
 * such as an expansion, a pattern, an assignment or a redirection, does not have that form.
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

/** Returns the words of a simple command without their quotes; undefined if one of them has another form. */
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

const SECRET_FILE =
  /(?:^|\/)(?:\.env(?:\.[\w-]{1,40})?|id_(?:rsa|ed25519|ecdsa)|[\w.-]{1,100}\.pem)$/;

/** Estimates the risk of reading or writing at a path, by its text. */
function pathRisk(path: string, kind: 'reads' | 'writes', place: Place): Risk {
  const { absolute, inside, parts } = insideOf(path, place);
  if (isSecret(absolute, inside))
    return { mark: 'dangerous', because: ['it names a place in which secrets are kept'] };
  if (kind === 'reads') return { mark: 'reads', because: [] };
  if (!inside)
    return { mark: 'dangerous', because: ['it names a path outside of the working directory'] };
  return parts.some((part) => isAgentSetting(part, ''))
    ? { mark: 'dangerous', because: ['it writes settings by which programs run commands'] }
    : { mark: 'writes', because: [] };
}

/**
 * Whether a path is one where secrets are usually stored. Programs store keys, logins and histories under
 * names that begin with a dot, in any home. In a working directory such names are common.
 */
function isSecret(absolute: string, inside: boolean): boolean {
  return (
    SECRET_FILE.test(absolute) ||
    /^\/etc\/(?:g?shadow|sudoers|ssh)\b/.test(absolute) ||
    (!inside && absolute.includes('/.'))
  );
}

/** Marks of the risk of a tool call, from the lowest to the highest. */
const MARKS = ['reads', 'writes', 'unknown', 'dangerous'] as const;
type Mark = (typeof MARKS)[number];

/** A mark, and the reasons why it is not lower, each in a few words. */
export interface Risk {
  mark: Mark;
  because: readonly string[];
}

/** Working directory of a run, and its HOME; both absolute. */
export interface Place {
  workdir: string;
  home: string;
}

/** Returns the higher of two marks, with the reasons of both. */
function higher(one: Risk, other: Risk): Risk {
  const mark = MARKS.indexOf(one.mark) >= MARKS.indexOf(other.mark) ? one.mark : other.mark;
  return { mark, because: [...new Set([...one.because, ...other.because])] };
}

/** A path resolved by its text: absolute, and whether it is in the working directory. */
interface Inside {
  absolute: string;
  inside: boolean;
  /** Its parts below the working directory. */
  parts: readonly string[];
}

/** Resolves a path as a tool would, by its text alone. */
function insideOf(path: string, { workdir, home }: Place): Inside {
  const given = path === '~' || path.startsWith('~/') ? `${home}${path.slice(1)}` : path;
  const whole = given.startsWith('/') ? given : `${workdir}/${given}`;
  const parts: string[] = [];
  for (const part of whole.split('/'))
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  const absolute = `/${parts.join('/')}`;
  const inside = absolute === workdir || absolute.startsWith(`${workdir}/`);
  return {
    absolute,
    inside,
    parts: inside ? absolute.slice(workdir.length).split('/').filter(Boolean) : [],
  };
}
