import { Command, Help } from 'commander';
import { packageVersion } from '../package.ts';
import type { CommandOptions } from './command/command.ts';
import { EXAMPLE, EXIT_CODES, SUMMARY } from './help/facts.ts';
import { inSections, isOfEveryDay, sectionOf } from './help/sections.ts';
import type { Io } from './command/io.ts';
import { GROUPS, optionsOf, type CommandSpec } from './command/spec.ts';
import { COMMANDS } from './commands.ts';

/** The command that the command line selects. */
export interface Chosen {
  spec: CommandSpec;
  args: (string | undefined)[];
  options: CommandOptions;
}

/**
 * Builds the parser from the command table; `choose` receives the selected command.
 *
 * @param first the first word of the command line: if it names a command, no other command is added
 * @param few whether only the commands of every day are shown
 */
export function buildProgram(
  io: Io,
  { first, few }: { first?: string | undefined; few: boolean },
  choose: (chosen: Chosen) => void,
): Command {
  const program = new Command('crosstalk')
    .description(SUMMARY)
    .version(packageVersion(), '-V, --version')
    .helpOption('-h, --help', 'show help')
    .addHelpCommand(helpCommand(`${sectionOf('demo')}:`))
    .addHelpText('after', `\n${facts()}`);
  const asked = COMMANDS.filter(({ name }) => name.split(' ')[0] === first);
  for (const spec of asked.length > 0 ? asked : inSections(COMMANDS)) {
    const names = spec.name.split(' ');
    const last = names.pop() ?? '';
    const parent = names.reduce(
      (group, name) => subcommand(group, name, isUnlisted(name, few)),
      program,
    );
    define(subcommand(parent, last, parent === program && isUnlisted(last, few)), spec, choose);
  }
  for (const [name, summary] of Object.entries(GROUPS)) {
    if (asked.length === 0 || name === first)
      subcommand(program, name, isUnlisted(name, few)).description(summary);
  }
  everyCommand(program, (command) => {
    // Otherwise it would inherit the heading that this one has in the whole program.
    if (command !== program && command.commands.length > 0)
      command.addHelpCommand(helpCommand('Commands:'));
    command.exitOverride().configureOutput({ writeOut: io.out, writeErr: () => undefined });
  });
  return program;
}

/** Whether the help leaves out the commands with a first word: all of them are hidden, or not of every day. */
function isUnlisted(word: string, few: boolean): boolean {
  if (few && !isOfEveryDay(word)) return true;
  return COMMANDS.filter(({ name }) => name.split(' ')[0] === word).every(({ hidden }) => hidden);
}

/** Whether a command line asks for the help of the whole program, and whether for all of it. */
export function wholeHelp(argv: readonly string[]): 'few' | 'all' | undefined {
  const isHelp = (word: string): boolean => ['help', '--help', '-h'].includes(word);
  const rest = argv.filter((word) => !isHelp(word));
  if (argv.length > 0 && rest.length === argv.length) return undefined;
  if (rest.length === 0) return 'few';
  return rest.every((word) => word === '--all') ? 'all' : undefined;
}

/**
 * Rewrites `help worktree remove` as `worktree remove --help`: the parser's own help command looks at one word only,
 * and cannot report that there is no such command.
 */
export function helpAsked(argv: readonly string[]): readonly string[] {
  const [help, ...given] = argv;
  const words = given.filter((word) => !word.startsWith('-'));
  const [first = ''] = words;
  if (help !== 'help' || first === '' || first === 'help') return argv;
  const names = COMMANDS.map(({ name }) => name);
  if (names.includes(words.join(' '))) return [...words, '--help'];
  if (names.includes(first) || (words.length === 1 && Object.hasOwn(GROUPS, first)))
    return [first, '--help'];
  return words;
}

function helpCommand(heading: string): Command {
  return new Command('help')
    .argument('[command]')
    .description('show help for a command')
    .helpGroup(heading);
}

/** Returns the text below the commands in the help of the whole program. */
function facts(): string {
  const codes = EXIT_CODES.map(([code, meaning]) => `${code} ${meaning}`).join(', ');
  return `Example:\n  ${EXAMPLE}\n\nExit: ${codes}\nMore: crosstalk help --all, crosstalk <command> --help, man crosstalk`;
}

function subcommand(parent: Command, name: string, hidden = false): Command {
  const known = parent.commands.find((command) => command.name() === name);
  if (known !== undefined) return known;
  const made = parent.command(name, { hidden });
  return parent.parent === null && !hidden ? made.helpGroup(`${sectionOf(name)}:`) : made;
}

function define(command: Command, spec: CommandSpec, choose: (chosen: Chosen) => void): void {
  command.description(spec.summary).configureHelp({
    // The commonest line comes first, and is never wrapped.
    commandUsage: (one) =>
      `${new Help().commandUsage(one)}${one === command ? `\n\nExample:\n  ${spec.example}` : ''}`,
  });
  if (spec.details !== undefined) command.addHelpText('after', `\n${spec.details}`);
  if (spec.args !== undefined) command.arguments(spec.args);
  for (const [flags, description, repeatable] of optionsOf(spec)) {
    if (repeatable === undefined) command.option(flags, description);
    else command.option(flags, description, collect);
  }
  command.allowExcessArguments(false);
  command.action((...received: unknown[]) => {
    const args = received.slice(0, -2).flat() as (string | undefined)[];
    const options = command.optsWithGlobals();
    choose({
      spec,
      args,
      options: options['jsonl'] === true ? { ...options, json: true } : options,
    });
  });
}

function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}

function everyCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) everyCommand(child, visit);
}
