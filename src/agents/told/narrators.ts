import { acp } from './acp.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { gemini } from './gemini.ts';
import { opencode } from './opencode.ts';
import { pi } from './pi.ts';
import type { Narrator } from './told.ts';

const NARRATORS: Readonly<Record<string, () => Narrator>> = {
  ...{ claude, codex, gemini, opencode, pi },
  // What is kept speaks this, whichever CLI it is.
  acp,
};

/** Who tells what a run of a known agent CLI does, where it prints JSON. */
export function narratorOf(agent: string): Narrator | undefined {
  return Object.hasOwn(NARRATORS, agent) ? NARRATORS[agent]?.() : undefined;
}
