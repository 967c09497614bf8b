import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Status } from '../../src/actions/health/report.ts';
import { Outbox } from '../../src/state/outbox.ts';
import { Bus, type Event, type Host } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { Program } from '../support/process.ts';
import { allTextBut, forget, forgetFacts } from '../support/rows.ts';
import { Persuaded } from '../support/run-commands.ts';
import { heart, SECRETS } from '../support/secrets.ts';
import { Web } from '../support/web.ts';

// work.md, "Nothing secret leaves".

const kinds = Object.entries(SECRETS);
const SECRET = SECRETS['GitHub token']?.(42) ?? '';

interface Held {
  id: string;
  what: string;
  answer: boolean;
  found: { kind: string; where: string; line: number }[];
}

async function heldOn(host: Host): Promise<Held[]> {
  const ran = await host.run('outbox', '--json');
  expect(ran.code, ran.err).toBe(0);
  return JSON.parse(ran.out) as Held[];
}

it('outbox lists what waits to be pushed, too', async () => {
  const bus = new Bus();
  const host = await bus.host('front', { worker: 'true' });
  bus.unplug();
  await host.run('send', '--no-wait', '--to', 'worker', 'later');
  const listed = await host.run('outbox');
  expect(listed.out).toMatch(
    /^\S+ {2}\S+ \S+ {2}the message of operator to worker {2}waits to be pushed\n$/,
  );
  bus.plug();
  await host.run('sync');
  expect(await host.run('outbox')).toMatchObject({ out: '' });
});

/** Everything that git has at the hub, whether anything refers to it or not. */
function objectsOf(bus: Bus): string {
  return git(bus.hub, 'cat-file', '--batch-all-objects', '--batch', '--unordered');
}

/**
 * All of a machine's state, except that in which what is held waits, and transcripts: they are what runs
 * printed, and stay on this machine.
 */
function stateOf(host: Host): string {
  const waiting = /^(?:state\.db(?:-wal|-shm)?$|(?:outbox|transcripts)(?:\/|$))/;
  const files = readdirSync(host.state, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name))
    .filter((path) => !waiting.test(path.slice(host.state.length + 1)))
    .map((path) => readFileSync(path, 'latin1'));
  return [...files, allTextBut(host.state, 'outbox', 'outbox-held')].join('\n');
}

/** A worker that prints the file whose number stands in its message. */
function printer(bus: Bus, texts: readonly string[]): string {
  const folder = join(bus.root, 'texts');
  mkdirSync(folder, { recursive: true });
  for (const [at, text] of texts.entries()) writeFileSync(join(folder, String(at)), text);
  return `cat '${folder}/'$(sed -n 's/^print number \\([0-9]*\\)$/\\1/p' | tail -n 1)`;
}

async function world(...texts: string[]): Promise<{ bus: Bus; host: Host }> {
  const bus = new Bus();
  return { bus, host: await bus.host('front', { worker: printer(bus, texts) }) };
}

const heartsOf = (secrets: readonly string[]): string[] => secrets.map(heart);

function expectNone(text: string, secrets: readonly string[]): void {
  for (const [at, one] of heartsOf(secrets).entries()) {
    expect(one.length).toBeGreaterThan(10);
    expect(text.includes(one), kinds[at]?.[0]).toBe(false);
  }
}

it(
  'a secret of each kind in an answer, a message, a file or a memory is held, and git has none of them',
  { tags: 'long' },
  async () => {
    const secrets = kinds.map(([, make], at) => make(at));
    const { bus, host } = await world(...secrets.map((secret) => `here it is:\n${secret}\n`));
    let printed = '';
    for (const [at, secret] of secrets.entries()) {
      const path = join(bus.root, 'secret.txt');
      writeFileSync(path, `first line\n${secret}\n`);
      for (const argv of [
        ['send', '--to', 'anna', `see\n${secret}\n`],
        ['send', '--to', 'anna', '--attach', path, 'the file'],
        ['memory', 'add', '--subject', `note ${String(at)}`, `remember\n${secret}`],
      ]) {
        const ran = await host.run(...argv);
        expect(ran.code, `${kinds[at]?.[0] ?? ''}: ${ran.err}`).toBe(1);
        expect(ran.err).toMatch(
          /^crosstalk [a-z ]+: held, not sent, as it looks like a secret: [^\n]*\n$/,
        );
        printed += ran.err + ran.out;
      }
      const asked = ['send', '--to', 'worker', '--from', `asker${String(at)}`];
      expect((await host.run(...asked, `print number ${String(at)}`)).code).toBe(0);
    }
    const log = await host.once();
    const held = await heldOn(host);
    expect(held.filter(({ answer }) => answer)).toHaveLength(secrets.length);
    expect(held).toHaveLength(4 * secrets.length);
    expect(log.filter(({ event }) => event === 'secret_held')).toHaveLength(secrets.length);
    // What the askers are told is all that has come from the worker.
    expect(bus.from('worker').map(({ message }) => message.extra['held'])).toEqual(
      secrets.map(() => 'secret'),
    );
    for (const command of [
      ['status'],
      ['status', '--json'],
      ['doctor'],
      ['outbox'],
      ['dlq'],
      ['log'],
      ['logs'],
    ]) {
      const ran = await host.run(...command);
      printed += ran.out + ran.err;
    }
    expectNone(objectsOf(bus), secrets);
    expectNone(printed + JSON.stringify(log), secrets);
    expectNone(stateOf(host), secrets);
  },
);

it('its neighbours are pushed, and neither a sync nor a restart nor another process pushes it', async () => {
  const { bus, host } = await world();
  const kept = new Outbox(host.state);
  // Written by a process that was killed before it could look: nothing says that it is clean.
  const path = join(bus.root, 'texts', 'x');
  mkdirSync(join(bus.root, 'texts'), { recursive: true });
  writeFileSync(path, SECRET);
  bus.unplug();
  expect((await host.run('send', '--to', 'anna', 'one neighbour')).out).toMatch(/^Queued: /);
  const [queued] = await kept.all();
  if (queued === undefined) throw new Error('nothing is queued');
  await kept.put({
    ...queued,
    id: '01J0000000000000000000000A',
    commits: queued.commits.map((commit) => ({
      ...commit,
      files: commit.files.map(({ path: at, content }) => ({
        path: at.replace(/-[0-9a-f]+\.md$/, '-00112233.md'),
        content: `${content}\n${SECRET}\n`,
      })),
    })),
  });
  expect((await host.run('send', '--to', 'anna', 'another neighbour')).out).toMatch(/^Queued: /);
  bus.plug();

  const synced = await host.run('sync');
  expect(synced.code).toBe(1);
  expect(synced.err).toContain('held, as it looks like a secret: 1; see it with: crosstalk outbox');
  expect(bus.from('operator').map(({ message }) => message.body.trim())).toEqual([
    'one neighbour',
    'another neighbour',
  ]);
  for (const next of [new Program(host, 'sync'), new Program(host, 'dispatch', '--once')]) {
    await next.ended();
    expect(next.out + next.err).not.toContain(SECRET);
  }
  // Another clone of the same remote on this machine takes along what waits for a turn, and not this.
  await host.send('anna', 'a third neighbour');
  expect(await kept.all()).toEqual([]);
  expect((await heldOn(host)).map(({ found }) => found)).toEqual([
    [{ kind: 'a GitHub token', where: 'the message', line: expect.any(Number) as number }],
  ]);
  expectNone(objectsOf(bus), [SECRET]);
  expect(bus.from('operator')).toHaveLength(3);
});

it('a person lets a secret go with what it writes, or later what is held, or drops it', async () => {
  const { bus, host } = await world();
  const body = `ours alone: ${SECRET}`;
  const sent = await host.run('send', '--to', 'anna', '--allow-secret', body);
  expect(sent.out, sent.err).toMatch(/^Sent: /);
  const noted = ['memory', 'add', '--subject', 'x', '--allow-secret', body];
  expect((await host.run(...noted)).out).toMatch(/^Remembered: /);
  const file = join(bus.root, 'key.pem');
  writeFileSync(file, `${SECRETS['RSA private key']?.(5) ?? ''}\n`);
  const asked = await host.run('send', '--from', 'anna', '--to', 'operator', 'which key?');
  const relPath = /^Sent: (.+)$/m.exec(asked.out)?.[1] ?? '';
  const replied = await host.run('reply', relPath, '--allow-secret', '--attach', file, body);
  expect(replied.out, replied.err).toMatch(/^Sent: /);

  const refused = await host.run('send', '--to', 'anna', '--attach', file, 'see the file');
  expect(refused.code).toBe(1);
  expect(refused.err).toContain('a private key in line 1 of "key.pem"');
  await host.run('send', '--to', 'anna', body);
  const [withFile, plain] = await heldOn(host);
  expect(refused.err).toContain(withFile?.id);
  expect(withFile?.what).toBe('the message of operator to anna');
  const released = await host.run('outbox', '--allow-secret', withFile?.id ?? '');
  expect(released, released.err).toMatchObject({ code: 0, out: `Sent: ${withFile?.id ?? ''}\n` });
  const dropped = await host.run('outbox', '--drop', (plain?.id ?? '').slice(-8));
  expect(dropped, dropped.err).toMatchObject({ code: 0, out: `Dropped: ${plain?.id ?? ''}\n` });
  expect(await heldOn(host)).toEqual([]);
  expect(bus.from('operator').map(({ message }) => message.body.trim())).toEqual([
    body,
    body,
    'see the file',
  ]);
  const folder = join(bus.root, 'read');
  const last = bus.from('operator').at(-1)?.relPath ?? '';
  expect((await host.run('read', last, '--files', folder)).code).toBe(0);
  expect(readFileSync(join(folder, readdirSync(folder)[0] ?? ''))).toEqual(readFileSync(file));
  expect(readdirSync(join(host.state, 'outbox', 'files'))).toEqual([]);
  expect((await host.run('outbox', '--drop', 'nothing')).code).toBe(1);

  await host.run('send', '--to', 'anna', body);
  const id = (await heldOn(host))[0]?.id ?? '';
  bus.unplug();
  const queued = await host.run('outbox', '--allow-secret', id, '--json');
  const reason = /^crosstalk outbox: queued, not on the remote yet: (.+)$/m.exec(queued.err)?.[1];
  expect(reason).toBeTruthy();
  expect(JSON.parse(queued.out)).toEqual([{ id, status: 'queued', reason }]);
});

it(
  'through a dispatcher it is the same, and what was held leaves with its files',
  { tags: 'long' },
  async () => {
    const { bus, host } = await world();
    const running = host.start();
    await running.saw('dispatcher_started');
    const file = join(bus.root, 'env.txt');
    writeFileSync(file, `TOKEN=${SECRET}\n`);
    const refused = await host.run('send', '--to', 'anna', '--attach', file, 'see the file');
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('a GitHub token in line 1 of "env.txt"');
    expect((await host.run('send', '--to', 'anna', SECRET)).code).toBe(1);
    const allowed = await host.run('send', '--to', 'anna', '--allow-secret', SECRET);
    expect(allowed.out, allowed.err).toMatch(/^Sent: /);
    const [first] = await heldOn(host);
    expect((await host.run('outbox', '--allow-secret', first?.id ?? '')).out).toMatch(/^Sent: /);
    const said = bus.from('operator').map(({ message }) => message.body.trim());
    expect(said.sort()).toEqual([SECRET, 'see the file'].sort());
    git(host.dir, 'config', 'crosstalk.scanSecrets', 'false');
    expect((await host.run('send', '--to', 'anna', `off: ${SECRET}`)).out).toMatch(/^Sent: /);
    git(host.dir, 'config', 'crosstalk.scanSecrets', 'true');
    expect((await host.run('send', '--to', 'anna', `on: ${SECRET}`)).code).toBe(1);
    expect(running.events.map((event) => JSON.stringify(event)).join('\n')).not.toContain(SECRET);
  },
);

it('one pass tells the asker that its answer is held, whatever ends last in it', async () => {
  for (let round = 0; round < 5; round++) {
    const { bus, host } = await world(`the key is\n${SECRET}\n`);
    await host.send('worker', 'print number 0');
    await host.once();
    expect(bus.from('worker').map(({ message }) => message.extra)).toEqual([{ held: 'secret' }]);
  }
});

it('a held answer is stuck mail: its asker is told once, the operator what to do, nobody the secret', async () => {
  const { bus, host } = await world(`the key is\n${SECRET}\n`);
  const question = await host.send('worker', 'print number 0');
  const logs: Event[] = [];
  for (let pass = 0; pass < 3; pass++) logs.push(...(await host.once()));
  const held = logs.filter(({ event }) => event === 'secret_held');
  expect(held).toMatchObject([
    {
      level: 'warn',
      actor: 'worker',
      messages: [question],
      found: [{ kind: 'a GitHub token', where: 'the message', line: 2 }],
    },
  ]);
  const [told, ...more] = bus.from('worker');
  expect(more).toEqual([]);
  expect(told?.message).toMatchObject({ interim: true, re: [question], extra: { held: 'secret' } });
  expect(told?.message.body).toBe(
    'worker on front has an answer that is held there, as something in it looks like a secret. It comes when somebody on front lets it go: crosstalk outbox\n',
  );
  const waiting = await host.run('replies', question);
  expect(waiting.out).toContain(`PENDING ${question}`);

  const id = (await heldOn(host))[0]?.id ?? '';
  const status = JSON.parse((await host.run('status', '--json')).out) as Status;
  expect(status.health.ok).toBe(false);
  expect(status.held_secrets).toMatchObject([{ id, what: 'the answer of worker to operator' }]);
  const problem = `it looks like a secret: the answer of worker to operator: a GitHub token in line 2 of the message; let it go with: crosstalk outbox --allow-secret ${id}, or forget it with: crosstalk outbox --drop ${id}`;
  expect(status.health.problems.join('\n')).toContain(problem);
  expect((await host.run('doctor')).out).toContain(problem);
  const web = await Web.start(host);
  const headers = { authorization: `Bearer ${web.token}` };
  const paths = ['/api/now', `/api/message?ref=${question}`, `/api/thread?ref=${question}`];
  const shown: string[] = [];
  for (const path of paths) shown.push((await web.raw('GET', path, headers)).text);
  expect(shown.join('\n')).toContain('crosstalk outbox');
  expect(shown.join('\n') + JSON.stringify([logs, status])).not.toContain(SECRET);

  // Nothing runs again for it, whatever was forgotten of the cursors and of what was settled.
  forget(host.state, 'cursors');
  forgetFacts(host.state);
  expect((await host.once()).filter(({ event }) => event === 'dispatch_start')).toEqual([]);
  expect((await host.run('outbox', '--allow-secret', id)).out).toBe(`Sent: ${id}\n`);
  expect((await host.run('replies', question)).out).toContain(`REPLIED ${question}`);
  expect(bus.from('worker')).toHaveLength(2);
  await host.once();
  const after = JSON.parse((await host.run('status', '--json')).out) as Status;
  expect(after.held_secrets).toEqual([]);
});

it(
  'an answer that is dropped fails for its asker, and may be made again',
  { tags: 'long' },
  async () => {
    const { bus, host } = await world(`the key is ${SECRET}\n`);
    const question = await host.send('worker', 'print number 0');
    await host.once();
    const id = (await heldOn(host))[0]?.id ?? '';
    expect((await host.run('outbox', '--drop', id)).code).toBe(0);
    const letters = JSON.parse((await host.run('dlq', '--json')).out) as Record<string, unknown>[];
    expect(letters).toMatchObject([
      { id, state: 'quarantined', reason: 'secret', messages: [question] },
    ]);
    await host.once();
    const failed = bus.from('worker').filter(({ message }) => message.failed !== undefined);
    expect(failed).toHaveLength(1);
    expect(failed[0]?.message.body).toContain('its answer looked like a secret, and was dropped');
    writeFileSync(join(bus.root, 'texts', '0'), 'no key any more\n');
    expect((await host.run('dlq', '--retry', id)).code).toBe(0);
    await host.once();
    expect(bus.from('worker').at(-1)?.message.body).toBe('no key any more\n');
    expectNone(objectsOf(bus), [SECRET]);
    expect(JSON.stringify(letters)).not.toContain(SECRET);
  },
);

it(
  'a run is told, corrects what it sends, and cannot let a secret go itself',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const file = join(bus.root, 'secret.txt');
    writeFileSync(file, `a message with ${SECRET}\n`);
    const run = new Persuaded(
      bus,
      `crosstalk send --anyway --to anna "$(cat '${file}')"`,
      'crosstalk send --anyway --to anna "a message without"',
      `crosstalk send --anyway --to anna --allow-secret "$(cat '${file}')"`,
      `crosstalk memory add --subject x "$(cat '${file}')"`,
      `crosstalk memory add --subject x --allow-secret "$(cat '${file}')"`,
      'crosstalk outbox',
      'crosstalk outbox --allow-secret all',
    );
    const host = await bus.host('front', { worker: run.cli });
    await host.send('worker', 'tell anna');
    const log = await host.once();
    const [first, second, third, fourth, fifth, sixth, seventh] = run.given;
    expect(first).toMatchObject({ code: 1, out: '' });
    expect(first?.err).toBe(
      'crosstalk send: held, not sent, as it looks like a secret: a GitHub token in line 1 of the message; leave that out and send it again; what is held stays on this machine for its operator\n',
    );
    expect(second?.out).toMatch(/^Sent: /);
    for (const refused of [third, fifth]) {
      expect(refused?.code).toBe(2);
      expect(refused?.err).toContain('not for a run, --allow-secret: the operator of this machine');
    }
    expect(fourth?.code).toBe(1);
    for (const refused of [sixth, seventh]) expect(refused?.err).toContain('not for a run');
    const said = bus.from('worker').map(({ message }) => message.body.trim());
    expect(said).toEqual(['a message without', 'done']);
    expect(await heldOn(host)).toHaveLength(2);
    expect(JSON.stringify(log)).not.toContain(SECRET);
    expectNone(objectsOf(bus), [SECRET]);
  },
);

it(
  'no transport is made with a secret in its host file, and none gets into one later',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const cli = `TOKEN=${SECRET} claude -p`;
    const host = await bus.host('front', { worker: 'echo done' });
    const dir = join(bus.root, 'new');
    const made = await host.run('init', dir, '--alias', 'new', '--cli', cli);
    expect(made.code).toBe(1);
    expect(made.err).toContain('nothing was made, as it looks like a secret');
    const set = await host.run('actor', 'set', 'worker', `cli=${cli}`);
    expect(set.code, set.err).toBe(1);
    const added = await host.run('actor', 'add', 'other', '--cli', cli);
    expect(added.code, added.err).toBe(1);
    // What is on the bus stays in force, and nothing waits for approval.
    expect((await host.run('host', 'show', '--json')).out).not.toContain(SECRET);
    expect(JSON.parse((await host.run('host', 'show', '--json')).out)).toMatchObject({ held: [] });
    await host.send('worker', 'still there?');
    expect((await host.once()).map(({ event }) => event)).toContain('dispatch_done');
    const joined = await host.run(
      'init',
      join(bus.root, 'joined'),
      '--remote',
      bus.hub,
      '--alias',
      'j',
      '--cli',
      cli,
    );
    expect(joined.code, joined.err).toBe(1);
    const channel = await host.run('channel', 'create', 'ops', '--description', cli);
    expect(channel.code, channel.err).toBe(1);
    for (const { err, out } of [made, set, added, joined, channel])
      expect(err + out).not.toContain(SECRET);
    expectNone(objectsOf(bus), [SECRET]);
  },
);

it(
  'a run that writes the mark of a person into its request is not believed',
  { tags: 'long' },
  async () => {
    const bus = new Bus();
    const path = join(bus.root, 'request.mjs');
    writeFileSync(
      path,
      `import { writeFileSync, renameSync } from 'node:fs';
const id = '01J0000000000000000000000A';
const input = { to: 'anna', body: ${JSON.stringify(SECRET)}, login: 'worker', isNew: false, wait: true, allowSecret: true, allowed: true, anyway: true };
const request = { kind: 'send', id, at: new Date().toISOString(), seed: '0011223344556677', input, allowSecret: true };
const drop = process.env.CROSSTALK_RUN_DIR + '/drop/';
writeFileSync(drop + '.x.tmp', JSON.stringify(request));
renameSync(drop + '.x.tmp', drop + id + '.json');
`,
    );
    const run = new Persuaded(bus, `'${process.execPath}' '${path}'`);
    const host = await bus.host('front', { worker: run.cli });
    await host.send('worker', 'tell anna');
    await host.once();
    expect(run.given[0]).toMatchObject({ code: 0, err: '' });
    expect((await heldOn(host)).map(({ what }) => what)).toEqual(['the message of worker to anna']);
    expect(bus.from('worker').map(({ message }) => message.body.trim())).toEqual(['done']);
    expectNone(objectsOf(bus), [SECRET]);
  },
);
