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
  adds: string;
}

const NONE = /(?!)/;

/** Seen to work by running each (test/agents/FACTS.md, "Planning"). */
const MODES: Readonly<Record<string, PlanningMode>> = {
  claude: {
    valued: /^--permission-mode(?:=|$)/,
    lists: /^--allowed-?[tT]ools(?:=|$)/,
    flags: /^--(?:allow-)?dangerously-skip-permissions$/,
    adds: '--permission-mode plan',
  },
  codex: {
    valued: /^(?:--sandbox|--add-dir|--ask-for-approval)(?:=|$)|^-[sa]/,
    flags: /^--(?:full-auto|yolo|dangerously-bypass-.+)$/,
    settings: { option: /^(?:-c|--config)$/, value: /^"?(?:sandbox|approval)/ },
    adds: '--sandbox read-only',
  },
  gemini: {
    valued: /^--approval-mode(?:=|$)/,
    lists: /^--allowed-tools(?:=|$)/,
    flags: /^(?:-y|--yolo)(?:=|$)/,
    adds: '--approval-mode plan',
  },
  opencode: { valued: /^--agent(?:=|$)/, flags: NONE, adds: '--agent plan' },
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
  const before = [...start.assignments, ...start.starters, start.program].map(({ raw }) => raw);
  return [...before, ...kept.map(({ raw }) => raw), mode.adds].join(' ');
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
    const { text, raw } = word;
    if (word.value === undefined && /^["']?\$/.test(raw) && !followsOption(args[at - 1]))
      return undefined;
    const next = args[at + 1]?.text ?? '';
    if (flags.test(text)) continue;
    if (settings?.option.test(text) === true) {
      if (!settings.value.test(next)) kept.push(word, ...args.slice(at + 1, at + 2));
      at++;
    } else if (lists.test(text)) {
      while (at + 1 < args.length && !(args[at + 1]?.text ?? '').startsWith('-')) at++;
    } else if (valued.test(text)) {
      const isApart = !text.includes('=') && !/^-[a-z]./.test(text);
      if (isApart) at++;
    } else if (word.value === undefined && text.startsWith('-')) return undefined;
    else kept.push(word);
  }
  return kept;
}

/** Whether a word is the value of the option before it. */
function followsOption(before: Word | undefined): boolean {
  return before?.text.startsWith('-') === true && !before.text.includes('=');
}
