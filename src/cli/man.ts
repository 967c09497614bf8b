import {
  DISPATCH_ENVIRONMENT,
  ENVIRONMENT,
  EXAMPLE,
  EXIT_CODES,
  FILES,
  SUMMARY,
} from './help/facts.ts';
import { inSections, sectionOf } from './help/sections.ts';
import { optionsOf, type CommandSpec } from './command/spec.ts';
import { COMMANDS } from './commands.ts';

/**
 * Returns the manual page, generated from the command table and from the facts that `--help` shows as well.
 *
 * @param version of the package
 * @param date the date on the page
 * @returns a page of section 1 in the man macros of roff
 */
export function manualPage(version: string, date: Date): string {
  const day = date.toISOString().slice(0, 10);
  return `${[
    `.\\" Made by the build from the command table.`,
    `.TH CROSSTALK 1 "${day}" ${roffArgument(`crosstalk ${version}`)} "Crosstalk"`,
    '.SH NAME',
    'crosstalk \\- a message bus for agent CLIs; git is the bus',
    '.SH SYNOPSIS',
    `${bold('crosstalk')} ${italic('command')} [${italic('options')}] [${italic('arguments')}]`,
    '.SH DESCRIPTION',
    escaped(SUMMARY),
    'A transport is a git repository; a message is a file in it. A dispatcher on each machine wakes the',
    'actors it serves when there is mail for them, and records what they answer.',
    verbatim(EXAMPLE),
    '.PP',
    `Each command shows its own help with ${bold('--help')}.`,
    ...commands(),
    '.SH ENVIRONMENT',
    ...facts(ENVIRONMENT, bold),
    '.PP',
    'A dispatcher sets these for the agent CLIs it runs:',
    ...facts(DISPATCH_ENVIRONMENT, bold),
    '.SH FILES',
    ...facts(FILES, italic),
    '.SH EXIT STATUS',
    ...facts(EXIT_CODES, bold),
    '.SH SEE ALSO',
    '.BR git (1)',
  ].join('\n')}\n`;
}

function commands(): string[] {
  let section = '';
  return inSections(COMMANDS.filter(({ hidden }) => hidden !== true)).flatMap((spec) => {
    const title = sectionOf(spec.name);
    const begins = title !== section;
    section = title;
    return [
      ...(begins ? [`.SH ${roffArgument(`COMMANDS: ${title.toUpperCase()}`)}`] : []),
      ...command(spec),
    ];
  });
}

function command(spec: CommandSpec): string[] {
  const { name, args, summary, details, example } = spec;
  const synopsis = [bold(name), ...(args === undefined ? [] : [escaped(args)])].join(' ');
  return [
    `.SS ${synopsis}`,
    escaped(sentence(summary)),
    ...(details === undefined ? [] : [verbatim(details)]),
    ...optionsOf(spec).map(([flags, description]) => item(optionTerm(flags), escaped(description))),
    verbatim(example),
  ];
}

/** Formats `-f, --follow` and `--to <names>`: literal text in bold, placeholders in italics. */
function optionTerm(flags: string): string {
  return flags
    .split(/(<[^<>]+>)/)
    .filter((part) => part !== '')
    .map((part) => (part.startsWith('<') ? italic(part) : bold(part)))
    .join('');
}

function facts(
  rows: readonly (readonly [string, string])[],
  style: (text: string) => string,
): string[] {
  return rows.map(([name, meaning]) => item(style(name), escaped(meaning)));
}

function sentence(summary: string): string {
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
}

/**
 * Escapes a text so that roff shows it unchanged: no character is taken for a request or an escape.
 * Hyphens become minus signs, so that options can be searched for and copied.
 */
export function escaped(text: string): string {
  return (
    text
      .replaceAll('\\', '\\e')
      .replaceAll('-', '\\-')
      .replaceAll('’', '\\(cq')
      .replaceAll('…', '\\&...')
      .replaceAll("'", '\\(aq')
      .replaceAll('`', '\\(ga')
      .replaceAll('^', '\\(ha')
      .replaceAll('~', '\\(ti')
      // A line that begins with a dot would be read as a request.
      .replace(/^\./gm, '\\&.')
  );
}

/** Quotes an argument of a request, which may contain blanks. */
export function roffArgument(text: string): string {
  return `"${escaped(text).replaceAll('"', '\\(dq')}"`;
}

const bold = (text: string): string => `\\fB${escaped(text)}\\fR`;
const italic = (text: string): string => `\\fI${escaped(text)}\\fR`;

/** Returns a term and its meaning, as in a list of options. */
function item(term: string, meaning: string): string {
  return `.TP\n${term}\n${meaning}`;
}

/** Lines that are shown unchanged. */
function verbatim(text: string): string {
  return `.PP\n.nf\n.RS 4\n${text.split('\n').map(escaped).join('\n')}\n.RE\n.fi`;
}
