/**
 * What crosstalk-runtime 3.11 took, measured once beside its floors on a machine with two cores: medians in
 * milliseconds. The ratio can be compared to those of a run on another machine.
 */
const MEASURED: Record<string, { took: number; floor: number }> = {
  // node -e 0 24, add, commit and push in sh 28.
  'send, no dispatcher': { took: 129, floor: 24 + 28 },
  // The same, and a second commit that is pushed; the actor itself is not in the floor.
  'send → reply on the remote': { took: 266, floor: 24 + 2 * 28 },
};

/** Its figure for a row, as text; empty where there is none. */
export function rivalOf(figure: string): string {
  const measured = MEASURED[figure];
  if (measured === undefined) return '';
  const { took, floor } = measured;
  return `${(took / floor).toFixed(2)}× (${String(took)} over ${String(floor)})`;
}
