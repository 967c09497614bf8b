import { expect, it } from 'vitest';
import { until } from '../support/wait.ts';
import { underTest } from './machine.ts';
import { asked, ledger, says, scene, spoken, words } from './warm-scene.ts';

const each = underTest('claude', 'codex', 'opencode', 'gemini').map(
  (cli) => [cli.name, cli] as const,
);
/** Those that take words into a turn; the others begin again. */
const TAKES = new Set(['claude', 'codex']);

it.each(each)(
  '%s that is kept answers to both, what it was asked and what was said while it worked on that',
  async (name, cli) => {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const at = await scene(cli, {}, async (request) => {
      const isFirst = !words(request.body).includes('ASKED-2');
      if (isFirst && request.tools.length > 0) await released;
      return says(request);
    });
    const { host, running } = at;
    const sent = await host.run('send', '--to', 'worker', 'ASKED-1');
    expect(sent.code, sent.err).toBe(0);
    await until('the first request', () => asked(at).length > 0);
    const now = await host.run('send', '--to', 'worker', '--now', 'ASKED-2');
    expect(now.code, now.err).toBe(0);
    const [told] = await until('the agent to be told', () => {
      const found = running.events.filter(({ event }) => event.includes('steer'));
      return found.length > 0 && found;
    });
    expect(told).toMatchObject({
      event: 'steered',
      how: TAKES.has(name) ? 'into' : 'again',
    });
    release();
    await until('the answer', () => {
      const failed = running.events.filter(({ event }) => /failed|dead|refused/.test(event));
      if (failed.length > 0) throw new Error(JSON.stringify(failed));
      return spoken(at).length > 0;
    });
    const [answer] = spoken(at);
    expect(answer?.message.body.trim()).toBe('SAID-2');
    expect(answer?.message.re).toHaveLength(2);
    expect(words(asked(at).at(-1)?.body)).toEqual(expect.arrayContaining(['ASKED-1', 'ASKED-2']));
    expect(ledger(at)).toMatchObject([{ ended: 'answered', session: 'fresh' }]);
    expect(running.events.filter(({ event }) => event === 'session_ended')).toEqual([]);
    // The process is kept, and knows both.
    const reply = await host.run('reply', answer?.relPath ?? '', 'ASKED-3');
    expect(reply.code, reply.err).toBe(0);
    await until('the second answer', () => spoken(at).length > 1);
    expect(spoken(at)[1]?.message.body.trim()).toBe('SAID-3');
    expect(spoken(at)[1]?.message.extra['session']).toBe('warm');
    await running.stop();
  },
);
