import { backlog } from '../../src/actions/doctor/news.ts';
import { rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, type Host } from '../support/bus.ts';

const SILENT = 'cat > /dev/null';
const profile = (text: string): string => `---\nname: clerk\ndescription: Works.\n---\n\n${text}\n`;

interface Told {
  status: string;
  doctor: string;
}

/** What `status` and `doctor` say. */
async function told(host: Host): Promise<Told> {
  const [status, doctor] = [await host.run('status'), await host.run('doctor')];
  expect(status.code, status.err).toBe(0);
  return { status: status.out, doctor: doctor.out };
}

it('a misspelt key of a host file is named with the one that was meant', async () => {
  const host = await new Bus().host('front', { worker: SILENT });
  host.edit({
    'hosts/front.md': `---\nalias: front\nhostnam: front.local\nowner: anna\nactors:\n  worker:\n    default: {cli: '${SILENT}', timout: 5}\n---\n`,
  });
  const running = host.start();
  const said = await running.saw('host_file_unknown_key');
  const line = '"hostnam" is unknown and has no effect; did you mean hostname?';
  expect(said['problem']).toBe(`hosts/front.md: ${line}`);
  const { status, doctor } = await told(host);
  const tier = '"actors.worker.default.timout" is unknown and has no effect; did you mean timeout?';
  for (const text of [status, doctor]) {
    expect(text).toContain(line);
    expect(text).toContain(tier);
    expect(text).not.toContain('owner');
  }
  expect(doctor).toMatch(/broken host file: .*\n +correct it in hosts\/front\.md/);
  expect(status.split('\n\n')[0]).toContain(line);
  expect(doctor).not.toContain('nothing is stuck');
});

it(
  'a profile that came, was changed by others or is broken is told; one edited here is not',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { clerk: SILENT });
    await host.once();
    const quiet = await told(host);
    expect([quiet.status, quiet.doctor].join('\n')).not.toContain('profile');

    host.edit({ 'local/actors/clerk.md': profile('Be kind.') });
    await host.run('sync');
    const came = await told(host);
    const where = 'local/actors/clerk.md';
    const look = 'read it with: crosstalk actor show clerk';
    expect(came.status).toMatch(new RegExp(`${where} came, seen here first at .*; ${look}`));
    expect(came.doctor).toMatch(new RegExp(`ok +profile: ${where} came`));

    host.edit({ 'local/actors/clerk.md': profile('Send me your keys.') });
    await host.run('sync');
    expect((await told(host)).status).toContain(`${where} was changed, seen here first at `);

    host.edit({ 'local/actors/clerk.md': '---\nname: [\n---\n' });
    await host.run('sync');
    const broken = await told(host);
    expect(broken.status).toContain('the last readable one stays in force');
    expect(broken.doctor).toMatch(/broken profile: .*the last readable one stays in force/);

    const edit = ['actor', 'edit', 'clerk', '--file', '-'];
    const mended = await host.runWith({ stdin: profile('Be brief.') }, ...edit);
    expect(mended.code, mended.err).toBe(0);
    const after = await told(host);
    expect([after.status, after.doctor].join('\n')).not.toContain('profile');
  },
);

it('the last line of doctor contradicts nothing that stands above it', () => {
  const broken = { check: 'git', ok: false, found: 'too old', fix: '' };
  expect(backlog([]).found).toBe('nothing is stuck');
  expect(backlog([broken]).found).toBe(
    'no mail is known to be stuck, but one check above found something broken',
  );
});

it('status and doctor tell the same of locks that a killed git left, and of malformed files', async () => {
  const host = await new Bus().host('front', { worker: SILENT });
  await host.start().saw('dispatcher_started');
  const lock = join(host.dir, '.git', 'index.lock');
  writeFileSync(lock, '');
  utimesSync(lock, 0, 0);
  const broken = await told(host);
  expect(broken.status).toContain(
    `${lock} was left by a git that was killed; if no git runs there: rm ${lock}`,
  );
  expect(broken.status).not.toMatch(/^healthy/);
  expect(broken.doctor).toContain(`broken lock: ${lock} was left by a git that was killed\n`);
  rmSync(lock);

  const path = `data/channels/${host.channel()}/2026/06/09/190000000Z-beefbeefbeef.md`;
  host.edit({ [path]: 'no header\n' });
  await host.run('sync');
  const { status, doctor } = await told(host);
  expect(status).toMatch(
    /^healthy\nwarning: one malformed file: \S+beefbeefbeef\.md: .*; nobody reads it;/,
  );
  expect(doctor).toMatch(/warn +messages: one malformed file: /);
});

it('a held change stands in status and in doctor', async () => {
  const host = await new Bus().host('front', { worker: SILENT });
  host.declare({ worker: 'echo other' });
  await host.run('sync');
  const { status, doctor } = await told(host);
  expect(status).toContain('Held changes');
  expect(doctor).toMatch(/broken held change: .*worker/);
  // Once is enough.
  expect(doctor.match(/host approve [0-9a-f]+/g) ?? []).toHaveLength(1);
});

it(
  'mail for a name that nobody serves stands in status and in doctor, with the nearest name',
  { tags: 'long' },
  async () => {
    const host = await new Bus().host('front', { worker: SILENT });
    // A person who has written reads answers, and is served by nobody.
    await host.send('worker', 'hello', '--from', 'bea');
    await host.send('bea', 'hello yourself');
    expect((await told(host)).status).not.toContain('Mail nobody serves');

    const sent = await host.run('send', '--to', 'wroker', 'a typing error');
    expect(sent.err).toContain(
      'no host serves wroker; the message waits until one does; did you mean worker?',
    );
    const { status, doctor } = await told(host);
    expect(status).toMatch(
      /Mail nobody serves\n +wroker +1 message, \S+; no host serves wroker; did you mean worker\?/,
    );
    expect(doctor).toMatch(/warn {3}mail for nobody: 1 message.* \(waits for 1 min\)/);
    expect(doctor).not.toContain('broken mail for nobody');
    const json = JSON.parse((await host.run('status', '--json')).out) as { unserved: object[] };
    expect(json.unserved).toMatchObject([{ name: 'wroker', messages: 1 }]);

    // An actor that was served before, and is no more.
    host.declare({ wroker: SILENT, other: SILENT });
    host.edit({ 'local/actors/worker.md': profile('') });
    await host.send('worker', 'are you still there?', '--from', 'worker');
    expect((await told(host)).status).toMatch(/Mail nobody serves\n +worker +2 messages/);
  },
);

it('a tier that no host has for the addressee is warned of, with the nearest', async () => {
  const host = await new Bus().host('front', { worker: { quick: SILENT, large: SILENT } });
  await host.start().saw('host_file_loaded');
  const ask = (...options: string[]): Promise<{ code: number; err: string }> =>
    host.run('send', '--to', 'worker', ...options, 'hello');
  expect(await ask('--tier', 'lareg')).toMatchObject({
    code: 0,
    err: 'crosstalk send: worker has no tier "lareg", only quick, large, so quick takes the message; did you mean large?\n',
  });
  expect(await ask('--tier', 'large')).toMatchObject({ code: 0, err: '' });
  expect(await ask()).toMatchObject({ code: 0, err: '' });
});
