import { indented, inLine, MARK, quoted } from './structure.ts';

/** What a run is told of the gate of its tier. */
export type GateInPrompt =
  /** It plans, and this name decides on the plan. */
  | { approver: string }
  /** What it proposed was approved. */
  | { plan: string; note: string; by: string };

/** What a run is told of its gate: nothing where its tier has none. */
export function aboutGate(gate: GateInPrompt | undefined, word: string): string {
  if (gate === undefined) return '';
  if ('approver' in gate)
    return [
      `You are planning. Change nothing, send nothing and give no work to others: nothing is done in this run. What you print is a plan, which ${inLine(gate.approver)} reads and approves or denies. Only after an approval a second run does it, with your plan and their note before it.`,
      'So say in the plan what you are going to do, in which files and with which commands, and what could go wrong. Print the whole plan as text and end; do not ask for anything that you can look up.',
    ].join('\n\n');
  const { plan, note, by } = gate;
  return [
    `${inLine(by)} has approved the plan below, and nothing beyond it. Do it now. If it turns out that something else is needed, do what you can of the plan, and say what is left.`,
    `Their note:\n\n${quoted(indented(note.trim(), `${MARK}${MARK}`), word)}`,
    `Your plan:\n\n${quoted(indented(plan.trim(), `${MARK}${MARK}`), word)}`,
  ].join('\n\n');
}
