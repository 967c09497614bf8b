import { Command } from 'commander';
import { packageVersion } from '../package.ts';
import type { Options } from './command.ts';
import type { Io } from './io.ts';
import type { CommandSpec } from './spec.ts';
import { COMMANDS } from './table.ts';

/** What the command line asked for: a command to run. */
export interface Chosen {
  spec: CommandSpec;
  args: (string | undefined)[];
  options: Options;
}

const GROUPS: Record<string, string> = {
  actor: 'list, show and add actors',
  host: 'this machine’s host file',
  memory: 'shared notes: write, list, show, export and import them',
};

/**
 * Builds the parser from the command table; `choose` is told which command was asked for.
 *
 * @param first the first word of the command line: one that names a command needs no others
 */
export function buildProgram(
  io: Io,
  first: string | undefined,
  choose: (chosen: Chosen) => void,
): Command {
  const program = new Command('crosstalk')
    .description('A message bus for agent CLIs. Git is the bus.')
    .version(packageVersion(), '-V, --version')
    .helpOption('-h, --help', 'show help')
    .addHelpText(
      'after',
      '\nExample:\n  crosstalk init demo && cd demo && crosstalk send --to concierge "hello"',
    );
  const asked = COMMANDS.filter(({ name }) => name.split(' ')[0] === first);
  for (const spec of asked.length > 0 ? asked : COMMANDS) {
    const names = spec.name.split(' ');
    const last = names.pop() ?? '';
    const parent = names.reduce((group, name) => subcommand(group, name), program);
    define(subcommand(parent, last), spec, choose);
  }
  for (const [name, summary] of Object.entries(GROUPS)) {
    if (asked.length === 0 || name === first) subcommand(program, name).description(summary);
  }
  everyCommand(program, (command) => {
    command.exitOverride().configureOutput({ writeOut: io.out, writeErr: () => undefined });
  });
  return program;
}

function subcommand(parent: Command, name: string): Command {
  return parent.commands.find((command) => command.name() === name) ?? parent.command(name);
}

function define(command: Command, spec: CommandSpec, choose: (chosen: Chosen) => void): void {
  command.description(spec.summary).addHelpText('after', `\nExample:\n  ${spec.example}`);
  if (spec.args !== undefined) command.arguments(spec.args);
  for (const [flags, description, repeatable] of spec.options ?? []) {
    if (repeatable === undefined) command.option(flags, description);
    else command.option(flags, description, collect);
  }
  if (spec.standalone !== true)
    command.option(
      '--transport <dir>',
      'the transport (default: CROSSTALK_TRANSPORT, else upward from here)',
    );
  command.allowExcessArguments(false);
  // A session on the terminal has no result of its own.
  if (spec.interrupt !== 'child') command.option('--json', 'print the result as JSON');
  command.action((...received: unknown[]) => {
    const args = received.slice(0, -2).flat() as (string | undefined)[];
    choose({ spec, args, options: command.optsWithGlobals() });
  });
}

function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}

function everyCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) everyCommand(child, visit);
}
