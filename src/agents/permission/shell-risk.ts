import { higher, type Mark, type Place, type Risk } from './mark.ts';
import { pathRisk } from './path-risk.ts';
import { programRisk, SHELLS, withoutStarters } from './programs.ts';
import { simpleCommands, type SimpleCommand } from './simple-commands.ts';

const NOTHING: Risk = { mark: 'reads', because: [] };

/** What is dangerous wherever it stands in a text, quoted or computed. */
const ANYWHERE: readonly (readonly [RegExp, string])[] = [
  [/\b(?:sudo|doas|pkexec)\b/, 'it asks for the rights of another user'],
  [
    /\brm\b[^\n;|&]{0,200}?\s-(?:-recursive|-force|[a-zA-Z]{0,20}[rRf])/,
    'it removes by force or whole folders',
  ],
  [
    /\bgit\b[^\n;|&]{0,200}?\bpush\b[^\n;|&]{0,200}?\s(?:-f\b|--force|--mirror|--delete|-d\b|\+)/,
    'it rewrites or removes what others have',
  ],
  [
    /\b(?:curl|wget)\b[^\n]{0,2000}\|\s{0,20}(?:[\w/]{0,40}\/)?(?:ba|z|da|k|fi)?sh\b/,
    'it runs what it fetches from the network',
  ],
  [
    /\b(?:ba|z|da|k)?sh\b[^\n]{0,200}(?:<\(|\$\(|`)\s{0,20}(?:curl|wget)\b/,
    'it runs what it fetches from the network',
  ],
  [
    /\bmkfs\b|\bdd\b[^\n]{0,200}\bof=|>\s{0,20}\/dev\/(?!null\b|stdout\b|stderr\b|tty\b)/,
    'it writes to a device',
  ],
  [/\/dev\/(?:tcp|udp)\//, 'it opens a connection to the network'],
  [/:\s{0,5}\(\)\s{0,5}\{/, 'it defines a function that starts itself'],
];

/**
 * How dangerous a text is that a shell is to run. Only what is understood to its last word and known to
 * read is said to read.
 */
export function shellRisk(text: string, place: Place): Risk {
  const { commands, isOpen } = simpleCommands(text);
  let risk: Risk = isOpen ? unknown('a part of it is computed when it runs') : NOTHING;
  for (const [pattern, reason] of ANYWHERE) if (pattern.test(text)) risk = dangerous(risk, reason);
  if (commands.length === 0) risk = higher(risk, unknown('it contains no command'));
  let moved = false;
  for (const command of commands) {
    risk = higher(risk, commandRisk(command, place));
    const name = command.words[0];
    moved ||= name === 'cd' || name === 'pushd';
  }
  // From there on a relative path is another one.
  return moved ? higher(risk, unknown('it changes the directory')) : risk;
}

function commandRisk({ words, writesTo, piped }: SimpleCommand, place: Place): Risk {
  let risk = NOTHING;
  for (const path of writesTo)
    if (!/^\/dev\/(?:null|stdout|stderr|tty)$/.test(path))
      risk = higher(risk, pathRisk(path, 'writes', place));
  const { started, by } = withoutStarters(words);
  for (const reason of by) risk = dangerous(risk, reason);
  const [program = '', ...args] = started;
  if (program === '') return words.length === 0 ? risk : higher(risk, unknown('it sets variables'));
  const name = program.split('/').at(-1) ?? '';
  if (piped && SHELLS.test(name))
    risk = dangerous(risk, 'it gives what another command prints to a shell or an interpreter');
  // A program in the working directory may be anything, whatever its name.
  const isOwn = program.includes('/') && !/^\/(?:usr\/)?s?bin\//.test(program);
  risk = higher(risk, isOwn ? unknown('it starts a program by its path') : programRisk(name, args));
  const kind = risk.mark === 'reads' ? 'reads' : 'writes';
  for (const arg of args) risk = higher(risk, argumentRisk(arg, kind, place));
  return risk;
}

/** An argument that looks like a path outside, or like one at which secrets are kept. */
function argumentRisk(arg: string, kind: 'reads' | 'writes', place: Place): Risk {
  const value = arg.startsWith('-') ? arg.slice(arg.indexOf('=') + 1) : arg;
  if (value.startsWith('-') || value.includes('://')) return NOTHING;
  const isPath = /^[~/]|\.\.|\//.test(value) || value.startsWith('.');
  if (!isPath || value === '/dev/null') return NOTHING;
  const found = pathRisk(value, kind, place);
  return found.mark === 'writes' ? NOTHING : found;
}

function unknown(reason: string): Risk {
  return { mark: 'unknown' satisfies Mark, because: [reason] };
}

function dangerous(risk: Risk, reason: string): Risk {
  return higher(risk, { mark: 'dangerous', because: [reason] });
}
