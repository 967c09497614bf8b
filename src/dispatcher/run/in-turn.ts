/** Does steps one after another; none keeps the others from being done. @param say told of each failure */
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
