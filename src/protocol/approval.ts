import type { HostFile, Tier } from './host-file.ts';

/** Actor → tier → command line that this machine has approved. */
export type Approved = Record<string, Record<string, string>>;

/** A command in the host file that this machine has not approved (protocol.md §6). */
export interface HeldChange {
  actor: string;
  tier: string;
  /** The command in force; absent when the tier is new. */
  approved?: string;
  proposed: string;
}

/** Every command of a host file, in the form approvals are kept. */
export function commandsOf(host: HostFile): Approved {
  const commands: Approved = Object.create(null) as Approved;
  for (const [actor, tiers] of host.actors) {
    const slots: Record<string, string> = Object.create(null) as Record<string, string>;
    for (const tier of tiers) slots[tier.name] = tier.cli;
    commands[actor] = slots;
  }
  return commands;
}

/**
 * The host file as this machine runs it: approved commands stay in force, new ones wait. An
 * actor none of whose tiers is approved keeps an empty list: its mail waits, and is not lost.
 */
export function inForce(
  host: HostFile,
  approved: Approved,
): { host: HostFile; held: HeldChange[] } {
  const held: HeldChange[] = [];
  const actors = new Map<string, Tier[]>();
  for (const [actor, tiers] of host.actors) {
    const known = Object.hasOwn(approved, actor) ? approved[actor] : undefined;
    const running: Tier[] = [];
    for (const tier of tiers) {
      const command = known && Object.hasOwn(known, tier.name) ? known[tier.name] : undefined;
      if (command !== undefined) running.push({ ...tier, cli: command });
      if (command !== tier.cli) {
        held.push({
          actor,
          tier: tier.name,
          proposed: tier.cli,
          ...(command === undefined ? {} : { approved: command }),
        });
      }
    }
    actors.set(actor, running);
  }
  return { host: { ...host, actors }, held };
}
