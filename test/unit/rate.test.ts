import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Rate } from '../../src/web/parts.ts';

it('in no second more are taken than may be, and whoever waits a second is taken', () => {
  const pauses = fc.array(fc.integer({ min: 0, max: 700 }), { minLength: 1, maxLength: 100 });
  fc.assert(
    fc.property(pauses, fc.integer({ min: 1, max: 5 }), (waits, most) => {
      let now = 0;
      const rate = new Rate(most, () => now);
      const taken: number[] = [];
      for (const wait of waits) {
        now += wait;
        const before = taken.filter((at) => now - at < 1000).length;
        const isTaken = rate.take();
        expect(isTaken).toBe(before < most);
        if (isTaken) taken.push(now);
      }
    }),
  );
});
