import { commandLine, type Word } from './command-line.ts';

/** Changes of a command line that make an agent CLI plan and change nothing. */
interface PlanningMode {
  /** Options that are removed with their value: a plan may not have the permissions they give. */
  valued: RegExp;
  /** Options that are removed with all words after them, up to the next option. */
  lists?: RegExp;
  /** Options without a value that are removed. */
  flags: RegExp;
  /** Values, after `valued` options that hold any setting, of which only some are removed. */
  settings?: { option: RegExp; value: RegExp };
  /** Assignments of variables before the command. */
  sets?: string;
  adds: string;
}

const NONE = /(?!)/;

/**
 * Planning modes that were verified by running each CLI (test/agents/FACTS.md, "Planning"), also with settings of the
 * operator that allow everything. gemini is missing: whatever its settings allow is allowed in its plan mode too.
 */
const MODES: Readonly<Record<string, PlanningMode>> = {
  // Its settings' permissions hold in its plan mode too, unless they are denied.
  claude: {
    valued: /^--permission-(?:mode|prompt-tool)(?:=|$)/,
    lists: /^--(?:allowed-?[tT]ools|mcp-config)(?:=|$)/,
    flags: /^--(?:allow-)?dangerously-skip-permissions$/,
    adds: '--permission-mode plan --strict-mcp-config --disallowedTools "Bash,Edit,Write,NotebookEdit"',
  },
  codex: {
    valued: /^(?:--sandbox|--add-dir|--ask-for-approval)(?:=|$)|^-[sa]/,
    flags: /^--(?:full-auto|yolo|dangerously-bypass-.+)$/,
    settings: { option: /^(?:-c|--config)$/, value: /^"?(?:sandbox|approval)/ },
    adds: '--sandbox read-only',
  },
  // Its planning agent edits nothing, but runs shell commands.
  opencode: {
    valued: /^--agent(?:=|$)/,
    flags: NONE,
    sets: `OPENCODE_PERMISSION='{"edit":"deny","bash":"deny","task":"deny"}'`,
    adds: '--agent plan',
  },
  pi: {
    valued: /^--tools(?:=|$)|^-t$/,
    flags: /^(?:--no-tools|--no-builtin-tools|-nt)$/,
    adds: '--tools read,grep,find,ls',
  },
};

/** Names of the agent CLIs with a known planning mode. */
export const PLANNING_AGENTS: readonly string[] = Object.keys(MODES);

/**
 * Returns the command line with which a known agent CLI plans and changes nothing: permissions of the given one are
 * removed, and its planning mode is chosen. Only a plain call is changed, whose words are known without a shell.
 *
 * @param command as the operator approved it
 * @returns undefined if no such line is known
 */
export function planningCommand(command: string): string | undefined {
  const { whole, start } = commandLine(command);
  if (!whole || start?.program.value === undefined || command.trimEnd().endsWith('\\'))
    return undefined;
  const mode = Object.hasOwn(MODES, start.name) ? MODES[start.name] : undefined;
  // An unknown word may be any option, and after -- there is none.
  const isUnsure = start.args.some(({ text }) => text === '--');
  if (mode === undefined || isUnsure) return undefined;
  const kept = keptOf(mode, start.args);
  if (kept === undefined) return undefined;
  // It would not reach the CLI through another program that starts it.
  if (mode.sets !== undefined && start.starters.length > 0) return undefined;
  const before = [...start.assignments, ...start.starters].map(({ raw }) => raw);
  const program = [...(mode.sets === undefined ? [] : [mode.sets]), start.program.raw];
  return [...before, ...program, ...kept.map(({ raw }) => raw), mode.adds].join(' ');
}

/**
 * Returns the arguments that remain.
 *
 * @returns undefined if an option may hide in a word whose value only a shell knows
 */
function keptOf(
  { valued, lists = NONE, flags, settings }: PlanningMode,
  args: readonly Word[],
): Word[] | undefined {
  const kept: Word[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at];
    if (word === undefined) break;
    const { text } = word;
    const next = args[at + 1];
    if (flags.test(text)) continue;
    if (settings?.option.test(text) === true) {
      if (!settings.value.test(next?.text ?? '')) kept.push(word, ...(next ? [next] : []));
      at++;
    } else if (lists.test(text)) {
      while (at + 1 < args.length && !(args[at + 1]?.text ?? '').startsWith('-')) at++;
    } else if (valued.test(text)) {
      const isApart = !text.includes('=') && !/^-[a-z]./.test(text);
      if (isApart) at++;
    } else kept.push(word);
  }
  return kept.every(({ value }) => value !== undefined) ? kept : undefined;
}
