import type { painter } from './render.ts';

/**
 * The mark of a message whose writer's name has a pinned key here, to be shown after that name; none
 * for any other message.
 */
export function verifiedMark(
  paint: ReturnType<typeof painter>,
  verified: boolean | undefined,
): string[] {
  if (verified === undefined) return [];
  return [verified ? paint('green', 'verified') : paint('red', 'unverified')];
}
