import type { DispatcherApp } from '../bus/app.ts';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseHostFile, type Tier } from '../protocol/files/host-file.ts';
import { writeDurably } from '../state/files.ts';
import type { HeldChange } from '../protocol/approval/approval.ts';
import { loadApprovals } from '../state/approvals.ts';
import { profilesThatWait, settingsThatWait } from '../bus/approvables.ts';
import { activate, type ActiveHost, type Approving } from '../bus/approvals.ts';
import {
  findHost,
  foreignClaim,
  readHosts,
  type FoundHost,
  type MachineIdentity,
} from '../bus/host.ts';
import { profileInForce } from '../bus/profiles.ts';

/** The most changes reported, so that a flood cannot hide the important ones; `host show` prints all of them. */
const MOST_REPORTED = 50;

/**
 * Keeps this machine's host file in force: finds it, reads it again when it changes, and holds its
 * commands until they are approved (protocol.md §6). If the file is broken or ambiguous, the last
 * good one stays in force; if it was deleted, no actor is served.
 */
export class HostFileInForce {
  readonly #app: Pick<DispatcherApp, 'transport' | 'paths' | 'now' | 'log'>;
  readonly #approving: Approving;
  readonly #machine: MachineIdentity;
  readonly #trust: boolean;
  /** Path of the last readable host file, for a start at which the current file is broken. */
  readonly #lastGood: string;
  #active: ActiveHost | undefined;
  #found: Extract<FoundHost, { kind: 'found' }> | undefined;
  #problem: string | undefined;
  #approvedAt = -1;
  #remembered: string | undefined;
  #said = new Set<string>();

  /** @param options `trust`: nothing of it waits for approval */
  constructor(
    app: Pick<DispatcherApp, 'transport' | 'paths' | 'now' | 'log'>,
    approving: Approving,
    machine: MachineIdentity,
    { trust }: { trust: boolean },
  ) {
    this.#app = app;
    this.#approving = approving;
    this.#machine = machine;
    this.#trust = trust;
    this.#lastGood = join(app.paths.root, 'host-file.md');
  }

  get active(): ActiveHost | undefined {
    return this.#active;
  }
  /** Reason why no host file is in force, or the problem of the newest one. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Reads the host files at `tip`. */
  async load(tip: string): Promise<void> {
    const { transport } = this.#app;
    const { alias } = await loadApprovals(this.#approving.approvals);
    this.#remembered = alias;
    const found = findHost(await readHosts(transport, tip), {
      ...this.#machine,
      ...(alias === undefined ? {} : { remembered: alias }),
    });
    if (found.kind === 'found') {
      this.#problem = undefined;
      await writeDurably(this.#lastGood, (await transport.objects.text(tip, found.path)) ?? '');
      for (const path of found.others)
        this.#say(
          'host_file_invalid',
          foreignClaim(path, { alias: found.file.alias, path: found.path }),
        );
      for (const line of found.file.unknown)
        this.#say('host_file_unknown_key', `${found.path}: ${line}`);
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

  /** Applies approvals given meanwhile; if there are none, this costs a single stat. */
  async applyApprovals(): Promise<boolean> {
    if (this.#found === undefined || (await this.#approvalTime()) === this.#approvedAt)
      return false;
    await this.#enforce(this.#found);
    return true;
  }

  /** Reports settings of the clone that differ from the recorded ones (trust.md §1). */
  async lookAtSettings(): Promise<void> {
    const settings = await settingsThatWait(this.#approving);
    this.#report(this.#active?.alias, settings.held());
  }

  async #enforce(found: Extract<FoundHost, { kind: 'found' }>): Promise<void> {
    const { log } = this.#app;
    const before = JSON.stringify(this.#active && [...this.#active.actors]);
    // Read the time before the approvals, so that an approval given meanwhile is noticed by the
    // next look.
    this.#approvedAt = await this.#approvalTime();
    const named = this.#machine.alias !== undefined;
    this.#active = await activate(this.#approving, found, { trust: this.#trust, named });
    this.#found = found;
    const { alias, path, actors, held } = this.#active;
    if (JSON.stringify([...actors]) !== before) {
      log('host_file_loaded', {
        alias,
        path,
        actors: namesOf(actors),
      });
    }
    this.#report(alias, held);
  }

  #report(alias: string | undefined, held: readonly HeldChange[]): void {
    for (const change of held.slice(0, MOST_REPORTED)) {
      const key = JSON.stringify(change);
      if (this.#said.has(key)) continue;
      this.#said.add(key);
      this.#app.log('host_change_held', {
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
    const text = await readFile(this.#lastGood, 'utf8').catch(() => '');
    const last = parseHostFile(text);
    const alias = this.#machine.alias ?? this.#remembered;
    if (last.ok && (alias === undefined || last.value.alias === alias)) {
      await this.#enforce({ kind: 'found', path, file: last.value, others: [] });
    }
  }

  /** Keeps the profiles that can be read, and reports those that cannot. */
  async #lookAtProfiles(tip: string): Promise<void> {
    for (const actor of this.#active?.actors.keys() ?? []) {
      const found = await profileInForce(this.#app, tip, actor);
      if (found.problem !== undefined) this.#say('profile_invalid', found.problem);
    }
    const file = this.#found?.file;
    if (file === undefined) return;
    const approvals = await loadApprovals(this.#approving.approvals);
    const at = { place: this.#app, tip };
    const profiles = await profilesThatWait(this.#approving, file, at);
    this.#report(file.alias, profiles.held(approvals));
  }

  #say(
    event: 'host_file_missing' | 'host_file_invalid' | 'host_file_unknown_key' | 'profile_invalid',
    problem: string,
  ): void {
    if (this.#said.has(problem)) return;
    this.#said.add(problem);
    this.#app.log(event, { problem });
  }

  async #approvalTime(): Promise<number> {
    return stat(this.#approving.approvals).then(
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
