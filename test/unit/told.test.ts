import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rendererOf } from '../../src/agents/transcript/renderers.ts';
import type { Event } from '../../src/agents/transcript/event.ts';
import { harmless, Printed } from '../../src/runner/raw-output.ts';

function told(agent: string, ...events: unknown[]): Event[] {
  const narrator = rendererOf(agent);
  if (narrator === undefined) throw new Error(agent);
  const lines = events.map((event) => (typeof event === 'string' ? event : JSON.stringify(event)));
  return [...lines.flatMap((line) => narrator.line(line) ?? []), ...narrator.end()];
}

it('of codex a command is told when it begins, and a message and the usage when they are complete', () => {
  const command = { type: 'command_execution', command: 'npm test' };
  expect(
    told(
      'codex',
      { type: 'item.started', item: command },
      { type: 'item.completed', item: command },
      { type: 'item.completed', item: { type: 'reasoning', text: 'let me think' } },
      { type: 'item.completed', item: { type: 'file_change', changes: [{ path: 'a.ts' }] } },
      { type: 'item.completed', item: { type: 'agent_message', text: 'Done.' } },
      {
        type: 'turn.completed',
        usage: { input_tokens: 110, cached_input_tokens: 100, output_tokens: 5 },
      },
      { type: 'turn.failed', error: { message: 'it broke' } },
    ),
  ).toEqual([
    { kind: 'tool', text: 'shell: npm test' },
    { kind: 'tool', text: 'files: a.ts' },
    { kind: 'says', text: 'Done.' },
    { kind: 'used', usage: { input: 10, cached: 100, output: 5 } },
    { kind: 'fails', text: 'it broke' },
  ]);
});

it('of pi a tool is told when it begins, a message once it is complete, and noise never', () => {
  const usage = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, cost: { total: 0.5 } };
  const message = { role: 'assistant', content: [{ type: 'text', text: 'Done.' }], usage };
  expect(
    told(
      'pi',
      { type: 'message_update', message },
      { type: 'tool_execution_start', toolName: 'bash', args: { command: 'ls  -l\n' } },
      { type: 'message_end', message },
      { type: 'message_end', message },
    ),
  ).toEqual([
    { kind: 'tool', text: 'bash: ls -l' },
    { kind: 'says', text: 'Done.' },
    { kind: 'used', usage: { input: 5, cached: 3, output: 2, usd: 0.5 } },
    { kind: 'says', text: 'Done.' },
    { kind: 'used', usage: { input: 10, cached: 6, output: 4, usd: 1 } },
  ]);
});

it('of opencode each part is told, and of gemini all of it at the end', () => {
  const tokens = { input: 1, output: 2, reasoning: 1, cache: { read: 3, write: 4 } };
  expect(
    told(
      'opencode',
      { type: 'tool_use', part: { tool: 'read', state: { input: { filePath: 'a.ts' } } } },
      { type: 'text', part: { id: '1', text: 'Done.' } },
      { type: 'step_finish', part: { tokens, cost: 0.25 } },
    ),
  ).toEqual([
    { kind: 'tool', text: 'read: a.ts' },
    { kind: 'says', text: 'Done.' },
    { kind: 'used', usage: { input: 5, cached: 3, output: 3, usd: 0.25 } },
  ]);
  const models = { fast: { tokens: { prompt: 4, cached: 3, candidates: 2 } } };
  const whole = JSON.stringify({ response: 'Done.', stats: { models } }, undefined, 2);
  expect(told('gemini', ...whole.split('\n'))).toMatchObject([
    { kind: 'says', text: 'Done.' },
    { kind: 'used', usage: { input: 1, cached: 3, output: 2 } },
  ]);
});

it('whatever an agent CLI prints, telling it neither fails nor takes long', () => {
  const agents = fc.constantFrom('claude', 'codex', 'gemini', 'opencode', 'pi');
  const types = fc.constantFrom(
    ...['assistant', 'result', 'item.started', 'item.completed', 'error', 'turn.completed', 'text'],
    ...['tool_use', 'step_finish', 'message_end', 'tool_execution_start', 'turn.failed'],
  );
  const names = ['message', 'item', 'part', 'error', 'usage', 'content', 'args', 'result'] as const;
  const value = fc.jsonValue({ maxDepth: 3 });
  const event = fc
    .tuple(types, fc.dictionary(fc.constantFrom(...names), value))
    .map(([type, rest]) => ({ type, ...rest }));
  fc.assert(
    fc.property(
      agents,
      fc.array(fc.oneof(event, fc.string()), { maxLength: 8 }),
      (agent, events) => {
        for (const one of told(agent, ...events))
          if ('text' in one) expect(one.text).toBeTypeOf('string');
      },
    ),
  );
  const begun = performance.now();
  const turn = (n: number): object => ({
    type: 'assistant',
    message: { id: String(n), content: [], usage: { input_tokens: 1 } },
  });
  expect(told('claude', ...Array.from({ length: 20_000 }, (_, n) => turn(n))).at(-1)).toEqual({
    kind: 'used',
    usage: { input: 20_000, cached: 0, output: 0 },
  });
  expect(performance.now() - begun).toBeLessThan(10_000);
});

it('what comes in pieces is read as what comes at once, wherever it is cut', () => {
  const parts = fc.constantFrom(
    ...[
      '\u001b[31m',
      '\u001b]0;title\u0007',
      '\u009b2J',
      '\r',
      '\r\n',
      '\n',
      'é',
      '😀',
      'text',
      '\t',
    ],
    ...['\u202e', '\u001b', '\u0007', '\u001b(B', '\u0008'],
  );
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 12 }), fc.array(fc.nat(8)), (texts, cuts) => {
      const bytes = Buffer.from(texts.join(''));
      const printed = new Printed();
      let said = '';
      let at = 0;
      for (const cut of cuts) {
        said += printed.take(bytes.subarray(at, at + cut));
        at += cut;
      }
      said += printed.take(bytes.subarray(at)) + printed.end();
      // eslint-disable-next-line no-control-regex -- what must not be there
      expect(said).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
      const letters = (text: string): string => text.replace(/[^é😀]/gu, '');
      expect(letters(said)).toBe(letters(harmless(bytes.toString('utf8'))));
    }),
  );
});

it('of a tool whose input is lists within lists its name is told, and nothing is thrown', () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const use = `{"type":"tool_use","id":"t","name":"Odd","input":{"x":${deep}}}`;
  const line = `{"type":"assistant","message":{"content":[${use}]}}`;
  expect(told('claude', line)[0]).toEqual({
    kind: 'tool',
    text: 'Odd: nested too deeply to be shown',
  });
});
