import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { Bus, type Host } from '../support/bus.ts';

/** Commands that go on until they are ended, are for a terminal, or serve a program on their pipes. */
const OTHERS = new Set(['web', 'mcp', 'demo']);

/** What is given to each command, so that it has something to print; `MESSAGE` stands for a message. */
const GIVEN: Readonly<Record<string, readonly string[]>> = {
  'web token': ['list'],
  init: ['made', '--cli', 'no-such-program'],
  send: ['--to', 'nobody', 'hello'],
  ask: ['worker', 'hello', '--timeout', '0'],
  reply: ['MESSAGE', 'and?'],
  cancel: ['MESSAGE'],
  'channel archive': ['general'],
  'host reject': ['0123456789ab'],
  approve: ['MESSAGE'],
  deny: ['MESSAGE'],
  replies: ['MESSAGE'],
  forget: ['MESSAGE'],
  wait: ['MESSAGE', '--timeout', '0'],
  read: ['MESSAGE'],
  explain: ['MESSAGE', 'worker'],
  thread: ['MESSAGE'],
  search: ['hello'],
  watch: ['MESSAGE'],
  'channel create': ['other'],
  'actor show': ['worker'],
  'actor add': ['extra', '--cli', 'no-such-program'],
  'actor edit': ['extra'],
  'actor export': ['extra'],
  'actor import': ['nothing.md'],
  'actor set': ['extra', 'gate=dora', 'gate_plan=true'],
  'actor remove': ['extra'],
  'key use': ['nothing'],
  'key pin': ['anna', 'ssh-ed25519', 'AAAA'],
  'key unpin': ['anna'],
  'key verify': ['MESSAGE'],
  'memory add': ['--subject', 'tea', '--name', 'tea', 'green'],
  'memory search': ['green'],
  'memory show': ['tea'],
  'memory alias': ['tea', 'char'],
  'memory forget': ['tea'],
  'memory restore': ['tea'],
  'memory export': ['notes'],
  'memory import': ['notes'],
  compact: ['MESSAGE', '--by', 'worker', '--timeout', '0'],
  'skill show': ['review'],
  'skill add': ['my-skill'],
  checkout: ['shown'],
  archive: ['--before', '2020-01-01', '--dry-run'],
  dispatch: ['--once', '--host', 'front'],
  'worktree show': ['x'],
  'worktree diff': ['x'],
  'worktree remove': ['x'],
  'session end': ['x'],
  'schedule add': ['daily', '--to', 'nobody', '--every', '1d', 'hello'],
  'schedule show': ['daily'],
  'schedule run': ['daily'],
  'schedule pause': ['daily'],
  'schedule remove': ['daily'],
  'subscription add': ['next', '--source', 'answer:worker', '--to', 'nobody', 'look'],
  'subscription show': ['next'],
  'subscription pause': ['next'],
  'subscription remove': ['next'],
  'event publish': ['build', 'red'],
  'secret set': ['event.build'],
  'secret remove': ['event.build'],
  'service install': ['--dry-run'],
  completion: ['bash'],
};

/** Names in documents that people and machines have chosen, and the one that cli.md fixes. */
const FIXED = new Set(['relPath']);

function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...namesIn(inner)]);
}

/** What docs/json.md says of each command. */
const SAID = new Map(
  readFileSync(new URL('../../docs/json.md', import.meta.url), 'utf8')
    .split('\n')
    .map((line): [string, string] => [/^\| `([^`]+)`/.exec(line)?.[1] ?? '', line]),
);

/** The names in a document, at its top, of which docs/json.md says nothing. */
function unsaid(command: string, value: unknown): string[] {
  const [first = value] = Array.isArray(value) ? (value as unknown[]) : [value];
  if (typeof first !== 'object' || first === null || 'error' in first) return [];
  const row = SAID.get(command) ?? '';
  if (!row.includes('{') || row.includes(', … }')) return [];
  return Object.keys(first).filter((name) => !new RegExp(`\\b${name}\\??:`).test(row));
}

async function world(): Promise<{ host: Host; message: string }> {
  const bus = new Bus();
  const host = await bus.host('front', {
    worker: { default: { cli: 'echo done', attempts: '1' } },
  });
  const message = await host.send('worker', 'hello');
  await host.once();
  mkdirSync(join(host.dir, 'my-skill'));
  writeFileSync(
    join(host.dir, 'my-skill', 'SKILL.md'),
    '---\nname: my-skill\ndescription: helps\n---\ndo it\n',
  );
  return { host, message };
}

describe('with --json', () => {
  it('every command of the table prints JSON and nothing else on stdout, in names of one form', async () => {
    const { host, message } = await world();
    const odd: string[] = [];
    for (const { name, args, hidden, interrupt, lines } of COMMANDS) {
      if (hidden === true || interrupt === 'child' || OTHERS.has(name)) continue;
      const words = (GIVEN[name] ?? []).map((word) => (word === 'MESSAGE' ? message : word));
      const isMissing = words.length === 0 && args?.startsWith('<') === true;
      expect(isMissing, `what is given to ${name}`).toBe(false);
      expect(SAID.has(name), `${name} in docs/json.md`).toBe(true);
      const argv = [...name.split(' '), ...words, '--json'];
      const { code, out, err } = await host.runWith({ stdin: '' }, ...argv);
      const documents = lines === true ? out.split('\n').slice(0, -1) : out === '' ? [] : [out];
      // What goes on, or has nothing to say, may print nothing; every failure is a document as well.
      if (documents.length === 0 && (code !== 0 || !['dispatch', 'logs', 'chat'].includes(name)))
        odd.push(`${name}: nothing (${String(code)}) ${err}`);
      for (const text of documents) {
        try {
          const value = JSON.parse(text) as unknown;
          const names = namesIn(value).filter((one) => !FIXED.has(one));
          odd.push(...unsaid(name, value).map((one) => `${name}: ${one} is not in docs/json.md`));
          odd.push(...names.filter((one) => /[A-Z]/.test(one)).map((one) => `${name}: ${one}`));
        } catch {
          odd.push(`${name}: ${text}`);
        }
      }
    }
    expect(odd).toEqual([]);
  });

  it('warnings stand on stderr', async () => {
    const { host } = await world();
    for (const argv of [
      ['init', 'made', '--cli', 'no-such-program'],
      ['send', '--to', 'nobody', 'hello'],
      ['schedule', 'add', 'daily', '--to', 'nobody', '--every', '1d', 'hello'],
      ['subscription', 'add', 'next', '--source', 'answer:worker', '--to', 'nobody', 'look'],
      ['actor', 'set', 'worker', 'gate=dora', 'gate_plan=true'],
      ['actor', 'add', 'extra', '--cli', 'no-such-program'],
    ]) {
      const { code, out, err } = await host.run(...argv, '--json');
      expect([argv.join(' '), code]).toEqual([argv.join(' '), 0]);
      expect(err).toMatch(/^crosstalk .*: .*\n/);
      expect(JSON.parse(out)).not.toHaveProperty('error');
    }
  });
});

it('--jsonl prints a document a line where several come, also with --follow and for one alone', async () => {
  const { host } = await world();
  for (const argv of [['log'], ['inbox'], ['inbox', '--count']]) {
    const [one, other] = [await host.run(...argv, '--json'), await host.run(...argv, '--jsonl')];
    const lines = other.out.split('\n').slice(0, -1);
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(typeof JSON.parse(line)).toBe('object');
    if (!argv.includes('--count')) expect(other.out).toBe(one.out);
  }
  expect(await host.run('log', 'nowhere', '--jsonl')).toMatchObject({
    code: 1,
    out: expect.stringContaining('{"error":{"code":"not_found"') as string,
  });
  expect((await host.run('status', '--jsonl')).code).toBe(2);
});
