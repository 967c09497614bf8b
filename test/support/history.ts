import type { Bus } from './bus.ts';
import { commitTo } from './copies.ts';
import { git } from './git.ts';

/** A message that somebody writes by hand: its path and its content. */
export function byHand(
  channel: string,
  n: number,
  body: string,
  to = 'worker',
): [path: string, content: string] {
  const name = `${String(n).padStart(9, '0')}Z-${n.toString(16).padStart(8, '0')}.md`;
  return [
    `data/channels/${channel}/2026/06/09/${name}`,
    `---\nfrom: alice\nto: ${to}\ntype: text\ntimestamp: 2026-06-09T19:00:00.000Z\n---\n\n${body}\n`,
  ];
}

/** Puts a file on the bus, in a commit on the current tip. */
export function put(bus: Bus, [path, content]: readonly [path: string, content: string]): void {
  commitTo(bus.hub, { [path]: content });
}

/** The commit at the tip of the bus. */
export function tipOf(bus: Bus): string {
  return git(bus.hub, 'rev-parse', 'main').trim();
}

/** Sets the bus back, as restoring a backup does. */
export function setBack(bus: Bus, commit: string): void {
  git(bus.hub, 'update-ref', 'refs/heads/main', commit);
}
