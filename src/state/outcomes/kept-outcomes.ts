import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { plainFileAt } from '../../plain-file.ts';
import { Seal } from '../../store/seal.ts';
import { isPrivate } from '../directory.ts';
import { writeSealed } from '../files.ts';
import { shortFolder, statePaths } from '../state-paths.ts';
import { passed } from '../../crash-points.ts';
import type { ClaimStep, DeadLetter, DeadLetters } from '../dead-letters.ts';
import type { Gate } from '../gates.ts';
import type { Outbox, OutboxEntry } from '../outbox.ts';
import type { Settled } from '../settled.ts';

/** Maximum bytes of an outcome: several answers of 1 MiB, in which each byte takes six in JSON. */
const MOST = 256 * 1024 * 1024;

/**
 * Returns the folders for an outcome that the database does not accept, in this order: the state
 * directory, since the database alone may refuse it, the runtime directory, the temporary folder.
 */
function placesFor(root: string, environment: NodeJS.ProcessEnv): string[] {
  const { XDG_RUNTIME_DIR: runtime = '', TMPDIR: temporary = '' } = environment;
  const above = [runtime, isAbsolute(temporary) ? temporary : tmpdir()].filter(isAbsolute);
  const beside = above.map((folder) => join(shortFolder(folder, root), 'outcomes'));
  return [statePaths(root).outcomes, ...beside];
}

/**
 * Outcomes that could not be recorded before their dispatcher had to end, by the dispatch id of their
 * run. They are sealed like rows: one is valid because this machine wrote it, in whatever folder.
 */
export class KeptOutcomes {
  readonly #folders: string[];
  readonly #seal: Seal;

  /** @param root the state directory */
  constructor(root: string, environment: NodeJS.ProcessEnv) {
    this.#folders = placesFor(root, environment);
    this.#seal = new Seal(root, 'outcome');
  }

  /** Writes an outcome durably to the first folder that accepts it; undefined when none does. */
  async keep(id: string, outcome: Outcome): Promise<string | undefined> {
    for (const folder of this.#folders) {
      const path = fileOf(folder, id);
      try {
        if (!(await isPrivate(folder, { make: true }))) continue;
        await writeSealed(path, outcome, this.#seal, id);
        return path;
      } catch {
        // The next one may accept it.
      }
    }
    return undefined;
  }

  async get(id: string): Promise<Outcome | undefined> {
    for (const folder of this.#folders) {
      if (!(await isPrivate(folder, { make: false }))) continue;
      const found = plainFileAt(fileOf(folder, id), MOST, { follow: false });
      const text = found.kind === 'text' ? this.#seal.open(id, found.text) : undefined;
      if (text !== undefined) return JSON.parse(text) as Outcome;
    }
    return undefined;
  }

  async remove(id: string): Promise<void> {
    for (const folder of this.#folders)
      if (await isPrivate(folder, { make: false })) await rm(fileOf(folder, id), { force: true });
  }
}

function fileOf(folder: string, id: string): string {
  return join(folder, `${id}.json`);
}

/** The first record of a run that has ended: from then on it is not repeated. */
export type Outcome =
  | { answer: OutboxEntry }
  | { plan: Gate }
  /** `claim` goes with the notice. */
  | { failure: DeadLetter[]; claim?: ClaimStep }
  /** `letter` is the id of the dead letter that it was a retry of. */
  | { silence: { actor: string; channel: string; messages: string[] }; letter?: string };

/** Records an outcome; repeating this changes nothing. */
export async function putOutcome(
  {
    outbox,
    gated,
    deadLetters,
    settled,
  }: {
    outbox: Outbox;
    deadLetters: DeadLetters;
    settled: Settled;
    gated: { put: (gate: Gate) => Promise<void> };
  },
  outcome: Outcome,
): Promise<void> {
  if ('answer' in outcome) return outbox.put(outcome.answer);
  if ('plan' in outcome) return gated.put(outcome.plan);
  if ('silence' in outcome) {
    const { actor, channel, messages } = outcome.silence;
    if (outcome.letter !== undefined) await deadLetters.remove(outcome.letter);
    return settled.silent(actor, channel, messages);
  }
  for (const letter of outcome.failure) {
    await (letter.state === 'retrying'
      ? deadLetters.put(letter)
      : deadLetters.putToTell(letter, outcome.claim));
    passed('letter_written');
  }
}
