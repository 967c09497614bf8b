import { readFile, stat } from 'node:fs/promises';
import { parseHostFile } from '../protocol/host-file.ts';
import { writeDurably } from '../state/files.ts';
import type { Transport } from '../transport/transport.ts';
import {
  activate,
  findHost,
  readHosts,
  type ActiveHost,
  type FoundHost,
  type Machine,
} from './host.ts';
import type { Log } from './log.ts';

export interface HostWatchParts {
  transport: Transport;
  machine: Machine;
  approvals: string;
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
export class HostWatch {
  readonly #parts: HostWatchParts;
  #active: ActiveHost | undefined;
  #found: Extract<FoundHost, { kind: 'found' }> | undefined;
  #problem: string | undefined;
  #approvedAt = -1;
  #said = new Set<string>();

  constructor(parts: HostWatchParts) {
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
    const found = findHost(await readHosts(this.#parts.transport, tip), this.#parts.machine);
    if (found.kind === 'found') {
      this.#problem = undefined;
      await writeDurably(
        this.#parts.lastGood,
        (await this.#parts.transport.objects.text(tip, found.path)) ?? '',
      );
      await this.#enforce(found);
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

  async #enforce(found: Extract<FoundHost, { kind: 'found' }>): Promise<void> {
    const { approvals, trust, log } = this.#parts;
    const before = JSON.stringify(this.#active && [...this.#active.actors]);
    this.#active = await activate(approvals, found, trust);
    this.#found = found;
    this.#approvedAt = await this.#approvalTime();
    const { alias, path, actors, held } = this.#active;
    if (JSON.stringify([...actors]) !== before) {
      log('host_file_loaded', {
        alias,
        path,
        actors: Object.fromEntries(
          [...actors].map(([name, tiers]) => [name, tiers.map((tier) => tier.name)]),
        ),
      });
    }
    for (const change of held) {
      const key = JSON.stringify(change);
      if (!this.#said.has(key))
        log('host_change_held', { alias, ...change, next: 'crosstalk host approve' });
      this.#said.add(key);
    }
  }

  async #fallBack(path: string): Promise<void> {
    const text = await readFile(this.#parts.lastGood, 'utf8').catch(() => '');
    const last = parseHostFile(text);
    const { alias } = this.#parts.machine;
    if (last.ok && (alias === undefined || last.value.alias === alias)) {
      await this.#enforce({ kind: 'found', path, file: last.value });
    }
  }

  #say(event: 'host_file_missing' | 'host_file_invalid', problem: string): void {
    if (this.#said.has(problem)) return;
    this.#said.add(problem);
    this.#parts.log(event, { problem });
  }

  async #approvalTime(): Promise<number> {
    return stat(this.#parts.approvals).then(
      ({ mtimeMs }) => mtimeMs,
      () => -1,
    );
  }
}
