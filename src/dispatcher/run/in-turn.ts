/**
 * Runs steps one after another; a failing step does not prevent the others. @param say receives
 * each failure
 */
export async function eachInTurn(
  steps: readonly (() => Promise<unknown>)[],
  say: (error: unknown) => void,
): Promise<void> {
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      say(error);
    }
  }
}
