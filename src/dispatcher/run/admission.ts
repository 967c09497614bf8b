import type { Engine } from './engine.ts';
import { descentOf, notAccepted, type Known } from '../../protocol/accepted.ts';
import { messageFile, placeOfRef } from '../../protocol/layout.ts';
import type { Located } from '../../protocol/message.ts';
import { digestOf } from '../../state/written.ts';
import type { Briefing } from './briefing.ts';
import type { Job } from './job.ts';

/** The messages of a batch that a tier does not serve, and why. */
export interface Refused {
  messages: string[];
  why: string;
}

/**
 * Judges a batch by the names whose tasks its tier serves (`only_from`, docs/decisions/16-signatures.md); before a
 * run starts, and again when an operator has released its mail.
 *
 * @returns undefined when all of it is accepted
 * @throws CrosstalkError when nobody can say who has signed it, as without `ssh-keygen`
 */
export async function refusedOf(
  engine: Engine,
  job: Job,
  { batch, lookup }: Briefing,
): Promise<Refused | undefined> {
  const { onlyFrom } = job.tier;
  if (onlyFrom === undefined) return undefined;
  const isOwn = isServedBy(engine, job);
  const refused: { relPath: string; why: string }[] = [];
  for (const located of batch) {
    const descent = descentOf(located, lookup, isOwn);
    const why = descent.ok
      ? notAccepted(descent, onlyFrom, await knownOf(engine, job, descent.chain))
      : descent.why;
    if (why !== undefined) refused.push({ relPath: located.relPath, why });
  }
  const [first] = refused;
  return first && { messages: refused.map(({ relPath }) => relPath), why: first.why };
}

/** Whether a name is that of an actor of this machine. */
function isServedBy({ hosts }: Engine, { actor }: Job): (name: string) => boolean {
  return (name) => name === actor || hosts.active?.actors.has(name) === true;
}

/** Returns this machine's knowledge of the writers of some messages, whose names are relative to the job's channel. */
async function knownOf(
  engine: Engine,
  job: Job,
  chain: readonly Located[],
): Promise<(located: Located) => Known> {
  const { verifier, written, transport } = engine;
  const { tip, channel } = job;
  const claims = chain.map(({ relPath, message }) => ({
    ...placeOfRef(channel, relPath),
    message,
  }));
  const verdicts = await verifier.verdicts(tip, claims, { sure: true });
  const isOwn = isServedBy(engine, job);
  const ours = await written.look(
    claims.map(({ channel: id, relPath }) => messageFile(id, relPath)),
  );
  const known = new Map<string, Known>();
  for (const [at, { message, ...place }] of claims.entries()) {
    const path = messageFile(place.channel, place.relPath);
    const isServed = isOwn(message.from);
    const text = isServed ? await transport.objects.text(tip, path) : undefined;
    known.set(chain[at]?.relPath ?? '', {
      verified: verdicts[at],
      isForged: isServed && (text === undefined || ours.get(path)?.digest !== digestOf(text)),
    });
  }
  return ({ relPath }) => known.get(relPath) ?? { verified: undefined, isForged: true };
}
