import type { Status } from '../../operations/health/report.ts';
import { age } from './render.ts';

type Machine = NonNullable<Status['machines']>[number];

/** A row on another machine, as the bell tells of it. */
export function machineRow(machine: Machine): string[] {
  const { alias, live, version, running, held } = machine;
  return [
    alias,
    heardWords(machine),
    live ? `runs ${running.length === 0 ? 'nothing' : running.join(', ')}` : '',
    held === 0 ? '' : `${String(held)} tiers hold their mail back`,
    version === null ? '' : `version ${version}`,
  ];
}

/** Whether a machine is there, in a few words. */
export function heardWords({ live, heard_s: heard }: Pick<Machine, 'live' | 'heard_s'>): string {
  if (heard === null) return 'not heard';
  return `${live ? 'live, heard' : 'last heard'} ${age(heard)} ago`;
}
