import { commandLine, type Word } from './command-line.ts';

/** How an agent CLI is told to plan and to change nothing. */
interface PlanningMode {
  /** Options that are left out with their value: what they allow is not for a plan. */
  valued: RegExp;
  /** Options that are left out with all words after them, up to the next option. */
  lists?: RegExp;
  /** Options that are left out, without a value. */
  flags: RegExp;
  /** Values, after `valued` options that hold any setting, of which only some are left out. */
  settings?: { option: RegExp; value: RegExp };
  /** Variables that are set for it. */
  sets?: string;
  adds: string;
}

const NONE = /(?!)/;

/**
 * Seen to work by running each (test/agents/FACTS.md, "Planning"), also where the operator's own settings
 * allow everything. gemini is none of them: what its settings allow is done in its plan mode too.
 */
const MODES: Readonly<Record<string, PlanningMode>> = {
  // What settings allow is allowed in its plan mode too, unless it is denied.
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
  // Its agent for plans edits nothing, and runs shell commands all the same.
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

/** The agent CLIs of which a planning mode is known. */
export const PLANNING_AGENTS: readonly string[] = Object.keys(MODES);

/**
 * The command line with which a known agent CLI plans and changes nothing: what the given one allows is left
 * out, and its planning mode is chosen. Only a plain call is changed, whose words are known without a shell.
 *
 * @param command as the operator approved it
 * @returns undefined where no such line is known
 */
export function planningCommand(command: string): string | undefined {
  const { whole, start } = commandLine(command);
  if (!whole || start?.program.value === undefined || command.trimEnd().endsWith('\\'))
    return undefined;
  const mode = Object.hasOwn(MODES, start.name) ? MODES[start.name] : undefined;
  // A word that is not known may be any option, and after -- there is none.
  const isUnsure = start.args.some(({ text }) => text === '--');
  if (mode === undefined || isUnsure) return undefined;
  const kept = keptOf(mode, start.args);
  if (kept === undefined) return undefined;
  // After a program that starts it, a variable would not reach it.
  if (mode.sets !== undefined && start.starters.length > 0) return undefined;
  const before = [...start.assignments, ...start.starters].map(({ raw }) => raw);
  const program = [...(mode.sets === undefined ? [] : [mode.sets]), start.program.raw];
  return [...before, ...program, ...kept.map(({ raw }) => raw), mode.adds].join(' ');
}

/** @returns undefined where an option may hide in a word whose value only a shell knows */
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
