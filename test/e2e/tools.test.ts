import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { agent } from '../support/agents.ts';
import { Bus, type Event, type Held, type Host } from '../support/bus.ts';
import { profileWith, vault } from '../support/tools.ts';

// automation.md, "Tools by value".

const CLAUDE = agent('tooled/claude', '-p');
const SECRET = 'pass $word’s "end"';

async function worker(cli = CLAUDE): Promise<Host> {
  return new Bus().host('front', { worker: cli });
}

function tools(host: Host, ...mcps: unknown[]): void {
  host.edit({ 'local/actors/worker.md': profileWith('worker', mcps) });
}

const secret = (host: Host, name: string, value = SECRET): Promise<{ code: number }> =>
  host.runWith({ stdin: value }, 'secret', 'set', name);

async function held(host: Host): Promise<Held[]> {
  const shown = await host.run('host', 'show', '--host', host.alias, '--json');
  return (JSON.parse(shown.out) as { held: Held[] }).held;
}

async function approve(host: Host): Promise<void> {
  const digests = (await held(host)).map(({ digest }) => digest);
  const approved = await host.run('host', 'approve', '--host', host.alias, ...digests);
  expect(approved.code, approved.err).toBe(0);
}

interface Answer {
  text: string;
  events: Event[];
}

async function ask(host: Host): Promise<Answer> {
  const question = await host.send('worker', 'What is in the vault?', '--new');
  const events = await host.once();
  const text = (await host.run('replies', question)).out;
  return { text, events };
}

async function shown(host: Host): Promise<{ mcps: unknown[]; mcps_left_out: unknown[] }> {
  const ran = await host.run('actor', 'show', 'worker', '--json');
  expect(ran.code, ran.err).toBe(0);
  return JSON.parse(ran.out) as { mcps: unknown[]; mcps_left_out: unknown[] };
}

it(
  'tools of a pushed profile run once they are approved, with a secret that is on no command line',
  { tags: 'long' },
  async () => {
    const host = await worker();
    await secret(host, 'vault.key');
    tools(host, vault({ KEY: '${vault.key}' }));
    const before = await ask(host);
    expect(before.text).toContain('no tools');
    const [change] = await held(host);
    expect(change).toMatchObject({ kind: 'mcps', name: 'worker.mcps' });
    expect(before.events).toContainEqual(
      expect.objectContaining({ event: 'host_change_held', digest: change?.digest }),
    );
    expect((await shown(host)).mcps).toEqual([
      { name: 'vault', state: 'held', digest: change?.digest, missing: [] },
    ]);
    await approve(host);
    const { text, events } = await ask(host);
    expect(text).toContain(
      `vault says The vault in /: KEY has ${String(SECRET.length)} characters, ends in nd", and is not seen on command lines.`,
    );
    expect(text).toContain('mode 600');
    expect(text).toContain('--mcp-config --strict-mcp-config --allowedTools');
    expect(JSON.stringify(events)).not.toContain(SECRET);
    expect((await shown(host)).mcps).toEqual([{ name: 'vault', state: 'approved', missing: [] }]);
    expect(readdirSync(join(host.state, 'run'))).toEqual([]);
  },
);

it('a changed, an added and a removed tool are held, and the approved set stays in force as a whole', async () => {
  const host = await worker();
  tools(host, vault({ ONE: 'aaa' }));
  await approve(host);
  tools(host, vault({ ONE: 'bbb' }), vault({ TWO: 'ccc' }, 'other'));
  const same = await ask(host);
  expect(same.text).toContain('ends in aaa');
  expect(same.text).not.toContain('other says');
  const [change] = await held(host);
  expect(JSON.stringify(change)).toContain('mcps.other');
  expect(JSON.stringify(change)).toContain('bbb');
  tools(host);
  expect((await shown(host)).mcps).toMatchObject([{ name: 'vault', state: 'removed' }]);
  expect((await ask(host)).text).toContain('ends in aaa');
  expect((await host.run('host', 'approve', '--host', host.alias, change?.digest ?? '')).code).toBe(
    1,
  );
  await approve(host);
  expect((await ask(host)).text).toContain('no tools');
  expect(await held(host)).toEqual([]);
});

it(
  'a tier that is approved, a trusted host file and another tier approve no tools',
  { tags: 'long' },
  async () => {
    const host = await worker();
    host.neverStarted();
    tools(host, vault({ ONE: 'aaa' }));
    const tier = (await held(host)).find(({ kind }) => kind === 'tier');
    await host.run('host', 'approve', '--host', host.alias, tier!.digest);
    expect((await ask(host)).text).toContain('no tools');
    await approve(host);
    expect((await ask(host)).text).toContain('ends in aaa');
    tools(host, vault({ ONE: 'bbb' }));
    host.declare({ worker: `${CLAUDE} --verbose-too` });
    await host.once('--trust-host-file');
    const { text } = await ask(host);
    expect(text).toContain('--verbose-too');
    expect(text).toContain('ends in aaa');
  },
);

it('a run whose tools need a secret that is missing is parked, and goes on once it is there', async () => {
  const host = await worker();
  tools(host, vault({ KEY: '${vault.key}', OTHER: '${other}' }));
  await approve(host);
  await secret(host, 'other');
  const { events } = await ask(host);
  const parked = events.find(({ event }) => event === 'parked');
  expect(parked).toMatchObject({ reason: 'missing_secret' });
  expect(parked?.['detail']).toContain('crosstalk secret set vault.key');
  expect(parked?.['detail']).not.toContain('other');
  expect((await shown(host)).mcps).toMatchObject([{ state: 'approved', missing: ['vault.key'] }]);
  expect(
    host.bus
      .from('worker')
      .map(({ message }) => message.body)
      .join(),
  ).not.toContain('vault says');
  const status = (await host.run('status')).out;
  expect(status).toContain('parked deliveries whose tools lack a secret: 1');
  expect(status).toContain('the tools of worker need vault.key');
  expect(status).not.toContain('too deep');
  await secret(host, 'vault.key');
  const retried = await host.run('dlq', '--retry', 'all');
  expect(retried.code, retried.err).toBe(0);
  await host.once();
  expect(host.bus.from('worker').at(-1)?.message.body).toContain(
    'vault says The vault in /: KEY has',
  );
});

it('a tool whose program lies in the transport cannot be approved', { tags: 'long' }, async () => {
  const host = await worker();
  tools(host, { name: 'own', command: '/bin/sh', args: [join(host.dir, 'local/x.sh')] });
  const [change] = await held(host);
  expect(change).toMatchObject({
    refused: expect.stringContaining('inside the transport') as unknown,
  });
  expect((await host.run('host', 'approve', '--host', host.alias, change?.digest ?? '')).code).toBe(
    1,
  );
  expect((await ask(host)).text).toContain('no tools');
});

it('a CLI that takes no tools runs without them, and that is said', async () => {
  const host = await worker('cat >/dev/null; echo done');
  tools(host, vault({ ONE: 'aaa' }));
  await approve(host);
  const { text, events } = await ask(host);
  expect(text).toContain('done');
  expect(events).toContainEqual(
    expect.objectContaining({ event: 'mcp_left_out', actor: 'worker', servers: ['vault'] }),
  );
  expect((await shown(host)).mcps_left_out).toMatchObject([{ tier: 'default' }]);
});

it(
  'the operator who writes tools with actor edit approves them, and not those of somebody else',
  { tags: 'long' },
  async () => {
    const host = await worker();
    const edit = (...mcps: unknown[]): Promise<{ code: number; err: string }> =>
      host.runWith(
        { stdin: profileWith('worker', mcps) },
        'actor',
        'edit',
        'worker',
        '--file',
        '-',
      );
    await host.once();
    const own = vault({ ONE: 'aaa' });
    expect((await edit(own)).code).toBe(0);
    expect((await ask(host)).text).toContain('ends in aaa');
    tools(host, own, vault({ TWO: 'bbb' }, 'pushed'));
    await host.news();
    const mixed = await edit(own, vault({ TWO: 'bbb' }, 'pushed'), vault({ THREE: 'ccc' }, 'more'));
    expect(mixed.err).toContain('wait for approval');
    const { text } = await ask(host);
    expect(text).not.toContain('pushed says');
    expect(await held(host)).toHaveLength(1);
  },
);

it('an exported actor comes with its skills and tools, without secrets, and is approved nowhere', async () => {
  const host = await worker();
  await secret(host, 'vault.key');
  const skill = '---\nname: audit\ndescription: Audits.\n---\n\nCount.\n';
  host.edit({
    'local/actors/worker.md': profileWith('worker', [vault({ KEY: '${vault.key}' })], {
      skills: ['audit', 'review'],
    }),
    'local/skills/audit/SKILL.md': skill,
    'local/skills/audit/list.md': 'zebras\n',
  });
  const exported = await host.run('actor', 'export', 'worker');
  expect(exported.code, exported.err).toBe(0);
  expect(exported.out).not.toContain(SECRET);
  const file = join(host.bus.root, 'worker.json');
  writeFileSync(file, exported.out);

  const elsewhere = await new Bus().host('back', { other: CLAUDE });
  const imported = await elsewhere.run('actor', 'import', file, '--name', 'helper', '--json');
  expect(imported.code, imported.err).toBe(0);
  expect(JSON.parse(imported.out)).toMatchObject({
    name: 'helper',
    skills: ['audit'],
    mcps: ['vault'],
    missing: ['vault.key'],
  });
  expect(readFileSync(join(elsewhere.dir, 'local/skills/audit/list.md'), 'utf8')).toBe('zebras\n');
  const again = await elsewhere.run('actor', 'import', file, '--name', 'helper');
  expect([again.code, again.err]).toEqual([
    1,
    expect.stringContaining('there is local/actors/helper.md'),
  ]);
  elsewhere.declare({ helper: CLAUDE });
  const changes = await held(elsewhere);
  expect(changes.map(({ name }) => name).sort()).toEqual(['helper.default', 'helper.mcps']);
});

it.each([
  ['no JSON', 'x'],
  ['another form', '{}'],
  ['a path as name', JSON.stringify({ crosstalk_actor: 1, name: '../x', profile: '', skills: [] })],
  [
    'a skill that lays a setting',
    JSON.stringify({
      crosstalk_actor: 1,
      name: 'evil',
      profile: '---\nname: evil\n---\n',
      skills: [
        {
          name: 'audit',
          files: [
            { path: 'SKILL.md', content: '---\nname: audit\ndescription: d\n---\n\nCount.\n' },
            { path: '.claude/settings.json', content: '{}' },
          ],
        },
      ],
    }),
  ],
  [
    'a skill that leaves its folder',
    JSON.stringify({
      crosstalk_actor: 1,
      name: 'evil',
      profile: '---\nname: evil\n---\n',
      skills: [
        {
          name: 'audit',
          files: [
            { path: 'SKILL.md', content: '---\nname: audit\ndescription: d\n---\n\nCount.\n' },
            { path: '../../../hosts/front.md', content: '' },
          ],
        },
      ],
    }),
  ],
])('an import of %s changes nothing', { tags: 'long' }, async (_what, text) => {
  const host = await worker();
  const file = join(host.bus.root, 'evil.json');
  writeFileSync(file, text);
  const imported = await host.run('actor', 'import', file);
  expect([imported.code, imported.out]).toEqual([2, '']);
  const name = await host.run('actor', 'import', file, '--name', '../../x');
  expect(name.code).toBe(2);
});
