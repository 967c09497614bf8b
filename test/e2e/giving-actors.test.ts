import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';
import { profileWith, vault } from '../support/tools.ts';

// automation.md, "Tools by value": an actor to give away.

const PROFILE = '---\nname: critic\n---\n\nYou are critic.\n';
const SKILL = { path: 'SKILL.md', content: '---\nname: audit\ndescription: d\n---\n\nCount.\n' };

const given = (more: Record<string, unknown> = {}): string =>
  JSON.stringify({ crosstalk_actor: 1, name: 'critic', profile: PROFILE, skills: [], ...more });

const withFiles = (...paths: string[]): string =>
  given({
    skills: [
      { name: 'audit', files: [SKILL, ...paths.map((path) => ({ path, content: 'text' }))] },
    ],
  });

async function front(): Promise<Host> {
  return new Bus().host('front', { worker: 'cat', loner: 'cat' });
}

function imports(
  host: Host,
  text: string,
  ...options: string[]
): Promise<{ code: number; out: string; err: string }> {
  const file = join(host.bus.root, 'actor.json');
  writeFileSync(file, text);
  return host.run('actor', 'import', file, ...options);
}

it('an actor goes from one transport into another through a pipe', { tags: 'long' }, async () => {
  const host = await front();
  host.edit({ 'local/actors/worker.md': profileWith('worker', [vault({ ONE: 'aaa' })]) });
  const exported = await host.run('actor', 'export', 'worker');
  const elsewhere = await new Bus().host('back', { other: 'cat' });
  const imported = await elsewhere.runWith(
    { stdin: `\uFEFF${exported.out}` },
    ...['actor', 'import', '-', '--name', 'helper'],
  );
  expect(imported.code, imported.err).toBe(0);
  const again = await elsewhere.run('actor', 'export', 'helper');
  const [was, is] = [exported, again].map(({ out }) => JSON.parse(out) as { profile: string });
  expect(is?.profile.replace('helper', 'worker')).toBe(was?.profile);
});

describe('an import changes nothing', () => {
  it.each([
    ['an actor of subscriptions', 'subscription', 'choose another name'],
    ['an actor of schedules', 'schedule', 'choose another name'],
    ['everybody', 'all', 'means everybody'],
    ['a part of every object', '__proto__', 'is not a name'],
  ])('under the name of %s', async (_what, name, why) => {
    const host = await front();
    const profile = PROFILE.replaceAll('critic', name);
    const imported = await imports(host, given({ name, profile }));
    expect([imported.code, imported.out]).toEqual([2, '']);
    const renamed = await imports(host, given(), '--name', name);
    expect([renamed.code, renamed.err]).toEqual([2, expect.stringContaining(why)]);
  });

  it.each([
    ['an actor that came with Crosstalk', given(), 'librarian', 'upstream/actors/librarian.md'],
    ['an actor that a host serves', given(), 'loner', 'an actor loner, served by front,'],
    [
      'a skill that came with Crosstalk',
      given({
        skills: [
          {
            name: 'review',
            files: [{ ...SKILL, content: SKILL.content.replace('audit', 'review') }],
          },
        ],
      }),
      'critic',
      'upstream/skills/review/SKILL.md',
    ],
  ])(
    'in the place of %s, unless that is asked for',
    { tags: 'long' },
    async (_what, text, name, there) => {
      const host = await front();
      const refused = await imports(host, text, '--name', name);
      expect([refused.code, refused.err]).toEqual([
        1,
        expect.stringContaining(`there is ${there}`),
      ]);
      const replaced = await imports(host, text, '--name', name, '--replace');
      expect(replaced.code, replaced.err).toBe(0);
    },
  );

  it.each([
    ['a file and a folder of one name', ['a', 'a/b.md']],
    ['a file in a file', ['list.md/x.md', 'list.md']],
    ['names that differ in case', ['A.md', 'a.md']],
    ['a name twice', ['a.md', 'a.md']],
    ['a name above its folder', ['../x.md']],
    ['a path of git', ['.git/config']],
    ['an absolute path', ['/etc/x']],
    ['the separator of another system', ['a\\b.md']],
  ])('with a skill that has %s', { tags: 'long' }, async (_what, paths) => {
    const host = await front();
    const imported = await imports(host, withFiles(...paths));
    expect([imported.code, imported.out]).toEqual([2, '']);
    expect(imported.err).toContain('its skill audit has');
  });

  it.each([
    ['deep JSON', '['.repeat(100_000)],
    ['keys of every object', '{"__proto__":{"crosstalk_actor":1,"name":"x"}}'],
    [
      'an alias bomb',
      given({
        profile: `---\nname: critic\na: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
          .split(/(?=.)/)
          .map((one, at) => `${one}: &${one} [${`*${'abcdefghi'[at] ?? ''},`.repeat(8)}x]`)
          .join('\n')}\n---\nx`,
      }),
    ],
    ['a profile in JavaScript', given({ profile: '---js\n{ name: process.exit(7) }\n---\nx' })],
    ['more than 16 MiB', ' '.repeat(16 * 1024 * 1024 + 1)],
  ])('from a file with %s', { tags: 'long' }, async (_what, text) => {
    const host = await front();
    const imported = await imports(host, text);
    expect([imported.code, imported.out]).toEqual([2, '']);
    expect(imported.err.trimEnd().split('\n')).toHaveLength(1);
  });
});

it('what looks like a secret in an exported actor is told, without its value', async () => {
  const host = await front();
  const server = { name: 'shop', command: 'shop', args: ['--token=hunter2hunter2'] };
  const web = { name: 'web', url: 'https://x.example', headers: { Authorization: 'Basic abc123' } };
  host.edit({
    'local/actors/worker.md': profileWith('worker', [
      { ...server, env: { API_KEY: 'literal-value', OTHER_KEY: '${shop.key}', LANG: 'de' } },
      web,
      vault({ HALF: 'kept-by-this-machine' }),
    ]),
  });
  await host.runWith({ stdin: 'kept-by-this-machine' }, 'secret', 'set', 'half.key');
  const exported = await host.run('actor', 'export', 'worker');
  expect(exported.code).toBe(0);
  expect(exported.err).toContain('the tool shop has a value of its own for API_KEY');
  expect(exported.err).toContain('the tool shop has a value of its own for --token');
  expect(exported.err).toContain('the tool web has a value of its own for Authorization');
  expect(exported.err).toContain('the secret half.key of this machine');
  for (const value of ['OTHER_KEY', 'LANG', 'literal-value', 'hunter2', 'abc123', 'kept-by'])
    expect(exported.err).not.toContain(value);
});

it.each([
  ['there is no such actor', 'nobody', 'no actor "nobody"'],
  ['its profile cannot be read', 'worker', 'worker has no profile that can be read'],
])('nothing is exported where %s', async (_what, name, why) => {
  const host = await front();
  host.edit({ 'local/actors/worker.md': '---\nname: worker\nmcps: [\n---\n' });
  const exported = await host.run('actor', 'export', name);
  expect([exported.code, exported.out]).toEqual([1, '']);
  expect(exported.err).toContain(why);
});
