import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { readRef, writeRef, type RefPlace } from '../../src/transport/clone/refs.ts';

const [FIRST, SECOND] = ['1'.repeat(40), '2'.repeat(40)];
const REF = 'refs/heads/work';

function repository(): { place: RefPlace; lock: string } {
  const dir = mkdtempSync(join(tmpdir(), 'refs-'));
  execFileSync('git', ['init', '--quiet', '--initial-branch=main', dir]);
  const gitDir = join(dir, '.git');
  return { place: { dir, gitDir, commonDir: gitDir }, lock: join(gitDir, `${REF}.lock`) };
}

/** A lock that was made some time ago. */
function lockSince(lock: string, ms: number): void {
  writeFileSync(lock, '');
  const at = new Date(Date.now() - ms);
  utimesSync(lock, at, at);
}

it('a lock that becomes too old while it is waited for is taken away, and the ref is written', async () => {
  const { place, lock } = repository();
  // It is old enough at the last of the tries, whichever that is.
  for (const left of [50, 250, 400, 450, 500]) {
    lockSince(lock, 10_000 - left);
    let written = await writeRef(place, REF, FIRST);
    if (!written.ok) {
      expect(written.contention).toBe(true);
      // It was not yet too old: whoever is told that the lock is held finds it there.
      expect(existsSync(lock)).toBe(true);
      lockSince(lock, 11_000);
      written = await writeRef(place, REF, FIRST);
    }
    expect(written).toEqual({ ok: true });
    expect(existsSync(lock)).toBe(false);
  }
});

it('the lock of a git that slept through a suspend is left to it', async () => {
  const { place, lock } = repository();
  lockSince(lock, 3_600_000);
  const written = writeRef(place, REF, SECOND, '');
  await sleep(100);
  // It goes on where it was, and finds its lock.
  writeFileSync(lock, `${FIRST}\n`);
  renameSync(lock, lock.slice(0, -'.lock'.length));
  expect(await written).toMatchObject({ ok: false, contention: true });
  expect(await readRef(place, REF)).toBe(FIRST);
});

it('a lock that somebody holds is respected', async () => {
  const { place, lock } = repository();
  expect(await writeRef(place, REF, FIRST)).toEqual({ ok: true });
  lockSince(lock, 0);
  const refused = await writeRef(place, REF, SECOND);
  expect(refused).toMatchObject({ ok: false, contention: true });
  expect(existsSync(lock)).toBe(true);
});

it('of several who find a lock that is too old at once, one at most writes the ref, it is whole, and who is refused may try again', async () => {
  for (let round = 0; round < 10; round++) {
    const { place, lock } = repository();
    mkdirSync(dirname(lock), { recursive: true });
    lockSince(lock, 60_000);
    const oids = [1, 2, 3, 4].map((n) => String(n).repeat(40));
    const all = await Promise.all(oids.map((oid) => writeRef(place, REF, oid, '')));
    const winners = oids.filter((_, n) => all[n]?.ok);
    // One may have its new lock taken away for a moment by another who thought it the old one: then none writes.
    const written = await readRef(place, REF);
    expect([round, winners]).toEqual([round, written === undefined ? [] : [written]]);
    for (const one of all) expect(one).toMatchObject(one.ok ? {} : { contention: true });
    expect(await writeRef(place, REF, FIRST, written ?? '')).toEqual({ ok: true });
    expect(readdirSync(dirname(lock))).toEqual(['work']);
  }
});

it.each<[string, (lock: string) => void]>([
  [
    'from a time that has not come',
    (lock) => {
      lockSince(lock, -86_400_000);
    },
  ],
  [
    'that leads nowhere',
    (lock) => {
      symlinkSync('nowhere', lock);
      execFileSync('touch', ['-h', '-d', '1 hour ago', lock]);
    },
  ],
  [
    'that is a folder',
    (lock) => {
      mkdirSync(lock);
      utimesSync(lock, 0, 0);
    },
  ],
])('a lock %s is taken away, and the ref is written', async (_what, make) => {
  const { place, lock } = repository();
  make(lock);
  expect(await writeRef(place, REF, FIRST)).toEqual({ ok: true });
  expect(readdirSync(dirname(lock))).toEqual(['work']);
});
