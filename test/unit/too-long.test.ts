import { expect, it } from 'vitest';
import { knownAgent } from '../../src/agents/agents.ts';
import { tooLongOf } from '../../src/agents/refusal.ts';

const run = (fields: { stdout?: string; stderrTail?: string; reported?: string }): unknown => ({
  exitCode: 1,
  stdout: '',
  stderrTail: '',
  ...fields,
});

it.each([
  ['claude', { reported: 'Prompt is too long' }],
  ['claude', { stdout: 'Prompt is too long\n' }],
  ['codex', { reported: "ERROR: Codex ran out of room in the model's context window." }],
  ['opencode', { reported: 'ContextOverflowError: the request is too large' }],
  ['pi', { reported: '400 prompt is too long: 250000 tokens > 200000 maximum' }],
  ['pi', { stderrTail: '400 prompt is too long: 250000 tokens > 200000 maximum\n' }],
  [
    'gemini',
    { reported: 'The input token count (1200000) exceeds the maximum number of tokens allowed' },
  ],
])('%s says that a prompt is too long: %o', (name, fields) => {
  const known = knownAgent(name);
  expect(known && tooLongOf(known, run(fields) as never)).toMatch(/too long|room|Overflow|exceeds/);
});

it('an answer that speaks of a prompt that is too long is none', () => {
  const known = knownAgent('claude');
  const stdout = `I looked into it.\n${'words '.repeat(50)}\nThe API says:\nPrompt is too long\nSo shorten it.\n`;
  expect(known && tooLongOf(known, run({ stdout }) as never)).toBeUndefined();
});
