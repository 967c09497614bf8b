import type { Status } from '../../operations/health/report.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
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

type HostWord = NonNullable<Status['hosts']>[number];

/**
 * The rows on a host of the transport: its last word, and how it says that it is.
 *
 * @param nameOf the name of a channel, by its id
 */
export function hostRows(
  { alias, this_machine: here, heard_s: heard, said_s: saidAge, said }: HostWord,
  nameOf: (channel: string) => string,
): string[][] {
  if (here) return [[alias, 'this machine, as above']];
  const last = heard === null ? 'nothing heard lately' : `last word ${age(heard)} ago`;
  if (said === null || saidAge === null) return [[alias, `${last}; it has not said how it is`]];
  const { running, waiting, failed } = said;
  const all = Object.entries({ running, waiting, failed });
  const counts = all.map(([what, { count }]) => `${String(count)} ${what}`);
  const rows = all.flatMap(([what, { count, messages }]) => {
    const more = count - messages.length;
    return [
      ...messages.map(
        ({ actor, channel, relPath, since }) =>
          `${what}: ${actor} in ${escapeInvisible(nameOf(channel))} since ${since}, ${relPath}`,
      ),
      ...(more > 0 ? [`${what}: ${String(more)} more`] : []),
    ].map((row) => ['', row]);
  });
  return [[alias, `${last}; ${age(saidAge)} ago it said: ${counts.join(', ')}`], ...rows];
}
