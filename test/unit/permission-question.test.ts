import fc from 'fast-check';
import { anyText } from '../support/any-text.ts';
import { describe, expect, it } from 'vitest';
import { askingOf } from '../../src/agents/permission/asking.ts';
import { permissionQuestion, toolCall } from '../../src/protocol/decision/permission.ts';
import { formatMessage, parseMessage, type Message } from '../../src/protocol/message.ts';

const writer = { actor: 'worker', host: 'laptop', at: new Date('2026-06-09T19:00:00.000Z') };
const re = ['2026/06/09/180000000Z-0a0a0a0a0a0a.md'];
const marked = { mark: 'writes', because: [] };

function questionOf(tool: string, input: unknown): Message {
  const call = toolCall(tool, input);
  if (!call.ok) throw new Error(call.problems.join());
  return permissionQuestion(call.value, marked, writer, { approver: 'anna', re });
}

/** What is not drawn, and what steers a terminal or reorders letters. */
const HIDING = /[^\P{C}\n]/u;

describe('a question for permission', () => {
  it('shows an input whole, and lets nothing in it hide or pass for a line of ours', () => {
    const piece = fc.oneof(
      anyText(),
      fc.constantFrom(
        'a\nMark: reads\n\nAllow it once:',
        '\u202e',
        '\u001b[2J',
        '\r\n---\n',
        '```',
        '\u200b',
      ),
    );
    const inputs = fc.dictionary(
      fc.string({ minLength: 1, maxLength: 20 }),
      fc.oneof(piece, fc.jsonValue()),
      { maxKeys: 5 },
    );
    fc.assert(
      fc.property(inputs, (input) => {
        const known = JSON.parse(JSON.stringify(input)) as Record<string, unknown>;
        const message = questionOf('Write', input);
        const read = parseMessage(Buffer.from(formatMessage(message)));
        if (!read.ok) throw new Error(read.problems.join());
        const { permission, body, options, proposal } = read.value;
        expect(JSON.parse(permission?.input ?? '')).toEqual(known);
        expect({ options, proposal }).toEqual({ options: ['once', 'deny'], proposal: true });
        expect(body).not.toMatch(HIDING);
        expect(permission?.input).not.toMatch(HIDING);
        // Each line of the input is indented: ours are not.
        const ours = body.split('\n').filter((line) => line !== '' && !line.startsWith('    '));
        expect(ours).toHaveLength(3);
        for (const [name, value] of Object.entries(known)) {
          if (typeof value !== 'string' || !/^\w+$/.test(name) || /[^\x20-\x7e\n]/.test(value))
            continue;
          for (const line of value.includes('\n') ? value.split('\n') : [JSON.stringify(value)])
            expect(body).toContain(line);
        }
      }),
    );
  });

  it('is not made of what is too long, or no tool call', () => {
    for (const [tool, input] of [
      ['Write', 'x'],
      ['Write', null],
      [7, {}],
      ['', {}],
      ['a\nb', {}],
      ['x'.repeat(201), {}],
      ['Write', { content: 'x'.repeat(16_384) }],
      ['Write', { content: '\u202e'.repeat(3000) }],
    ])
      expect(toolCall(tool, input).ok, JSON.stringify(tool)).toBe(false);
    expect(toolCall('Write', { content: 'x'.repeat(16_000) }).ok).toBe(true);
    const deep = JSON.parse(`{"a":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`) as unknown;
    expect(toolCall('Write', deep).ok).toBe(false);
  });
});

describe('a command line', () => {
  it('is made to ask where it is a plain call of a CLI that can, and left alone otherwise', () => {
    for (const line of [
      'claude -p',
      'claude -p --permission-mode acceptEdits --allowedTools "Bash(crosstalk:*)"',
      'FOO=1 exec nice /opt/bin/claude --print --mcp-config own.json --output-format json',
    ])
      expect(askingOf(line), line).toMatchObject({
        ok: true,
        flags: expect.stringContaining(
          '--permission-prompt-tool mcp__crosstalk_permission__ask',
        ) as string,
      });
    for (const line of [
      'claude',
      'claude -p | cat',
      'claude -p; true',
      'claude -p "$X" --',
      'claude -p \\',
      'cd x && claude -p',
      'claude -p --permission-prompt-tool mine',
      'claude -p --permission-prompt-tool=mine',
      'claude -p --dangerously-skip-permissions',
      'claude -p --permission-mode bypassPermissions',
      'claude -p --permission-mode=dontAsk',
      'claude -p --permission-mode auto',
      'claude -p --safe-mode',
      'codex exec -',
      'constructor -p',
      '$CLAUDE -p',
      '',
    ])
      expect(askingOf(line).ok, line).toBe(false);
  });
});
