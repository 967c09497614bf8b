import { expect, it } from 'vitest';
import { nodeCheck } from '../../src/actions/doctor/node.ts';

it('a Node without repairs is named from the day after its last one', () => {
  expect(nodeCheck('20.19.4', new Date('2026-04-30T23:00:00Z'))).toEqual([]);
  expect(nodeCheck('20.19.4', new Date('2026-05-01T00:00:00Z'))).toEqual([
    {
      check: 'Node',
      ok: true,
      found:
        '20.19.4, which has had no security repairs since 2026-04-30: install Node 24 or newer',
      fix: '',
    },
  ]);
  expect(nodeCheck('99.0.0', new Date('2090-01-01T00:00:00Z'))).toEqual([]);
});
