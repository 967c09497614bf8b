import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseProfile } from '../../src/protocol/files/actor.ts';
import { agentOf, KNOWN_AGENTS, knownAgent } from '../../src/agents/agents.ts';
import { formatChannel, parseChannel } from '../../src/protocol/files/channel.ts';
import {
  chooseTier,
  parseHostFile,
  TIER_DEFAULTS,
  type HostFile,
} from '../../src/protocol/files/host-file.ts';
import {
  placeOf,
  versionProblem,
  isName,
  isRelPath,
  relPathAt,
  toName,
} from '../../src/protocol/layout.ts';
import { outgoing } from '../../src/protocol/outgoing.ts';
import { said } from '../support/messages.ts';

const id = '3f0c2a52-9f0e-4a57-8f6c-0b7a5f5d2c11';

describe('a host file', () => {
  const parse = (yaml: string): ReturnType<typeof parseHostFile> =>
    parseHostFile(`---\n${yaml}---\n\nnotes\n`);
  const value = (yaml: string): HostFile => (parse(yaml) as { value: HostFile }).value;

  it('names whose tasks a tier serves, as a list or with commas, and nothing that is no name', () => {
    const tier = (given: string): ReturnType<typeof parse> =>
      parse(`alias: mac\nactors:\n  a:\n    t: {cli: run, only_from: ${given}}\n`);
    const named = (given: string): unknown =>
      (tier(given) as { value: HostFile }).value.actors.get('a')?.[0]?.onlyFrom;
    expect(named('anna')).toEqual(['anna']);
    expect(named('[anna, bob, anna]')).toEqual(['anna', 'bob']);
    expect(named('"anna, bob"')).toEqual(['anna', 'bob']);
    for (const given of ['[]', '""', '[[anna]]', '{anna: bob}', '[anna@front]', '"anna,"'])
      expect(tier(given), given).toMatchObject({
        ok: false,
        problems: [expect.stringContaining('a.t.only_from is ')],
      });
  });

  it('declares tiers as command lines or with options; the first is the default', () => {
    const { actors } = value(
      'alias: mac\nhostname: 1e5\nactors:\n  a:\n    small: run small\n    large: {cli: run large, count: 3, timeout: 1.5h, attempts: 5, retry_delay: 90}\n',
    );
    const tiers = actors.get('a')!;
    expect(tiers[0]).toEqual({ ...TIER_DEFAULTS, name: 'small', cli: 'run small' });
    expect(tiers[1]).toEqual({
      name: 'large',
      cli: 'run large',
      count: 3,
      timeout: 5_400_000,
      attempts: 5,
      retryDelay: 90_000,
      maxRunsPerHour: 600,
      maxDepth: 40,
    });
    expect(chooseTier(tiers, [undefined])?.name).toBe('small');
    expect(chooseTier(tiers, ['large', 'small', undefined, 'huge'])?.name).toBe('small');
  });
  it('says every problem at once', () => {
    expect(
      parse(
        'alias: ../x\nactors:\n  "a b": {t: x}\n  c: {}\n  d: {t: {cli: "", count: 0, timeout: soon, attempts: [3]}}\n',
      ),
    ).toEqual({
      ok: false,
      problems: [
        'alias is "../x", expected a name',
        'actors: "a b" is not a name',
        'actors.c is "{}", expected at least one tier, as in "default: my-cli"',
        'actors.d.t.cli is "", expected a command line',
        'actors.d.t.count is "0", expected a whole number from 1 to 100000',
        'actors.d.t.timeout is "soon", expected a duration such as 90, 90s, 10m or 2h, at most 24 days',
        'actors.d.t.attempts is "["3"]", expected a whole number from 1 to 100000',
      ],
    });
    expect(parse('alias: a\n')).toEqual({ ok: false, problems: ['actors is missing'] });
  });
});

describe('a channel', () => {
  it('comes back as it was written', () => {
    const channel = {
      id,
      name: 'release: 2.0',
      createdBy: 'anna',
      createdAt: '2026-06-09T17:00:00.000Z',
      parent: id,
      body: 'Be brief.\n',
    };
    expect(parseChannel(formatChannel(channel), id)).toEqual({ ok: true, value: channel });
  });
  it('whose header refers to itself is unreadable', () => {
    expect(parseChannel('---\nname: &a [*a]\n---\n', id)).toEqual({
      ok: false,
      problems: ['the frontmatter is not valid YAML: an alias refers to itself'],
    });
  });
  it('whose header gives a field a second time by an alias, or a key that is a list, is unreadable', () => {
    for (const header of ['&k name: "a"\n*k : "b"\n', '? [name]\n: "a"\n'])
      expect(parseChannel(`---\n${header}---\n`, id)).toMatchObject({
        ok: false,
        problems: [expect.stringContaining('a key is not a text at line')],
      });
  });
  it('needs a name and a parent that is an id', () => {
    expect(parseChannel('---\nparent: general\n---\n', id)).toEqual({
      ok: false,
      problems: ['name is missing', 'parent is "general", expected a channel id'],
    });
  });
});

it('a profile’s name is its file’s', () => {
  expect(parseProfile('---\nname: a\ndescription: d\n---\n\nbe kind\n', 'a')).toEqual({
    ok: true,
    value: { name: 'a', description: 'd', body: 'be kind\n' },
  });
  expect(parseProfile('---\nname: b\n---\n', 'a')).toEqual({
    ok: false,
    problems: ['name is "b", expected "a" as in the file\'s name'],
  });
});

it('a profile with nothing but its name is one: its prompt is not lost', () => {
  expect(parseProfile('---\nname: a\n---\n\nbe kind\n', 'a')).toEqual({
    ok: true,
    value: { name: 'a', description: '', body: 'be kind\n' },
  });
  expect(parseProfile('---\nname: a\ndescription: [b]\n---\n', 'a')).toMatchObject({ ok: false });
});

describe('paths', () => {
  it('of messages are made from the time and are valid', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('1970-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }),
        (at) => {
          expect(isRelPath(relPathAt(at, '0123456789ab'))).toBe(true);
        },
      ),
    );
    expect(relPathAt(new Date('2026-06-09T19:05:07.089Z'), 'abcdef01')).toBe(
      '2026/06/09/190507089Z-abcdef01.md',
    );
  });
  it.each([
    '../x',
    '2026/06/09/190507089Z-abcdef0.md',
    '2026/06/09/190507089z-abcdef01.md',
    '2026/06/09/190507089Z-abcdef01.MD',
    '2026/06/09/190507089Z-abcdef01.md\n',
    ' 2026/06/09/190507089Z-abcdef01.md',
    '/2026/06/09/190507089Z-abcdef01.md',
  ])('%j is none', (text) => {
    expect(isRelPath(text)).toBe(false);
  });
  it.each([
    [`data/channels/${id}/CHANNEL.md`, 'channel'],
    [`data/channels/${id}/2026/06/09/190507089Z-abcdef01.md`, 'message'],
    [`data/channels/${id.toUpperCase()}/2026/06/09/190507089Z-ABCDEF01.md`, 'message'],
    [`data/channels/${id}/2026/06/09/x.md`, 'stray'],
    [`data/channels/${id}/.gitkeep`, 'other'],
    ['data/channels/general/CHANNEL.md', 'stray'],
    ['hosts/mac.md', 'host'],
    ['hosts/mac/x.md', 'other'],
    ['local/actors/a.md', 'profile'],
    ['upstream/CROSSTALK.md', 'upstream'],
    ['README.md', 'other'],
  ])('%s is the place of: %s', (path, kind) => {
    expect(placeOf(path).kind).toBe(kind);
  });
});

it.each([
  ['a', true],
  ['a.b-c_1', true],
  ['', false],
  ['-a', false],
  ['a b', false],
  ['a/b', false],
  ['ä', false],
  ['x'.repeat(65), false],
  ['a\n', false],
])('%j is a name: %s', (text, expected) => {
  expect(isName(text)).toBe(expected);
});

it('any login becomes a name, or none', () => {
  expect(toName('DOMAIN\\anna m.')).toBe('DOMAIN-anna-m.');
  expect(toName('***')).toBeUndefined();
  fc.assert(fc.property(fc.string(), (text) => toName(text) === undefined || isName(toName(text))));
});

it('only the version 6.0 is ours', () => {
  expect(versionProblem('6.0\n', '/t')).toBeUndefined();
  expect(versionProblem('6.0', '/t')).toBeUndefined();
  expect(versionProblem('6.1\n', '/t')).toContain('says "6.1"');
  expect(versionProblem('6.0\n\n', '/t')).toContain('unsupported');
  expect(versionProblem(undefined, '/t')).toContain('crosstalk init');
});

it('a command line is recognised as a known agent’s by its program', () => {
  expect(agentOf('/usr/local/bin/claude -p --model opus')?.name).toBe('claude');
  expect(agentOf('my-claude -p')).toBeUndefined();
  for (const { name, headless } of KNOWN_AGENTS) expect(agentOf(headless)).toBe(knownAgent(name));
});

it('each message is a commit of its own under its author’s logical name', () => {
  const { relPath, commit } = outgoing(
    said(1, 'w', 'x', { re: [2], host: 'mac' }).message,
    id,
    'vm',
    'abcdef0123',
  );
  expect(relPath).toBe('2026/06/09/190000000Z-abcdef0123.md');
  expect(commit).toMatchObject({
    author: { name: 'w', email: 'w@mac.crosstalk.local' },
    files: [{ path: `data/channels/${id}/${relPath}` }],
  });
});
