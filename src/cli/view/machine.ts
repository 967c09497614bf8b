import type { Status } from '../../actions/health/report.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import type { ActorInfo } from '../../actions/setup/actors.ts';
import type { shownServers, ShownServer } from '../../actions/setup/actor-servers.ts';
import { shortName } from './message.ts';
import {
  type HeldChange,
  commandText,
  nameText,
  optionText,
  pushedText,
} from '../../protocol/approval/approval.ts';
import { optionsOf, type Value } from '../../protocol/approval/record.ts';
import type { Tier } from '../../protocol/files/host-file.ts';
import { localTimes } from '../../present/times.ts';
import { gateLine } from '../../present/holds.ts';
import { heardWords } from '../../present/hosts.ts';

/** Returns a line for each MCP server, and one for each tier that does not receive them. */
export function toolRows(tools: Awaited<ReturnType<typeof shownServers>> | false): string[][] {
  if (tools === false || tools.servers.length === 0) return [];
  return [
    ...tools.servers.map(({ name, state, digest, missing }) => {
      const how = digest === undefined ? '' : `, crosstalk host approve ${digest}`;
      const lacks = missing.length === 0 ? '' : `; missing: ${missing.join(', ')}`;
      return ['tool', `${name}: ${TOOL_STATES[state]}${how}${lacks}`];
    }),
    ...tools.without.map(({ tier, why }) => ['no tools', `${tier}: ${why}`]),
  ];
}

const TOOL_STATES: Record<ShownServer['state'], string> = {
  approved: 'approved',
  held: 'held, as its definition is not approved here',
  removed: 'in force, as its removal is not approved here',
  not_served: 'not served by this machine',
};

/** Words the hosts that serve an actor, with its tiers there. */
export function served({ hosts }: Pick<ActorInfo, 'hosts'>): string {
  return hosts.length === 0 ? 'no host' : hosts.map(host).join(', ');
}

function host({ alias, tiers, live, heard_s: heard }: ActorInfo['hosts'][number]): string {
  const isThere = live === undefined ? '' : `, ${heardWords({ live, heard_s: heard ?? null })}`;
  return `${alias} (${tiers.join(', ')}${isThere})`;
}

/** Words the command of a tier, and its differences from the defaults. */
export function tierText(tier: Tier): string {
  const rest = Object.entries(optionsOf(tier)).flatMap(([option, value]) =>
    option === 'cli' ? [] : [`${option.replaceAll('_', ' ')} ${wordsOf(option, value)}`],
  );
  return [commandText(tier.cli), ...(rest.length === 0 ? [] : [`(${rest.join('; ')})`])].join('  ');
}

/** Returns a value without the marks of JSON, if it is plain text or a list of plain texts. */
function wordsOf(option: string, value: Value): string {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value];
  const words = all.filter((one) => typeof one === 'string');
  const isPlain = words.length === all.length && words.every((one) => /^[\w.@/~:-]+$/.test(one));
  return isPlain ? words.join(', ') : optionText(option, value);
}

/** Formats a held change: its digest, and both texts of every option that differs. */
export function changeLines(change: HeldChange): string {
  const { digest, name, changes, refused } = change;
  const pushed = pushedText(change);
  return [
    `${digest}  ${nameText(name)}`,
    ...(pushed === undefined ? [] : [`  ${localTimes(pushed)}`]),
    ...changes.flatMap(({ option, approved, proposed }) => [
      `  ${nameText(option)}`,
      ...(approved === undefined ? [] : [`  - ${optionText(option, approved)}`]),
      ...(proposed === undefined ? ['  + (removed)'] : [`  + ${optionText(option, proposed)}`]),
    ]),
    ...(refused === undefined ? [] : [`  cannot be approved: ${refused}`]),
  ].join('\n');
}

/** Returns the sessions that runs continue, a row each. */
export function sessionRows({ sessions }: Status): string[][] {
  return sessions.map(({ actor, tier, agent, threads, used }) => [
    actor,
    nameText(tier),
    agent,
    threads === 1 ? '1 thread' : `${String(threads)} threads`,
    `last used ${used}`,
  ]);
}

const MIB = 1024 * 1024;

/** Words the memory of all pooled processes. */
export function warmTitle({ warm }: Status): string {
  const all = warm.reduce((sum, { memory }) => sum + memory, 0);
  return `Sessions kept warm, with ${megabytes(all)} of memory`;
}

/** Returns the pooled processes, a row each. */
export function warmRows(warm: Status['warm']): string[][] {
  return warm.map(({ actor, tier, agent, turns, context, memory, used, id }) => [
    actor,
    nameText(tier),
    agent,
    turns === 1 ? '1 run' : `${String(turns)} runs`,
    context === null ? '' : `${String(context.used)} of ${String(context.size)} tokens`,
    megabytes(memory),
    `last used ${used}`,
    id,
  ]);
}

function megabytes(bytes: number): string {
  return `${String(Math.round(bytes / MIB))} MiB`;
}

/** Returns the questions to the viewer, as `status` shows them, with the ways to react to them. */
export function inboxRows({ inbox }: Status): string[][] {
  if (inbox === null) return [];
  const { asking, questions } = inbox;
  const more = questions - asking.length;
  return [
    ...asking.map(({ from, relPath, excerpt }) => [
      escapeInvisible(from),
      shortName(relPath),
      escapeInvisible(oneLine(excerpt)),
    ]),
    ...(more > 0
      ? [[`and ${String(more)} more`, '', 'see them with: crosstalk inbox --questions']]
      : []),
    ...(asking.some(({ proposal }) => proposal)
      ? [['', '', 'decide with: crosstalk approve <message>, or crosstalk deny <message> "<why>"']]
      : []),
    ...(asking.some(({ proposal }) => !proposal)
      ? [['', '', 'answer with: crosstalk reply <message> "<text>"']]
      : []),
  ];
}

/** Returns the mail of this machine that waits for somebody to decide on a plan. */
export function gatedRows({ gated }: Status): string[][] {
  return gated.flatMap((one) => [
    [one.actor, shortName(one.messages[0] ?? ''), `since ${one.since}`, gateLine(one.actor, one)],
    ...one.ignored.map(({ relPath, decision, why }) => [
      ...['', shortName(relPath)],
      ...[`ignored: ${decision}`, why],
    ]),
  ]);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
