import { connect, type NatsConnection } from '@nats-io/transport-node';
import { onTestFinished } from 'vitest';
import { parseBell } from '../../src/bell/settings.ts';
import type { Bus, Event, Host, Running } from './bus.ts';
import { git } from './git.ts';
import { until } from './wait.ts';

/** Sets the bell of a machine, as its operator does and approves. */
export async function withBell(host: Host, settings: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(settings))
    git(host.dir, 'config', `crosstalk.${name}`, value);
  await host.accept();
}

/** A dispatcher that hears the bell. */
export async function hearing(host: Host, ...options: string[]): Promise<Running> {
  const running = host.start(...options);
  await running.saw('bell_up');
  return running;
}

/** The rings that led to a fetch. */
export function rungs({ events }: Running): Event[] {
  return events.filter(({ event }) => event === 'bell_rung');
}

/** Sends until a machine hears the bell of one message; all of them arrive in any case. */
export async function ringsAgain(
  from: Host,
  to: { actor: string; running: Running },
): Promise<number> {
  const before = rungs(to.running).length;
  let sent = 0;
  await until('a ring', async () => {
    await from.send(to.actor, `are you there? ${String(sent++)}`);
    return rungs(to.running).length > before;
  });
  return sent;
}

/** Waits until somebody has answered so many messages; one answer may be to several. */
export async function answers(bus: Bus, from: string, count: number): Promise<void> {
  await until(`answers of ${from} to ${String(count)} messages`, () => {
    const answered = bus.from(from).flatMap(({ message }) => message.re);
    return new Set(answered).size === count;
  });
}

/** The subject of the bus, as whoever knows its remote's address can tell it. */
export function subjectOf(bus: Bus): string {
  const parsed = parseBell({ servers: 'nats://localhost' }, bus.hub, undefined);
  if (!parsed.ok) throw new Error(parsed.problems.join('; '));
  return parsed.value.subject;
}

/** Somebody else who reaches the server. */
export async function stranger(url: string): Promise<NatsConnection> {
  const connection = await connect({ servers: url });
  onTestFinished(() => connection.close());
  return connection;
}
