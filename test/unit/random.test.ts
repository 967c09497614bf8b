import { expect, it } from 'vitest';
import { clockOf } from '../../src/actions/clock.ts';
import { randomOfSystem } from '../../src/random.ts';

it('bytes of the system’s generator are as many as were asked for, and others each time', () => {
  const drawn = Array.from({ length: 200 }, () => randomOfSystem(16).toString('hex'));
  expect(new Set(drawn).size).toBe(200);
  expect(drawn.every((text) => /^[0-9a-f]{32}$/.test(text))).toBe(true);
  expect(randomOfSystem(0)).toHaveLength(0);
  // Each value of a byte comes: 256 of them are missing one by chance once in 10^17 draws.
  expect(new Set(randomOfSystem(11_000)).size).toBe(256);
});

it('ids are ULIDs of now, of which no two are the same, with every character drawn', () => {
  const { newId } = clockOf({});
  const ids = Array.from({ length: 2000 }, newId);
  expect(new Set(ids).size).toBe(2000);
  expect(ids.every((id) => /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(id))).toBe(true);
  const drawn = new Set(ids.flatMap((id) => id.slice(10).match(/./g) ?? []));
  expect(drawn.size).toBe(32);
  expect(ids[0]?.slice(0, 4)).toBe(ids.at(-1)?.slice(0, 4));
});
