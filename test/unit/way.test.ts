import { describe, expect, it } from 'vitest';
import { Way } from '../../src/actions/sending/ask.ts';

describe('what is said of a question whose asker is interrupted', () => {
  it('is that nothing was sent until it is written to disk, and nothing is written after that', async () => {
    const stop = new AbortController();
    const way = new Way(stop.signal);
    expect(await way.reached()).toBe('nowhere');
    way.handing();
    way.alone();
    stop.abort();
    expect(await way.reached()).toBe('nowhere');
    expect(() => {
      way.recording();
    }).toThrow('aborted');
    expect(await way.reached()).toBe('nowhere');
  });

  it('waits for a write that is under way, and is what becomes of that', async () => {
    const written = new Way(new AbortController().signal);
    written.recording();
    const reached = written.reached();
    written.recorded();
    expect(await reached).toBe('recorded');
    const refused = new Way(new AbortController().signal);
    refused.recording();
    const failed = refused.reached();
    refused.failed(new Error('ENOSPC'));
    await expect(failed).rejects.toThrow('ENOSPC');
  });

  it('waits until it is known whether a dispatcher was asked, and is then left open', async () => {
    const asked = new Way(new AbortController().signal);
    asked.handing();
    const reached = asked.reached();
    asked.handed();
    expect(await reached).toBe('handed');
    asked.alone();
    asked.failed(new Error('of no interest any more'));
    expect(await asked.reached()).toBe('handed');
    const nobody = new Way(new AbortController().signal);
    nobody.handing();
    const alone = nobody.reached();
    nobody.alone();
    expect(await alone).toBe('nowhere');
  });

  it('is left open where a write hangs', async () => {
    const way = new Way(new AbortController().signal);
    way.recording();
    expect(await way.reached()).toBe('handed');
  });
});
