import type { OutputReader } from './reader.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { gemini } from './gemini.ts';
import { opencode } from './opencode.ts';
import { pi } from './pi.ts';

/** How an agent CLI is made to print JSON, and how that is read. */
export interface OutputFormat {
  /** What is added at the end of a plain call. */
  flags: string;
  /** A word that makes a call one without a terminal; undefined if no word is needed. */
  headless?: RegExp;
  /** Words with which the operator has chosen an output, or another kind of call. */
  chosen: RegExp;
  /** Lines that say nothing of their own, by how they begin; they are not kept. */
  noise?: string;
  /** Whether it states money. */
  money?: true;
  /** The option by which it is told how many US dollars it may use. */
  cap?: string;
  reader: () => OutputReader;
}

/** The formats of the known agent CLIs, by name. What each prints was seen; see test/agents. */
export const OUTPUT_FORMATS: Readonly<Record<string, OutputFormat>> = {
  claude: {
    flags: '--output-format stream-json --verbose',
    headless: /^(?:-p|--print)$/,
    chosen: /^--(?:output-format|input-format|verbose|help|version)\b|^-[hv]$/,
    money: true,
    cap: '--max-budget-usd',
    reader: claude,
  },
  codex: {
    flags: '--json',
    headless: /^(?:exec|e)$/,
    chosen:
      /^(?:--(?:json|experimental-json|output-last-message|help|version)\b|-o|-h$|-V$|resume$)/,
    reader: codex,
  },
  gemini: {
    flags: '--output-format json',
    chosen:
      /^(?:--(?:output-format|prompt-interactive|help|version|list-\w+|acp|experimental-acp)\b|-[oihv]$|mcp$|extensions$|skills$|hooks$)/,
    reader: gemini,
  },
  opencode: {
    flags: '--format json',
    headless: /^run$/,
    chosen: /^--(?:format|help|version|attach|command)\b|^-[hv]$/,
    money: true,
    reader: opencode,
  },
  pi: {
    flags: '--mode json',
    headless: /^(?:-p|--print)$/,
    chosen: /^--(?:mode|help|version|export|list-models)\b|^-[hv]$/,
    noise: '{"type":"message_update"',
    money: true,
    reader: pi,
  },
};
