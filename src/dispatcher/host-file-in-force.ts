import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parseHostFile, type Tier } from '../protocol/files/host-file.ts';
import { writeDurably } from '../state/files.ts';
import { optionsOf } from '../protocol/approval/record.ts';
import type { HeldChange } from '../protocol/approval/approval.ts';
import { loadApprovals } from '../state/approvals.ts';
import { activate, changedSettings, type ActiveHost, type Approving } from '../bus/approvals.ts';
import {
  findHost,
  foreignClaim,
  readHosts,
  type FoundHost,
  type MachineIdentity,
} from '../bus/host.ts';
import type { Log } from '../log.ts';
import { profileInForce } from '../bus/profiles.ts';

/** A flood of held changes must not bury what matters; `host show` prints them all. */
const MOST_REPORTED = 50;

export interface HostFileParts {
  approving: Approving;
  machine: MachineIdentity;
  /** Where the last host file that could be read is kept, for a start when it is broken. */
  lastGood: string;
  trust: boolean;
  log: Log;
}

/**
 * Keeps this machine's host file in force: found, re-read when it changes, its commands held
 * until approved (protocol.md §6). A broken or ambiguous one leaves the last good one in force;
 * one that is gone leaves nobody to serve.
 */
export class HostFileInForce {
  readonly #parts: HostFileParts;
  #active: ActiveHost | undefined;
  #found: Extract<FoundHost, { kind: 'found' }> | undefined;
  #problem: string | undefined;
  #approvedAt = -1;
  #remembered: string | undefined;
  #said = new Set<string>();

  constructor(parts: HostFileParts) {
    this.#parts = parts;
  }

  get active(): ActiveHost | undefined {
    return this.#active;
  }
  /** Why no host file is in force, or what is wrong with the newest one. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Reads the host files at `tip`. */
  async load(tip: string): Promise<void> {
    const { approving, machine, lastGood } = this.#parts;
    const { transport } = approving;
    // First of all: approvals of 6.0.0 are completed from the host file that was last in force.
    const { alias } = await loadApprovals(approving.approvals, approving.clone);
    this.#remembered = alias;
    const found = findHost(await readHosts(transport, tip), {
      ...machine,
      ...(alias === undefined ? {} : { remembered: alias }),
    });
    if (found.kind === 'found') {
      this.#problem = undefined;
      await writeDurably(lastGood, (await transport.objects.text(tip, found.path)) ?? '');
      for (const path of found.others)
        this.#say(
          'host_file_invalid',
          foreignClaim(path, { alias: found.file.alias, path: found.path }),
        );
      await this.#enforce(found);
      await this.#lookAtProfiles(tip);
      return;
    }
    this.#problem = found.problem;
    if (found.kind === 'missing') {
      this.#active = undefined;
      this.#found = undefined;
      this.#say('host_file_missing', found.problem);
    } else {
      this.#say(
        found.kind === 'invalid' ? 'host_file_invalid' : 'host_file_missing',
        found.problem,
      );
      if (this.#active === undefined && found.kind === 'invalid') await this.#fallBack(found.path);
    }
  }

  /** Applies approvals given meanwhile; costs one stat when there are none. */
  async applyApprovals(): Promise<boolean> {
    if (this.#found === undefined || (await this.#approvalTime()) === this.#approvedAt)
      return false;
    await this.#enforce(this.#found);
    return true;
  }

  /** Reports settings of the clone that are not as they were recorded (trust.md §1). */
  async lookAtSettings(): Promise<void> {
    const { held } = await changedSettings(this.#parts.approving);
    this.#report(this.#active?.alias, held);
  }

  async #enforce(found: Extract<FoundHost, { kind: 'found' }>): Promise<void> {
    const { approving, trust, machine, log } = this.#parts;
    const before = JSON.stringify(this.#active && [...this.#active.actors]);
    // Looked at first: what is approved while this goes on is seen by the next look.
    this.#approvedAt = await this.#approvalTime();
    const named = machine.alias !== undefined;
    this.#active = await activate(approving, found, { trust, named });
    this.#found = found;
    const { alias, path, actors, held, adopted } = this.#active;
    if (adopted !== undefined || JSON.stringify([...actors]) !== before) {
      log('host_file_loaded', {
        alias,
        path,
        actors: namesOf(actors),
        ...(adopted === undefined ? {} : { first_start: true, approved: textsOf(adopted) }),
      });
    }
    this.#report(alias, held);
  }

  #report(alias: string | undefined, held: readonly HeldChange[]): void {
    for (const change of held.slice(0, MOST_REPORTED)) {
      const key = JSON.stringify(change);
      if (this.#said.has(key)) continue;
      this.#said.add(key);
      this.#parts.log('host_change_held', {
        alias,
        ...change,
        next:
          change.refused === undefined
            ? `crosstalk host approve ${change.digest}`
            : 'crosstalk host show',
      });
    }
  }

  async #fallBack(path: string): Promise<void> {
    const text = await readFile(this.#parts.lastGood, 'utf8').catch(() => '');
    const last = parseHostFile(text);
    const alias = this.#parts.machine.alias ?? this.#remembered;
    if (last.ok && (alias === undefined || last.value.alias === alias)) {
      await this.#enforce({ kind: 'found', path, file: last.value, others: [] });
    }
  }

  /** Keeps the profiles that can be read, and tells of those that can't. */
  async #lookAtProfiles(tip: string): Promise<void> {
    const { approving, lastGood } = this.#parts;
    for (const actor of this.#active?.actors.keys() ?? []) {
      const found = await profileInForce(approving.transport, dirname(lastGood), tip, actor);
      if (found.problem !== undefined) this.#say('profile_invalid', found.problem);
    }
  }

  #say(
    event: 'host_file_missing' | 'host_file_invalid' | 'profile_invalid',
    problem: string,
  ): void {
    if (this.#said.has(problem)) return;
    this.#said.add(problem);
    this.#parts.log(event, { problem });
  }

  async #approvalTime(): Promise<number> {
    return stat(this.#parts.approving.approvals).then(
      ({ mtimeMs }) => mtimeMs,
      () => -1,
    );
  }
}

function namesOf(actors: Map<string, Tier[]>): Record<string, string[]> {
  return Object.fromEntries(
    [...actors].map(([actor, tiers]) => [actor, tiers.map(({ name }) => name)]),
  );
}

/** What a first start has approved, whole. */
function textsOf(actors: Map<string, Tier[]>): unknown[] {
  return [...actors].flatMap(([actor, tiers]) =>
    tiers.map((tier) => ({ actor, tier: tier.name, ...optionsOf(tier) })),
  );
}
