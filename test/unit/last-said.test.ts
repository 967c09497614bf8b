import { describe, expect, it } from 'vitest';
import { OUTPUT_FORMATS } from '../../src/agents/output/formats.ts';

/** What a run says, calls a tool, and has nothing to add: in the JSON of each CLI. */
const SAID_BEFORE: Record<string, object[]> = {
  claude: [
    { type: 'assistant', message: { id: '1', content: [{ type: 'text', text: 'It is 4.' }] } },
    { type: 'assistant', message: { id: '1', content: [{ type: 'tool_use', name: 'Bash' }] } },
    { type: 'result', is_error: false, result: '' },
  ],
  codex: [
    { type: 'item.completed', item: { type: 'agent_message', text: 'It is 4.' } },
    { type: 'item.completed', item: { type: 'command_execution' } },
    { type: 'item.completed', item: { type: 'agent_message', text: '' } },
    { type: 'turn.completed', usage: {} },
  ],
  opencode: [
    { type: 'text', part: { id: '1', text: 'It is 4.' } },
    { type: 'step_finish', part: { reason: 'tool-calls' } },
    { type: 'step_finish', part: { reason: 'stop' } },
  ],
  pi: [
    {
      type: 'message_end',
      message: {
        role: 'assistant',
        content: [{ type: 'text', text: 'It is 4.' }],
        stopReason: 'toolUse',
      },
    },
    { type: 'message_end', message: { role: 'assistant', content: [], stopReason: 'stop' } },
  ],
};

function read(name: string, lines: readonly string[]): string | undefined {
  const reader = OUTPUT_FORMATS[name]!.reader();
  for (const line of lines) reader.line(line);
  return reader.end('').text;
}

describe.each(Object.entries(SAID_BEFORE))('%s', (name, events) => {
  const lines = events.map((event) => JSON.stringify(event));

  it('has answered by the last text that it said', () => {
    expect(read(name, lines)).toBe('It is 4.');
  });

  it.each([
    ['a colour', '\u001b[0;32m', '\u001b[0m'],
    ['a title', '\u001b]0;at work\u0007', '\r'],
    ['a byte order mark', '\ufeff', ''],
  ])('is understood with %s around its JSON', (_what, before, after) => {
    expect(
      read(
        name,
        lines.map((line) => `${before}${line}${after}`),
      ),
    ).toBe('It is 4.');
  });

  it('is not understood behind text', () => {
    expect(
      read(
        name,
        lines.map((line) => `note: ${line}`),
      ),
    ).toBeUndefined();
  });
});

it('gemini is understood with codes around its JSON', () => {
  const lines = JSON.stringify({ response: 'It is 4.' }, null, 2).split('\n');
  expect(read('gemini', ['\u001b[?25h' + (lines[0] ?? ''), ...lines.slice(1)])).toBe('It is 4.');
});
