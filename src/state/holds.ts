import { rm } from 'node:fs/promises';
import { isRecord, readJson, writeDurably } from './files.ts';

/** Why an account does not work. Stored under these names. */
const REASONS = ['rate_limited', 'out_of_credit', 'not_logged_in'] as const;

/** An agent CLI's account that does not work just now (decision 20). Times are ISO 8601 UTC. */
export interface Hold {
  /** The account: `claude`, or `claude at ~/.claude-work`. */
  id: string;
  /** The known agent CLI. */
  agent: string;
  reason: (typeof REASONS)[number];
  since: string;
  /** When one run finds out whether the account works again. */
  until: string;
  /** The line of the CLI that said so. */
  said: string;
  /** Refused runs in a row, those that were under way together counted once. */
  refusals: number;
  /**
   * The files of the login as they were at the refusal: path → a mark that changes with the file.
   */
  login: Record<string, string>;
}

/**
 * The holds of one machine, in one file. Any process may change the file, so it is read each time.
 */
export class Holds {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** All holds; a file that cannot be read holds no account. */
  async all(): Promise<Hold[]> {
    const { value } = (await readJson(this.#path)) ?? {};
    const holds = isRecord(value) ? value['holds'] : undefined;
    return Array.isArray(holds) ? holds.filter(isHold) : [];
  }

  /** Durable when it returns: the mail of a refused run goes back after that. */
  async save(holds: readonly Hold[]): Promise<void> {
    if (holds.length === 0) await rm(this.#path, { force: true });
    else await writeDurably(this.#path, `${JSON.stringify({ version: 1, holds }, undefined, 1)}\n`);
  }
}

function isHold(value: unknown): value is Hold {
  if (!isRecord(value)) return false;
  const { reason, refusals, login } = value;
  return (
    [value['id'], value['agent'], value['said']].every((text) => typeof text === 'string') &&
    [value['since'], value['until']].every(
      (at) => typeof at === 'string' && !Number.isNaN(Date.parse(at)),
    ) &&
    REASONS.some((one) => one === reason) &&
    typeof refusals === 'number' &&
    isRecord(login)
  );
}
