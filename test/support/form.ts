/** Whether this is `npm test`, which takes a part of the examples of a test that is tagged `sampled`. */
export const isShort = process.env['TEST_FORM'] === 'short';

/** How many of so many generated examples are tried. */
export function examples(all: number): number {
  return isShort ? Math.ceil(all / 5) : all;
}

/** Which of the examples are tried: about a fifth, spread over all of them, and never none. */
export function sample<const T>(all: readonly T[]): T[] {
  return isShort ? all.filter((_, index) => index % 5 === 0) : [...all];
}
