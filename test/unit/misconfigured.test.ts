import { describe, expect, it } from 'vitest';
import { knownAgent, KNOWN_AGENTS } from '../../src/agents/agents.ts';
import { misconfigurationOf } from '../../src/agents/misconfigured.ts';

function said(name: string, out: string, err: string): string | undefined {
  return misconfigurationOf(knownAgent(name)!, { exitCode: 1, stdout: out, stderrTail: err });
}

describe('what cannot work as it is configured, as the CLIs print it', () => {
  it.each([
    ['claude', '', "error: unknown option '--no-such-option'\n"],
    [
      'claude',
      '',
      "error: option '--permission-mode <mode>' argument 'nope' is invalid. Allowed choices are acceptEdits, auto, plan.\n",
    ],
    ['claude', '', 'Error: Settings file not found: /nope.json\n'],
    [
      'claude',
      "There's an issue with the selected model (nope). It may not exist or you may not have access to it. Run --model to pick a different model.\n",
      '',
    ],
    [
      'codex',
      '',
      "WARNING: proceeding, even though we could not create PATH aliases\nerror: unexpected argument '--no-such-option' found\n\n  tip: to pass it as a value\n",
    ],
    ['codex', '', "error: invalid value 'nope' for '--sandbox <SANDBOX_MODE>'\n"],
    ['codex', '', 'Error: Model provider `nope` not found\n'],
    ['gemini', '', 'Unknown arguments: such-option, suchOption\nUsage: gemini [options]\n'],
    ['opencode', '', 'opencode run [message..]\n\nrun opencode with a message\n'],
    ['pi', '', 'Error: Unknown option: --no-such-option\n'],
    ['pi', '', 'Error: Model "nope/nope" not found. Use --list-models to see available models.\n'],
  ])('%s: %s%s', (name, out, err) => {
    expect(said(name, out, err)).toBeTruthy();
  });

  it('a line that ends in a colon is said together with the next one', () => {
    const broken = 'Error loading config.toml:\n/h/.codex/config.toml:1:6: unclosed array\n';
    expect(said('codex', '', broken)).toBe(
      'Error loading config.toml: /h/.codex/config.toml:1:6: unclosed array',
    );
    const mcp = 'Error: Invalid MCP configuration:\nMCP config file not found: /nope.json\n';
    expect(said('claude', '', mcp)).toContain('not found: /nope.json');
  });
});

it('what a model or a message says later is not taken for it', () => {
  const prompt = `OpenAI Codex v0.169.0\n--------\nuser\nDo it.\nmore\nerror: unexpected argument 'x' found\n`;
  expect(said('codex', '', prompt)).toBeUndefined();
  expect(said('claude', 'I saw this:\nerror: unknown option x\n', '')).toBeUndefined();
  expect(
    said('claude', "Look.\nThere's an issue with the selected model (x).\n", ''),
  ).toBeUndefined();
  for (const { name } of KNOWN_AGENTS) {
    expect(said(name, '', 'Error: connect ECONNREFUSED 127.0.0.1:1\n')).toBeUndefined();
    expect(said(name, '', '')).toBeUndefined();
  }
});
