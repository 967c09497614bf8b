import { parseRecipients, type Address } from '../../protocol/address.ts';
import type { Context } from '../context.ts';
import { resolveFrom } from './resolve.ts';
import { surprisesOf } from './surprises.ts';

/** A new schedule or subscription, as far as it says who writes to whom. */
interface Added {
  /** The addressees as given. */
  to: string | undefined;
  /** The sender, if one is named. */
  from: string | undefined;
  login: string;
}

/**
 * The sender of what a schedule or a subscription sends, to whom the answers go: whoever is named, otherwise
 * whoever adds it.
 *
 * @returns undefined for somebody who adds a message to themselves, and would not see their own
 * @throws CrosstalkError `usage` for a sender that is not a name
 */
export function senderOfAdded(context: Context, { to, from, login }: Added): string | undefined {
  const sender = resolveFrom(context, from, login);
  const addressees = parseRecipients(to ?? '').to;
  const isToThemselves = addressees.some(({ name }) => name === sender);
  return from === undefined && isToThemselves ? undefined : sender;
}

/** Warns about addressees whom no host serves, and about a tier that they do not have, as `send` does. */
export async function noteUnserved(
  context: Context,
  { to, tier }: { to: readonly Address[]; tier?: string },
): Promise<void> {
  const { unserved, untiered } = await surprisesOf(context, { addressees: to, tier });
  for (const line of [...unserved, ...untiered]) context.note(line);
}
