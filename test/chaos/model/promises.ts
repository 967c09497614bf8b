import type { Stored } from '../../support/bus.ts';
import { SERVED } from './machine.ts';
import type { Asked, World } from './world.ts';

/** Tokens that a body contains, which identify the questions it is about. */
function tokensOf(body: string): string[] {
  return [...new Set(/^(?:ask|part|ready|answer|sent) ([a-z0-9+]+)$/m.exec(body)?.[1]?.split('+'))];
}

/** The promises that are not kept (protocol.md §5), once everything is settled. */
export async function broken(world: World): Promise<string[]> {
  const now = world.hub.messages();
  const isAnswer = ({ message: { body } }: Stored): boolean => /^(answer|sent) /.test(body);
  const answers = [...world.ever.values()].filter(isAnswer);
  const problems = [...answers].flatMap((answer) => wrong(world, answer));
  const dead = new Set<string>();
  const unwell = new Map<string, string[]>();
  for (const [name, machine] of world.machines) {
    const trouble = await world.trouble(machine);
    unwell.set(machine.alias, [...(unwell.get(machine.alias) ?? []), ...trouble]);
    for (const { actor, channel, messages } of await world.letters(machine))
      for (const relPath of messages) dead.add(`${machine.alias}/${actor}/${channel}/${relPath}`);
    if (machine.queued().length > 0) problems.push(`left in the outbox of ${name}`);
  }
  const isSaid = (alias: string): boolean =>
    (unwell.get(alias) ?? []).some((problem) => !problem.includes('dead letter'));
  const anySaid = [...unwell.keys()].some((alias) => isSaid(alias));
  for (const asked of world.asked.filter(({ to }) => to !== '')) {
    const places = now.filter(({ message }) => message.body.trim() === `ask ${asked.token}`);
    if (places.length === 0 && !anySaid) problems.push(`lost: ${asked.token} to ${asked.to}`);
    for (const place of places)
      problems.push(...unanswered(world, asked, place, now, dead, isSaid));
  }
  const twice = [...repeated(world, answers), ...paidTwice(world)];
  const shared = [...world.machines.values()].some(({ events }) =>
    events.some(({ event }) => event === 'alias_shared'),
  );
  // Two machines that are one answer twice, which one of them has to say.
  problems.push(...twice.filter(({ alias }) => !world.copied.has(alias) || !shared).map(textOf));
  problems.push(...[...world.overwritten].map((path) => `overwritten: ${path}`));
  const branches = world.hub.branches();
  if (branches.length !== 1) problems.push(`branches: ${branches.join()}`);
  return problems;
}

/** Steps after which a machine relies on the record instead of its cursors. */
const HISTORY = /^(rewind|come-back|drop|remove|revert|restore|delete|rename|fault)/;

interface Twice {
  alias: string;
  text: string;
}

const textOf = ({ text }: Twice): string => text;

/** An answer has to be about the message it answers, and addressed to its askers. */
function wrong({ ever }: World, { channel, relPath, message }: Stored): string[] {
  const questions = message.re.map((re) => ever.get(`${channel}/${re}`));
  const asked = questions.flatMap((one) => (one === undefined ? [] : tokensOf(one.message.body)));
  const about = tokensOf(message.body);
  const isSame = [...new Set(asked)].sort().join() === [...about].sort().join();
  const names = new Set(message.to.map(({ name }) => name));
  const askers = questions.flatMap((one) => one?.message.from ?? []);
  if (isSame && askers.every((asker) => names.has(asker))) return [];
  return [
    `answers another's question: ${relPath} of ${message.from}@${message.host ?? ''} says "${message.body.trim()}" to ${[...names].join()}, re ${asked.join()} of ${askers.join()}`,
  ];
}

/** Whether those who have to answer a question have done so, or a dead letter or the verdict says it. */
function unanswered(
  world: World,
  { token, due }: Asked,
  { channel, relPath }: Stored,
  now: readonly Stored[],
  dead: ReadonlySet<string>,
  isSaid: (alias: string) => boolean,
): string[] {
  // A machine that falls back to what is unanswered does not repeat what the actor answered on
  // another host.
  const isAnyHostEnough = world.done.some((step) => HISTORY.test(step));
  return due.flatMap((who) => {
    const [actor = '', alias = ''] = who.split('@');
    const role = SERVED[alias]?.[actor];
    const isAnswered = now.some(
      ({ channel: there, message }) =>
        there === channel &&
        message.from === actor &&
        (message.host === alias || isAnyHostEnough) &&
        message.re.includes(relPath) &&
        !message.body.startsWith('part '),
    );
    if (role === 'silent' || isAnswered || isSaid(alias) || isTakenOut(world, token)) return [];
    if (dead.has(`${alias}/${actor}/${channel}/${relPath}`)) return [];
    const runs = world.ledger().filter((line) => line.actor === actor && line.alias === alias);
    const own = runs.filter(({ refs }) => refs.includes(relPath)).map(({ what }) => what);
    return [`without an answer: ${token} of ${who}; its runs: ${own.join() || 'none'}`];
  });
}

/** Whether an answer about it was taken off the bus: what is settled is not run again for that. */
function isTakenOut({ dropped, ever }: World, token: string): boolean {
  return [...dropped].some((path) => tokensOf(ever.get(path)?.message.body ?? '').includes(token));
}

/**
 * What one actor on one machine has answered more than once, by any two messages that ever existed
 * there.
 */
function repeated({ dropped, kills }: World, answers: readonly Stored[]): Twice[] {
  const seen = new Map<string, string>();
  return answers.flatMap(({ channel, relPath, message }) => {
    const { from, host: alias = '', re, body } = message;
    // Messages that a run sends itself before it is killed may be sent again.
    if (dropped.has(`${channel}/${relPath}`) || (body.startsWith('sent ') && kills.has(alias)))
      return [];
    return re.flatMap((question) => {
      const key = `${alias}/${from}/${channel}/${question}`;
      const first = seen.get(key);
      seen.set(key, relPath);
      if (first === undefined) return [];
      return [
        { alias, text: `answered twice: ${question} by ${from}@${alias}: ${first}, ${relPath}` },
      ];
    });
  });
}

/** Completed runs for one message, except for those of dispatchers that were killed. */
function paidTwice(world: World): Twice[] {
  const ends = new Map<string, number>();
  const again = new Set(
    [...world.dropped].flatMap((path) => world.ever.get(path)?.message.re ?? []),
  );
  for (const { what, alias, actor, channel, refs } of world.ledger()) {
    if (what !== 'end') continue;
    if (world.restored.has(alias) && SERVED[alias]?.[actor] === 'silent') continue;
    for (const ref of refs) {
      const key = [alias, actor, channel, ref].join('/');
      ends.set(key, (ends.get(key) ?? 0) + 1);
    }
  }
  return [...ends].flatMap(([key, count]) => {
    const [alias = '', actor = '', , ...path] = key.split('/');
    const ref = path.join('/');
    // A machine whose state is from before the answer goes by the bus.
    const isForgotten = again.has(ref) && world.restored.has(alias);
    const allowed = 1 + (world.kills.get(alias) ?? 0) + (isForgotten ? world.dropped.size : 0);
    if (count <= allowed) return [];
    return [{ alias, text: `paid for ${String(count)} times: ${ref} by ${actor}@${alias}` }];
  });
}
