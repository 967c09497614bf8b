import { Command } from 'commander';
import { packageVersion } from '../package.ts';
import type { CommandOptions } from './command/command.ts';
import { EXAMPLE, EXIT_CODES, SUMMARY } from './help/facts.ts';
import { inSections, sectionOf } from './help/sections.ts';
import type { Io } from './command/io.ts';
import { GROUPS, optionsOf, type CommandSpec } from './command/spec.ts';
import { COMMANDS } from './tables/table.ts';

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
 */
export function buildProgram(
  io: Io,
  first: string | undefined,
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
    const parent = names.reduce((group, name) => subcommand(group, name), program);
    define(subcommand(parent, last, spec.hidden), spec, choose);
  }
  for (const [name, summary] of Object.entries(GROUPS)) {
    if (asked.length === 0 || name === first) subcommand(program, name).description(summary);
  }
  everyCommand(program, (command) => {
    // Otherwise it would inherit the heading that this one has in the whole program.
    if (command !== program && command.commands.length > 0)
      command.addHelpCommand(helpCommand('Commands:'));
    command.exitOverride().configureOutput({ writeOut: io.out, writeErr: () => undefined });
  });
  return program;
}

/**
 * `help worktree remove` as `worktree remove --help`: the parser's own help command looks at one word only,
 * and knows no way to say that there is no such command.
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

/** The text below the commands in the help of the whole program. */
function facts(): string {
  const codes = EXIT_CODES.map(([code, meaning]) => `${code} ${meaning}`).join(', ');
  return `Example:\n  ${EXAMPLE}\n\nExit: ${codes}\nMore: crosstalk <command> --help, man crosstalk`;
}

function subcommand(parent: Command, name: string, hidden = false): Command {
  const known = parent.commands.find((command) => command.name() === name);
  if (known !== undefined) return known;
  const made = parent.command(name, { hidden });
  return parent.parent === null && !hidden ? made.helpGroup(`${sectionOf(name)}:`) : made;
}

function define(command: Command, spec: CommandSpec, choose: (chosen: Chosen) => void): void {
  const details = spec.details === undefined ? '' : `\n${spec.details}\n`;
  command.description(spec.summary).addHelpText('after', `${details}\nExample:\n  ${spec.example}`);
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
