import type { Verifier } from '../../bus/verifier.ts';
import { descentOf, notAccepted } from '../../protocol/accepted.ts';
import type { Located } from '../../protocol/message.ts';
import { placeOfRef } from '../../protocol/reference.ts';
import type { Briefing } from './briefing.ts';
import type { Job } from './job.ts';

/** The messages of a batch that a tier does not serve, and why. */
export interface Unaccepted {
  messages: string[];
  why: string;
}

/**
 * Judges a batch by whose tasks its tier serves (`only_from`, decision 42); before a run begins, and
 * again when an operator has released its mail.
 *
 * @returns undefined when all of it is accepted
 * @throws CrosstalkError when nobody can say who has signed it, as without `ssh-keygen`
 */
export async function unaccepted(
  verifier: Pick<Verifier, 'verdicts'>,
  { tier: { onlyFrom }, tip, channel }: Job,
  { batch, lookup }: Briefing,
): Promise<Unaccepted | undefined> {
  if (onlyFrom === undefined) return undefined;
  const refused: { relPath: string; why: string }[] = [];
  for (const located of batch) {
    const descent = descentOf(located, lookup);
    const why = descent.ok
      ? notAccepted(descent, onlyFrom, await verifiedIn(verifier, tip, channel, descent.chain))
      : descent.why;
    if (why !== undefined) refused.push({ relPath: located.relPath, why });
  }
  const [first] = refused;
  return first && { messages: refused.map(({ relPath }) => relPath), why: first.why };
}

/** @param home the channel to which the names of the messages are relative */
async function verifiedIn(
  verifier: Pick<Verifier, 'verdicts'>,
  tip: string,
  home: string,
  chain: readonly Located[],
): Promise<(located: Located) => boolean | undefined> {
  const claims = chain.map(({ relPath, message }) => ({ ...placeOfRef(home, relPath), message }));
  const found = await verifier.verdicts(tip, claims, { sure: true });
  const byRef = new Map(chain.map(({ relPath }, at) => [relPath, found[at]]));
  return ({ relPath }) => byRef.get(relPath);
}
