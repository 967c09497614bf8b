import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAnswer } from '../../src/protocol/owed.ts';
import type { Stored } from '../support/bus.ts';
import { digitsOf, type World } from './world.ts';

/** The result of a world. */
export interface Judged {
  /** The number of questions: those people asked, and those coordinators delegated. */
  questions: number;
  answers: number;
  /** Questions in the dead letters, with everything that descends from them. */
  deadLetters: number;
  /** Each problem with the question and its results. */
  problems: { kind: 'lost' | 'twice' | "another's" | 'broken'; text: string }[];
}

/** Checks the bus and the state of each machine against the promises. */
export async function judge(world: World): Promise<Judged> {
  const messages = world.bus.messages();
  const byPath = new Map(messages.map((stored) => [stored.relPath, stored]));
  const judged: Judged = { questions: 0, answers: 0, deadLetters: 0, problems: [] };
  const dead = await deadLetters(world);
  for (const { relPath, body, host } of world.asked)
    if (!byPath.has(relPath) && !isForgotten(world, relPath, host))
      judged.problems.push({ kind: 'lost', text: `${relPath} (${body}) is not on the bus` });
  for (const question of messages) {
    const { relPath, message } = question;
    if (message.re.length > 0) continue;
    for (const [actor, host] of addressed(world, question)) {
      judged.questions++;
      const answers = messages.filter(
        (stored) =>
          isAnswer(stored.message) &&
          stored.message.from === actor &&
          stored.message.host === host &&
          stored.message.re.includes(relPath),
      );
      judged.answers += Math.min(1, answers.length);
      const text = `${relPath} (${message.body.trim()}) to ${actor}@${host}: ${answers
        .map((answer) => `${answer.relPath} (${answer.message.body.trim()})`)
        .join(', ')}`;
      const meant = answers.filter((answer) => !world.dropped.has(answer.relPath));
      const first = meant.map((answer) => answer.relPath).sort()[0] ?? '';
      if (meant.length > 1 && !isForgotten(world, first, host))
        judged.problems.push({ kind: 'twice', text });
      if (answers.length > 0 || isTwins(world, question, host, actor, messages)) continue;
      if (isTakenOut(world, question, messages)) continue;
      if (isForgotten(world, relPath, host)) continue;
      if (isDead(question, host, dead, messages)) judged.deadLetters++;
      else judged.problems.push({ kind: 'lost', text });
    }
  }
  for (const answer of messages) {
    const named = answer.message.re.flatMap((relPath) => byPath.get(relPath) ?? []);
    const gone = answer.message.re.filter((relPath) => !byPath.has(relPath));
    if (!fits(answer, named) && !gone.some((relPath) => isForgotten(world, relPath)))
      judged.problems.push({
        kind: "another's",
        text: `${answer.relPath} (${answer.message.body.trim()}) to ${JSON.stringify(answer.message.to)} for ${named.map(({ message }) => message.body.trim()).join(', ')}`,
      });
  }
  for (const { host } of world.machines) judged.problems.push(...broken(host.state));
  return judged;
}

/** The actors on hosts to which a question is addressed. */
function addressed({ machines }: World, { message }: Stored): [actor: string, host: string][] {
  return message.to.flatMap(({ name, host }) =>
    machines
      .filter((machine) => host === undefined || machine.host.alias === host)
      .filter((machine) => machine.actors.includes(name))
      .map((machine): [string, string] => [name, machine.host.alias]),
  );
}

/**
 * Whether a question that names no host was answered on another one, as this one may have seen when
 * it read the record after a rewrite (protocol.md §5): answered questions are not answered again.
 */
function isTwins(
  { machines }: World,
  { relPath, message }: Stored,
  host: string,
  actor: string,
  messages: readonly Stored[],
): boolean {
  const machine = machines.find((one) => one.host.alias === host);
  const isMeant = message.to.some((to) => to.name === actor && to.host === host);
  return (
    machine?.hasLost === true &&
    !isMeant &&
    messages.some((one) => one.message.from === actor && one.message.re.includes(relPath))
  );
}

/**
 * Whether a machine may have forgotten what it wrote at the time of a message: its state was restored later, and
 * the branch was set back after the copy was made. What that copy lacks of what is lost then stays lost, and so
 * may what it has, where a later state had published a part of it again (docs/decisions/08-history.md).
 */
function isForgotten({ machines, setBackAt }: World, relPath: string, host?: string): boolean {
  const time = digitsOf(relPath.slice(0, relPath.indexOf('Z')));
  return machines
    .filter((one) => host === undefined || one.host.alias === host)
    .some(({ restores }) => restores.some(({ copied, at }) => time < at && copied < setBackAt));
}

/**
 * Whether its answer, or that to a part of it, was taken off the bus: what a machine has settled is not run
 * again for that.
 */
function isTakenOut({ dropped }: World, { relPath }: Stored, messages: readonly Stored[]): boolean {
  const parts = messages.filter(({ message }) => message.cause.includes(relPath));
  const about = new Set([relPath, ...parts.map((part) => part.relPath)]);
  return [...dropped.values()].some((re) => re.some((named) => about.has(named)));
}

/** Whether an answer names exactly the messages it answers, and goes to the asker. */
function fits({ message }: Stored, named: readonly Stored[]): boolean {
  if (message.re.length === 0 || !isAnswer(message)) return true;
  const idOf = (line: string): string => line.split(' ')[1] ?? '';
  const said = message.body.trim().split('\n').map(idOf).sort();
  const asked = named.map((question) => idOf(question.message.body.trim())).sort();
  const isSame =
    new Set(said).size === new Set(asked).size && asked.every((id) => said.includes(id));
  const askers = new Set(named.map((question) => question.message.from));
  return isSame && message.to.every(({ name }) => askers.has(name));
}

async function deadLetters({ machines }: World): Promise<Map<string, Set<string>>> {
  const dead = new Map<string, Set<string>>();
  for (const { host } of machines) {
    const letters = JSON.parse((await host.run('dlq', '--json')).out) as { messages: string[] }[];
    dead.set(host.alias, new Set(letters.flatMap(({ messages }) => messages)));
  }
  return dead;
}

/**
 * Whether a question, or a message it led to, is a dead letter of a machine that should have
 * answered.
 */
function isDead(
  question: Stored,
  host: string,
  dead: ReadonlyMap<string, ReadonlySet<string>>,
  messages: readonly Stored[],
): boolean {
  if (dead.get(host)?.has(question.relPath) === true) return true;
  const ours = new Set([question.relPath]);
  for (const { relPath, message } of messages)
    if ([...message.re, ...message.cause].some((origin) => ours.has(origin))) ours.add(relPath);
  return [...dead.values()].some((letters) => [...ours].some((relPath) => letters.has(relPath)));
}

/** Files of a state directory that are incomplete. */
function broken(state: string): Judged['problems'] {
  if (!existsSync(state)) return [];
  const entries = readdirSync(state, { recursive: true, withFileTypes: true, encoding: 'utf8' });
  return entries.flatMap((entry): Judged['problems'] => {
    const path = join(entry.parentPath, entry.name);
    if (/\.(broken|tmp)$/.test(entry.name))
      return [{ kind: 'broken', text: `left behind: ${path}` }];
    if (!entry.isFile() || !entry.name.endsWith('.json')) return [];
    try {
      JSON.parse(readFileSync(path, 'utf8'));
      return [];
    } catch {
      return [{ kind: 'broken', text: `half written: ${path}` }];
    }
  });
}
