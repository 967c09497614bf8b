import { expect, it } from 'vitest';
import { SharedAliasCheck } from '../../src/dispatcher/intake/shared-alias.ts';
import { emptyScan } from '../../src/dispatcher/intake/scan-findings.ts';
import { path, said } from '../support/messages.ts';

it('a message that two scans find is counted once', async () => {
  const check = new SharedAliasCheck({
    written: { look: () => Promise.resolve(new Map()) },
    settled: { back: () => Promise.resolve(new Set()) },
    log: () => undefined,
  } as unknown as ConstructorParameters<typeof SharedAliasCheck>[0]);
  for (const numbers of [[1], [1, 2]]) {
    const own = numbers.map((n) => said(n, 'worker', 'alice'));
    await check.look('front', { ...emptyScan(), own: new Map([['general', own]]) });
  }
  expect(check.found).toEqual({
    alias: 'front',
    count: 2,
    newest: `data/channels/general/${path(2)}`,
  });
});
