import {
  ARGUMENTS,
  live,
  NOTHING,
  OPTION_VALUES,
  type CompletionPlan,
  type Source,
} from './values.ts';
import { GROUPS, optionsOf, type CommandSpec, type OptionSpec } from '../command/spec.ts';

/** Commands whose `<name>` is that of an actor. */
const NAMING_ACTORS = new Set(
  ['show', 'add', 'edit', 'set', 'remove', 'export'].map((verb) => `actor ${verb}`),
);

/**
 * Determines the candidates for the last word of a command line. A pure function: live values are named, not looked
 * up.
 *
 * @param commands the command table
 * @param words the words after `crosstalk`; the last one is being typed and may be empty
 */
export function plan(commands: readonly CommandSpec[], words: readonly string[]): CompletionPlan {
  const shown = commands.filter(({ hidden }) => hidden !== true);
  const [first, second] = words;
  const last = words.at(-1) ?? '';
  if (first === undefined || words.length === 1) return whole(firstWords(shown), last);
  if (first === 'help') return whole(words.length === 2 ? firstWords(shown) : NOTHING, last);
  const inner = shown.filter(({ name }) => name.startsWith(`${first} `));
  const sub =
    words.length > 2 ? inner.find(({ name }) => name === `${first} ${second ?? ''}`) : undefined;
  // A subcommand that is not listed is still completed for a user who knows it.
  const spec = sub ?? commands.find(({ name }) => name === first);
  if (sub === undefined && inner.length > 0 && words.length === 2 && !last.startsWith('-')) {
    return whole(
      listed(inner.map(({ name, summary }) => [name.slice(first.length + 1), summary])),
      last,
    );
  }
  return spec === undefined
    ? whole(NOTHING, last)
    : inCommand(spec, words.slice(sub === undefined ? 1 : 2, -1), last);
}

function firstWords(commands: readonly CommandSpec[]): Source {
  const found = new Map<string, string>();
  for (const { name, summary } of commands) {
    const [first = ''] = name.split(' ');
    if (!found.has(first)) found.set(first, GROUPS[first] ?? summary);
  }
  return listed([...found, ['--help', 'show help'], ['--version', 'print the version']]);
}

function listed(rows: readonly (readonly [value: string, description: string])[]): Source {
  return {
    kind: 'fixed',
    candidates: rows.map(([value, text]) => ({ value, description: text })),
  };
}

function whole(source: Source, last: string): CompletionPlan {
  return { source, before: '', typed: last, taken: [] };
}

/** Plans the last word among the options and arguments of a command. */
function inCommand(spec: CommandSpec, words: readonly string[], last: string): CompletionPlan {
  const options = optionsOf(spec);
  const { pending, given, args, literal, transport } = walk(options, words);
  const there = transport === undefined ? {} : { transport };
  if (pending !== undefined) return { ...valueOf(spec, pending, '', last), ...there };
  const equals = last.indexOf('=');
  if (!literal && last.startsWith('--') && equals > 0) {
    const option = find(options, last.slice(0, equals));
    if (option === undefined || !takesValue(option)) return whole(NOTHING, last);
    return {
      ...valueOf(spec, option, last.slice(0, equals + 1), last.slice(equals + 1)),
      ...there,
    };
  }
  const source = last.startsWith('-') && !literal ? NOTHING : argument(spec, args.length);
  const left = options.filter((option) => option[2] !== undefined || !given.has(option));
  const flags = listed([
    ...left.map(([flags, text]) => [nameOf(flags), text] as const),
    ['--help', 'show help'],
  ]);
  const empty = source.kind === 'fixed' && source.candidates.length === 0;
  const offersOptions = !literal && empty && (last === '' || last.startsWith('-'));
  return { ...whole(offersOptions ? flags : source, last), taken: args, ...there };
}

interface Walked {
  /** The option whose value is the next word. */
  pending?: OptionSpec;
  given: Set<OptionSpec>;
  args: string[];
  /** Set after `--`, where no word is an option. */
  literal: boolean;
  transport?: string;
}

function walk(options: readonly OptionSpec[], words: readonly string[]): Walked {
  const walked: Walked = { given: new Set(), args: [], literal: false };
  for (const word of words) {
    const { pending } = walked;
    const [name = '', ...value] = word.split('=');
    if (pending !== undefined) {
      if (nameOf(pending[0]) === '--transport') walked.transport = word;
      delete walked.pending;
    } else if (walked.literal || !word.startsWith('-') || word === '-') walked.args.push(word);
    else if (word === '--') walked.literal = true;
    else {
      const option = find(options, name);
      if (option === undefined) continue;
      walked.given.add(option);
      if (value.length === 0 && takesValue(option)) walked.pending = option;
      else if (name === '--transport') walked.transport = value.join('=');
    }
  }
  return walked;
}

function valueOf(
  spec: CommandSpec,
  [flags]: OptionSpec,
  before: string,
  text: string,
): CompletionPlan {
  const name = nameOf(flags);
  // Before a transport exists, names are chosen freely, so none are offered.
  const known = OPTION_VALUES[`${spec.name} ${name}`] ?? OPTION_VALUES[name] ?? NOTHING;
  const source = spec.standalone === true && known.kind === 'live' ? NOTHING : known;
  const list = /<(?:names|messages)>/.test(flags);
  const comma = list ? text.lastIndexOf(',') + 1 : 0;
  return {
    source: name === '--to' && list ? live('addresses', ['all', 'everybody']) : source,
    before: before + text.slice(0, comma),
    typed: text.slice(comma),
    taken: text.slice(0, comma).split(',').filter(Boolean),
  };
}

/** Returns the kind of value of the argument at an index; the last one may be repeated. */
function argument(spec: CommandSpec, index: number): Source {
  const names = (spec.args ?? '').split(' ').filter(Boolean);
  const at = names[index] ?? (names.at(-1)?.includes('...') === true ? names.at(-1) : undefined);
  const name = at?.replace(/[^a-z]/g, '') ?? '';
  if (name === 'actor' && spec.name === 'ask') return live('addresses');
  if (name === 'name' && NAMING_ACTORS.has(spec.name)) return live('actors');
  return ARGUMENTS[name] ?? NOTHING;
}

function find(options: readonly OptionSpec[], word: string): OptionSpec | undefined {
  return options.find(([flags]) => flags.split(/[ ,]+/).includes(word));
}

function takesValue([flags]: OptionSpec): boolean {
  return flags.includes('<');
}

/** Returns the long name: `--follow` for `-f, --follow`. */
function nameOf(flags: string): string {
  return /--[a-z-]+/.exec(flags)?.[0] ?? flags;
}
