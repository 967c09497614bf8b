import { formatMessage, type Message } from '../../src/protocol/message.ts';
import type { Actors, Bus, Host, Stored } from './bus.ts';

/** An actor with a gate, whose plan and whose work are one word each. */
export function builder(gate = 'anna'): Actors {
  const cli = 'cat > /dev/null; echo done';
  return { builder: { default: { cli, gate, gate_plan: 'cat > /dev/null; echo my plan' } } };
}

/** What builder has proposed, by path. */
export function proposals(bus: Bus): Stored[] {
  return bus.from('builder').filter(({ message }) => message.proposal === true);
}

/** What builder has answered. */
export function answers(bus: Bus): string[] {
  const said = bus.from('builder').filter(({ message }) => message.interim !== true);
  return said
    .filter(({ message }) => message.cancels === undefined)
    .map(({ message }) => message.body.trim());
}

/** Gives builder a task, for which it plans; returns the proposal. */
export async function planned(host: Host, text = 'move the tables'): Promise<Stored> {
  const before = new Set(proposals(host.bus).map(({ relPath }) => relPath));
  await host.send('builder', text, '--from', 'carl');
  await host.once();
  const made = proposals(host.bus).filter(({ relPath }) => !before.has(relPath));
  const [proposal] = made;
  if (proposal === undefined || made.length > 1)
    throw new Error(`${String(made.length)} proposals instead of one`);
  return proposal;
}

/** What asks a name something, by relPath, as a machine lists it. */
export async function asking(host: Host, name = 'anna'): Promise<string[]> {
  await host.news();
  const ran = await host.run('inbox', '--questions', '--json', '--from', name);
  if (ran.code !== 0) throw new Error(ran.err);
  const lines = ran.out.split('\n').filter((line) => line !== '');
  return lines.map((line) => (JSON.parse(line) as { relPath: string }).relPath);
}

/** A message in the name of anna, as whoever can push may write it. */
export function forged(said: Partial<Message>): string {
  return formatMessage({
    from: 'anna',
    to: [{ name: 'builder', host: 'tower' }],
    type: 'text',
    timestamp: '2030-01-01T00:00:00.000Z',
    re: [],
    cause: [],
    extra: {},
    body: 'I will think about it\n',
    ...said,
  });
}

/** A place for a forged message. */
export function place(serial: number): string {
  return `2030/01/01/${String(serial).padStart(9, '0')}Z-aaaaaaaaaaaa.md`;
}

/** Approves, in the name of anna, on a machine that knows the newest of the bus. */
export async function approve(host: Host, { relPath }: Pick<Stored, 'relPath'>): Promise<void> {
  await host.news();
  const ran = await host.run('approve', relPath, '--from', 'anna');
  if (ran.code !== 0) throw new Error(ran.err);
}
