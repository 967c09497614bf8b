import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { formatBeat, parseBeat, formatRings, parseRing } from '../../src/bell/beat.ts';
import { Flood } from '../../src/bell/line.ts';
import { parseBell, plainOrigin } from '../../src/bell/settings.ts';
import { heldSettings } from '../../src/protocol/approval/approval.ts';
import { shownServers } from '../../src/protocol/text/bell-servers.ts';
import { withoutCredentials } from '../../src/credentials.ts';
import { RungFetches } from '../../src/dispatcher/bell/far-bell.ts';
import { Machines } from '../../src/dispatcher/bell/machines.ts';
import { otherMachines } from '../../src/actions/lookup/machines.ts';
import type { Heartbeat } from '../../src/state/heartbeat.ts';
import type { Transport } from '../../src/transport/transport.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);
const TIP = 'a'.repeat(40);

describe('settings of a bell', () => {
  const parse = (servers: string, more: object = {}): ReturnType<typeof parseBell> =>
    parseBell({ servers, ...more }, 'https://host/a.git', '/home/me');

  it('several servers, a user, and paths below the home directory are read', () => {
    expect(
      parse('nats://anna:p%40ss@one, tls://[::1]:5222', { credentials: '~/bus.creds' }),
    ).toMatchObject({
      ok: true,
      value: {
        servers: ['one:4222', '[::1]:5222'],
        tls: true,
        user: 'anna',
        password: 'p@ss',
        files: { credentials: '/home/me/bus.creds' },
      },
    });
  });

  it.each([
    ['', 'is empty'],
    ['http://one', 'no server of NATS'],
    ['one:4222', 'no server of NATS'],
    ['nats://one/subject', 'no server of NATS'],
    [Array.from({ length: 33 }, () => 'nats://one').join(), '33 servers'],
  ])('%s is refused: %s', (servers, why) => {
    const result = parse(servers);
    expect(result.ok ? '' : result.problems.join()).toContain(why);
  });

  it('a path that depends on where the program is started, and half a certificate, are refused', () => {
    const relative = parse('nats://one', { ca: 'ca.pem' });
    expect(relative.ok ? '' : relative.problems.join()).toContain('give an absolute path');
    const half = parse('nats://one', { cert: '/cert.pem' });
    expect(half.ok ? '' : half.problems.join()).toContain('belong together');
  });

  it('a server that cannot be read is named without its password', () => {
    const result = parse('nats://anna:very-secret@one/x');
    expect(JSON.stringify(result)).not.toContain('very-secret');
  });

  it.each([
    'nats://anna:very/secret@one',
    'nats://anna:12/34secret@one',
    'nats://anna:very#secret@one',
    'nats://anna:very?secret@one',
    'nats://anna:very secret@one',
    'nats://anna:very,secret@one',
    'nats://anna:very<secret@one',
    'nats://anna:very\\secret@one',
    'nats://anna:very%2Fsecret@one',
    'nats://very-secret@one',
    'nats://anna:very-secret@two bob:very-secret@one',
    'anna:very-secret@one',
    'very-secret@one',
    'nats:anna:very-secret@one',
    'nats://anna:very-secret@one/x',
  ])('the password of %s is shown nowhere, whether or not it can be read', (servers) => {
    const result = parse(servers);
    const held = heldSettings([{ name: 'crosstalk.bell', proposed: [servers] }], (text) => text);
    const all = [
      result.ok ? '' : result.problems.join(),
      shownServers(servers),
      JSON.stringify(held[0]?.changes),
      JSON.stringify(held[0]?.proposed),
    ];
    for (const text of all) expect(text).not.toMatch(/very|secret|anna|12/);
    expect(shownServers(servers)).toMatch(/one/);
    expect(held[0]?.proposed).toMatch(/\*\*\*@one/);
  });

  it('a query, which no server has, is not shown', () => {
    for (const servers of [
      'nats://one/?token=very-secret',
      'nats://a@one?x=very-secret#12, tls://two',
    ])
      expect(shownServers(servers)).not.toMatch(/very|secret|12/);
    expect(shownServers('nats://one/?token=very-secret, tls://two')).toBe(
      'nats://one/?***, tls://two',
    );
  });

  it('whoever approves a bell sees each of its servers', () => {
    const servers = 'nats://a:b@one:1, tls://two nats://c@three';
    expect(shownServers(servers, '***@')).toBe('nats://***@one:1,tls://two,nats://***@three');
    expect(shownServers('one:4222')).toBe('one:4222');
  });

  it('machines that reach one remote in different ways have one subject; a name replaces it', () => {
    const subjects = [
      'https://github.com/team/bus.git',
      'https://anna:token@GitHub.com/team/bus',
      'git@github.com:team/bus.git',
      'ssh://git@github.com:22/team/bus.git/',
    ].map((origin) => {
      const result = parseBell({ servers: 'nats://one' }, origin, undefined);
      return result.ok ? result.value.subject : result.problems;
    });
    expect(new Set(subjects).size).toBe(1);
    expect(subjects[0]).toMatch(/^crosstalk\.[0-9a-f]{32}$/);
    expect(plainOrigin('/srv/a.git')).not.toBe(plainOrigin('/srv/b.git'));
    const named = [parse('nats://one', { name: 'x' }), parse('nats://one', { name: 'y' })];
    expect(new Set(named.map((one) => (one.ok ? one.value.subject : ''))).size).toBe(2);
  });

  it('the passwords of a list of servers are shown nowhere', () => {
    for (const between of [',', ', ', ' '])
      expect(
        withoutCredentials(`set nats://a:secret-1@one:4222${between}tls://b:secret-2@two now`),
      ).toBe(`set nats://one:4222${between}tls://two now`);
  });
});

describe('rings', () => {
  it('what is formatted is read again, however many hosts are named', () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/), { maxLength: 1000 }),
        (hosts) => {
          const read = formatRings({ tip: TIP, hosts }).map((ring) => parseRing(bytes(ring)));
          expect(read.flatMap((ring) => ring?.hosts)).toEqual(hosts);
          expect(read.every((ring) => ring?.tip === TIP)).toBe(true);
        },
      ),
    );
  });

  it.each([
    ['nothing', ''],
    ['no JSON', '{"tip"'],
    ['another type', '[]'],
    ['null', 'null'],
    ['no tip', '{"for":[]}'],
    ['a short tip', '{"tip":"abc","for":[]}'],
    ['a tip in capitals', JSON.stringify({ tip: 'A'.repeat(40), for: [] })],
    ['a tip with more behind it', JSON.stringify({ tip: `${TIP}\n`, for: [] })],
    ['hosts that are no list', JSON.stringify({ tip: TIP, for: 'b' })],
    ['a host that is no name', JSON.stringify({ tip: TIP, for: ['b', 1] })],
    ['a host with a line feed', JSON.stringify({ tip: TIP, for: ['b\n'] })],
    ['too many hosts', JSON.stringify({ tip: TIP, for: Array.from({ length: 201 }, () => 'b') })],
    ['too many bytes', JSON.stringify({ tip: TIP, for: [], more: 'x'.repeat(20_000) })],
  ])('%s is no ring', (_, text) => {
    expect(parseRing(bytes(text))).toBeUndefined();
  });

  it('bytes of any kind are read without an error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (some) => parseRing(some) === undefined),
    );
  });
});

describe('what machines say of themselves', () => {
  const beat = { host: 'b', version: '6.1.0', every: 30, actors: ['beta'], running: [], held: 0 };

  it('what is formatted is read again, within bounds', () => {
    expect(parseBeat(bytes(formatBeat(beat)))).toEqual(beat);
    const names = Array.from({ length: 500 }, (_, at) => `a${String(at)}`);
    const large = { ...beat, actors: names, running: names, held: 99_999, every: 5.4 };
    expect(parseBeat(bytes(formatBeat(large)))).toMatchObject({
      actors: names.slice(0, 100),
      running: names.slice(0, 100),
      held: 10_000,
      every: 6,
    });
  });

  it.each([
    ['no host', { host: undefined }],
    ['a host that is no name', { host: 'b\u001b[31m' }],
    ['a version with a sequence', { version: '6.0.0\u001b[2J' }],
    ['a version of any length', { version: `6.0.${'0'.repeat(50)}` }],
    ['a time below zero', { every: -1 }],
    ['a time without end', { every: 1e12 }],
    ['actors that are no names', { actors: ['<b>'] }],
    ['too many actors', { actors: Array.from({ length: 101 }, () => 'a') }],
    ['runs that are no list', { running: {} }],
    ['a number that is a text', { held: '1' }],
    ['too many bytes', { more: 'x'.repeat(17_000) }],
  ])('%s is no beat', (_, more) => {
    expect(parseBeat(bytes(JSON.stringify({ ...beat, ...more })))).toBeUndefined();
  });

  it('a beat is said when something has changed for a second, and now and then', () => {
    const machines = new Machines(undefined as unknown as Transport, () => new Date());
    const heartbeat = { host: 'a', version: '6.1.0', interval: 5, running: [], parked: [] };
    const due = (at: number, more: object = {}): string | undefined =>
      machines.due({ ...heartbeat, ...more } as unknown as Heartbeat, ['alpha'], at);
    expect(due(0)).toBeDefined();
    expect(due(5000)).toBeUndefined();
    const busy = { running: [{ actor: 'alpha' }] };
    expect(due(5001, busy)).toBeUndefined();
    expect(due(5500)).toBeUndefined();
    expect(due(6001, busy)).toBeUndefined();
    expect(due(7001, busy)).toContain('"running":["alpha"]');
    expect(due(7500)).toBeUndefined();
    expect(due(8500)).toContain('"running":[]');
    expect(due(38_499)).toBeUndefined();
    expect(due(38_500)).toBeDefined();
    machines.again();
    expect(due(38_501)).toBeDefined();
    expect(due(99_000, { host: null })).toBeUndefined();
  });

  it('a machine that was heard lately is live, one that is silent shows its age, and one that is no host does not appear', () => {
    const now = new Date('2026-01-01T00:10:00Z');
    const at = (second: string): string => `2026-01-01T00:0${second}Z`;
    const machines = [
      { ...beat, running: ['beta'], at: at('9:50') },
      { ...beat, host: 'c', running: ['beta'], at: at('1:00') },
      { ...beat, host: 'stranger', at: at('9:59') },
      { ...beat, host: 'a', at: at('9:59') },
    ];
    const heartbeat = { host: 'a', bell: { servers: 'nats://one', machines } };
    expect(otherMachines(heartbeat, ['a', 'b', 'c', 'd'], now)).toEqual([
      { alias: 'b', live: true, heard_s: 10, version: '6.1.0', running: ['beta'], held: 0 },
      { alias: 'c', live: false, heard_s: 540, version: '6.1.0', running: [], held: 0 },
      { alias: 'd', live: false, heard_s: null, version: null, running: [], held: 0 },
    ]);
    expect(otherMachines({ host: 'a' }, ['a', 'b'], now)).toBeUndefined();
  });
});

describe('fetches that others ask for', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** @param brings whether a fetch brings news; each one takes 10 ms */
  function machine(brings: (tip: string | undefined) => boolean): {
    fetches: RungFetches;
    count: () => number;
  } {
    let count = 0;
    let known = 'start';
    const fetches: RungFetches = new RungFetches(
      (tip) => {
        setTimeout(() => {
          count++;
          fetches.begin();
          setTimeout(() => {
            const isNew = brings(tip);
            if (isNew && tip !== undefined) known = tip;
            fetches.end(isNew);
          }, 10);
        }, 1);
      },
      () => known,
      () => Date.now(),
    );
    return { fetches, count: () => count };
  }

  it('10,000 false rings in a minute lead to no more than a fetch a second', async () => {
    const { fetches, count } = machine(() => false);
    for (let ring = 0; ring < 10_000; ring++) {
      fetches.rung(String(ring));
      await vi.advanceTimersByTimeAsync(6);
    }
    expect(count()).toBeGreaterThan(50);
    expect(count()).toBeLessThanOrEqual(61);
    fetches.stop();
  });

  it('every true ring leads to a fetch at once, and what is known to none', async () => {
    const { fetches, count } = machine(() => true);
    for (let ring = 0; ring < 100; ring++) {
      fetches.rung(String(ring));
      await vi.advanceTimersByTimeAsync(11);
      expect(count()).toBe(ring + 1);
      fetches.rung(String(ring));
      await vi.advanceTimersByTimeAsync(11);
      expect(count()).toBe(ring + 1);
    }
  });

  it('a ring that comes during a fetch leads to another one, and a true one among false ones to one within a second', async () => {
    const { fetches, count } = machine((tip) => tip === 'true');
    fetches.rung('false');
    await vi.advanceTimersByTimeAsync(5);
    fetches.rung('true');
    await vi.advanceTimersByTimeAsync(1020);
    expect(count()).toBe(2);
    fetches.rung('true');
    await vi.advanceTimersByTimeAsync(5000);
    expect(count()).toBe(2);
  });
});

it('more than machines of one bus say is a flood, by the number or by the size', () => {
  let now = 0;
  const flood = new Flood(() => now);
  const heard = Array.from({ length: 2001 }, () => flood.isOver(100));
  expect(heard.filter(Boolean)).toHaveLength(1);
  now = 1000;
  expect(flood.isOver(100)).toBe(false);
  expect(flood.isOver(5_000_000)).toBe(true);
});
