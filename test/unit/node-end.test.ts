import { expect, it } from 'vitest';
import { nodeCheck } from '../../src/actions/doctor/node.ts';

it('a Node without repairs is a warning from the day after its last one', () => {
  expect(nodeCheck('20.19.4', new Date('2026-04-30T23:00:00Z'))).toEqual([]);
  expect(nodeCheck('20.19.4', new Date('2026-05-01T00:00:00Z'))).toEqual([
    {
      check: 'Node',
      ok: false,
      warning: true,
      found: '20.19.4, which has had no security repairs since 2026-04-30',
      fix: 'install Node 24 or newer',
    },
  ]);
  expect(nodeCheck('99.0.0', new Date('2090-01-01T00:00:00Z'))).toEqual([]);
});
