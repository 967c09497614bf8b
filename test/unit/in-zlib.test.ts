import { inflateSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { inZlib } from '../../src/transport/publish/loose-object.ts';

it('content of any size is what it was after zlib has taken it apart, which checks the sum', () => {
  for (const size of [0, 1, 2, 255, 256, 257, 2000, 4095, 4096, 70_000])
    for (const fill of [0, 0xff, 'ab\n']) {
      const content = Buffer.alloc(size, fill);
      expect(inflateSync(inZlib(content)).equals(content), `${String(size)} bytes`).toBe(true);
    }
});
