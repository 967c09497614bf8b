import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { IDENTITY_FILE, messageFile } from '../../src/protocol/layout.ts';
import { payloadOf, placeSigned, withSignature } from '../../src/protocol/signed.ts';
import { placeOfRemote } from '../../src/transport/clone/bus-identity.ts';
import type { Host } from '../support/bus.ts';
import { Bus } from '../support/bus.ts';
import { git } from '../support/git.ts';
import { put } from '../support/history.ts';
import { fileOf, hasSshKeygen, Key, pins, signs, WITH_SSH_KEYGEN } from '../support/keys.ts';

/** What anna has signed in a transport, and whoever may push to another one too. */
let own: Bus;
let anna: Key;
let place: { channel: string; relPath: string };
let task: string;
let victim: Host;

const worker = (bus: Bus): string =>
  `cat >/dev/null; echo run >> ${join(bus.root, 'ran')}; echo done`;
const runsIn = (bus: Bus): number =>
  existsSync(join(bus.root, 'ran'))
    ? readFileSync(join(bus.root, 'ran'), 'utf8').split('\n').length - 1
    : 0;
const serving = (bus: Bus): Parameters<Bus['host']>[1] => ({
  worker: { default: { cli: worker(bus), only_from: 'anna' } },
});
const identityOn = (bus: Bus): string => git(bus.hub, 'show', `main:${IDENTITY_FILE}`);

/** Puts the task that was signed elsewhere at its place here, and lets the machine look. */
async function replayed(host: Host): Promise<boolean | undefined> {
  const before = runsIn(own);
  const folder = messageFile(place.channel, place.relPath);
  const channel = `---\nid: ${place.channel}\nname: same\ncreated_by: x\ncreated_at: 2026-06-09T19:00:00.000Z\n---\n`;
  put(host.bus, [messageFile(place.channel, 'CHANNEL.md'), channel]);
  put(host.bus, [folder, task]);
  await host.once();
  await host.once();
  expect(runsIn(own)).toBe(before);
  return verified(host);
}

/** What a machine says of what stands at the place of the task. */
async function verified(host: Host): Promise<boolean | undefined> {
  const read = await host.run('read', `${place.channel}/${place.relPath}`, '--json');
  return (JSON.parse(read.out) as { verified?: boolean }).verified;
}

/** A machine that joins anna's transport under some address, and knows her key. */
async function joinedBy(alias: string, url: string): Promise<Host> {
  const { hub } = own;
  Object.assign(own, { hub: url });
  const other = await own.host(alias, {});
  Object.assign(own, { hub });
  await pins(other, 'anna', anna);
  return other;
}

describe.skipIf(!hasSshKeygen)(`a task that was signed in one transport ${WITH_SSH_KEYGEN}`, () => {
  beforeEach(async () => {
    own = new Bus();
    const host = await own.host('office', serving(own));
    anna = new Key(host, 'anna');
    await pins(host, 'anna', anna);
    await signs(host, anna);
    const relPath = await host.send('worker', 'pay 100');
    await host.once();
    expect(runsIn(own)).toBe(1);
    place = { channel: host.channel(), relPath };
    task = fileOf(host, place);
    victim = await new Bus().host('laptop', serving(own));
    await pins(victim, 'anna', anna);
  });

  it(
    'counts for nothing in another one to which it was copied, at the same place',
    { tags: 'long' },
    async () => {
      expect(await replayed(victim)).toBe(false);
    },
  );

  it(
    'counts for nothing there either after somebody has pushed the identity of the first one',
    { tags: 'long' },
    async () => {
      put(victim.bus, [IDENTITY_FILE, identityOn(own)]);
      expect(await replayed(victim)).toBe(false);
      const shown = await victim.run('host', 'show', '--json');
      const { held } = JSON.parse(shown.out) as { held: { name: string; proposed: string }[] };
      expect(held).toMatchObject([
        { name: 'transport.identity', proposed: identityOn(own).trim() },
      ]);
    },
  );

  it(
    'counts for nothing in a transport that was made with that identity before others joined',
    { tags: 'long' },
    async () => {
      const fork = new Bus();
      git(fork.hub, 'fetch', '--quiet', own.hub, 'main:main');
      const [id] = identityOn(own).split(' ');
      for (const said of [identityOn(own), `${id ?? ''} ${placeOfRemote(fork.hub, '/')}\n`]) {
        if (identityOn(fork) !== said) put(fork, [IDENTITY_FILE, said]);
        const late = await fork.host(said === identityOn(own) ? 'late' : 'later', serving(own));
        await pins(late, 'anna', anna);
        await late.once();
        expect(await verified(late)).toBe(false);
      }
      expect(runsIn(own)).toBe(1);
    },
  );

  it(
    'counts for nothing where it was signed, in the form that names no transport',
    { tags: 'long' },
    async () => {
      const plain = task.replace(/^sig: .*\n/m, '');
      const ref = `${place.channel}/${place.relPath}`;
      const other = new Key(victim, 'anna');
      await pins(victim, 'anna', other);
      const old = other.sign(`crosstalk signed message 1\n${ref}\n${plain}`);
      task = withSignature(plain, old);
      expect(await replayed(victim)).toBe(false);
      const right = other.sign(payloadOf(placeSigned(other.identity, place), plain));
      put(victim.bus, [messageFile(place.channel, place.relPath), withSignature(plain, right)]);
      await victim.once();
      expect(await verified(victim)).toBe(true);
    },
  );

  it(
    'counts in every clone of one repository, whatever its address is written like',
    { tags: 'long' },
    async () => {
      const other = await joinedBy('other', `file://${own.hub}/`);
      expect(await verified(other)).toBe(true);
    },
  );

  it(
    'counts under another address of the repository once the operator has said that it is the same',
    { tags: 'long' },
    async () => {
      const link = `${own.hub}-by-another-name.git`;
      symlinkSync(own.hub, link);
      const other = await joinedBy('other', link);
      expect(await verified(other)).toBe(false);
      const shown = await other.run('host', 'show', '--json');
      const { held } = JSON.parse(shown.out) as { held: { digest: string }[] };
      const approved = await other.run('host', 'approve', held[0]?.digest ?? '');
      expect(approved.code, approved.err).toBe(0);
      expect(await verified(other)).toBe(true);
    },
  );
});

describe('the place of a repository', () => {
  it('is the same for all spellings of its address, and for no other repository', () => {
    const same = (...urls: string[]): void => {
      const [first, ...others] = urls.map((url) => placeOfRemote(url, '/home/x'));
      for (const other of others) expect(other).toBe(first);
    };
    same(
      'https://Example.org/o/r.git',
      'https://example.org:443/o/r/',
      'https://user:secret@example.org/o/r',
      'git@example.org:o/r.git',
      'ssh://git@example.org:22/o/r',
    );
    same('/srv/bus.git', 'file:///srv/bus', '../../srv/bus.git/');
    same('alice@host:/srv/bus', 'ssh://alice@host/srv/bus.git');
    const places = [
      'https://example.org/o/r',
      'https://example.org:8443/o/r',
      'https://example.com/o/r',
      'https://example.org/o/R',
      'ssh://alice@example.org/o/r',
      'ssh://bob@example.org/o/r',
      'alice@example.org:o/r',
      '/o/r',
      '/o/r%20s',
      '/o/r s',
    ].map((url) => placeOfRemote(url, '/'));
    expect(new Set(places).size).toBe(places.length);
    for (const place of places) expect(place).toMatch(/^[\x21-\x7e]+$/);
    expect(placeOfRemote('ssh://git:secret@h/x', '/')).not.toContain('secret');
    expect(placeOfRemote('ssh://bob:secret@h/x', '/')).toBe('bob@h/x');
    expect(placeOfRemote(undefined, '/')).toBe('-');
  });

  it('is another one for the same path on every machine, and the same for what a server holds', () => {
    const [here, there] = ['1111111111111111', '2222222222222222'];
    for (const url of ['/srv/bus.git', 'file:///srv/bus', 'file://srv/bus', '../srv/bus']) {
      expect(placeOfRemote(url, '/home', here)).toBe(`${here}:/srv/bus`);
      expect(placeOfRemote(url, '/home', there)).toBe(`${there}:/srv/bus`);
    }
    for (const url of ['https://example.org/o/r', 'bob@example.org:o/r', undefined])
      expect(placeOfRemote(url, '/', here)).toBe(placeOfRemote(url, '/', there));
    // An address of a server whose host is called like a machine and has an empty port.
    expect(placeOfRemote(`ssh://${here}:/srv/bus`, '/', here)).toBe(`${here}/srv/bus`);
    expect(placeOfRemote('/srv/bus', '/')).toMatch(/^[^/:]+:\/srv\/bus$/);
  });
});
