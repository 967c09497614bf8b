import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { acp } from '../../src/agents/output/acp.ts';
import { toolOfCall } from '../../src/agents/permission/acp-call.ts';
import { warmOf, type AcpWay } from '../../src/agents/sessions/warm-of.ts';
import { rendererOf } from '../../src/agents/transcript/renderers.ts';
import type { AgentProcess } from '../../src/dispatcher/sessions/pooled-process.ts';
import { makeRoom, WarmSessions } from '../../src/dispatcher/sessions/warm-sessions.ts';
import { Messages } from '../../src/runner/acp/runners.ts';
import { ToolCalls } from '../../src/runner/acp/connection.ts';
import { KeptProcesses } from '../../src/state/sessions/agent-sessions.ts';
import { until } from '../support/wait.ts';

function way(command: string): AcpWay {
  const found = warmOf(command);
  if (!found.ok) throw new Error(found.why);
  return found.way;
}

it('makes what keeps a process of the words of its command', () => {
  expect(way('FOO=1 gemini --skip-trust -m gemini-2.5-pro').command).toBe(
    'FOO=1 gemini --skip-trust -m gemini-2.5-pro --acp',
  );
  expect(way('/opt/opencode run')).toMatchObject({ command: '/opt/opencode acp', options: {} });
  expect(way('opencode run -m a/b')).toMatchObject({ options: { model: 'a/b' } });
  const claude = way(
    'CLAUDE_CONFIG_DIR=~/work claude -p --permission-mode acceptEdits --allowedTools "Bash(crosstalk:*), Read" --model opus',
  );
  expect(claude.command).toBe('CLAUDE_CONFIG_DIR=~/work claude-agent-acp');
  const options = {
    permissionMode: 'acceptEdits',
    allowDangerouslySkipPermissions: false,
    promptSuggestions: false,
    allowedTools: ['Bash(crosstalk:*)', 'Read'],
    model: 'opus',
  };
  expect(claude.meta([], false)).toEqual({ claudeCode: { options } });
  const allowedTools = [...options.allowedTools, 'mcp__vault'];
  expect(claude.meta(['vault'], false)).toEqual({
    claudeCode: { options: { ...options, allowedTools, strictMcpConfig: true } },
  });
  // A person is asked for each of its tools.
  expect(claude.meta(['vault'], true)).toEqual({
    claudeCode: { options: { ...options, strictMcpConfig: true } },
  });
  const codex = way(
    'codex exec --skip-git-repo-check --sandbox workspace-write --add-dir "$CROSSTALK_RUN_DIR" -c allow_login_shell=false -',
  );
  expect(codex).toMatchObject({
    command: 'codex-acp',
    env: { CODEX_CONFIG: '{"allow_login_shell":false}', INITIAL_AGENT_MODE: 'workspace-write' },
    takesFolders: true,
  });
});

it.each([
  ['claude -p --dangerously-skip-permissions', '--dangerously-skip-permissions'],
  ['claude -p --permission-mode auto', '--permission-mode'],
  ['claude -p --permission-mode bypassPermissions', '--permission-mode'],
  ['claude -p --settings x.json', '--settings'],
  ['codex exec --dangerously-bypass-approvals-and-sandbox -', '--dangerously-bypass'],
  [`codex exec -c 'sandbox_permissions=["disk-full-read-access"]' -`, '-c'],
  ['codex exec -c approval_policy=never -', '-c approval_policy=never'],
  ['gemini --yolo', '--yolo'],
  ['gemini -p words', '-p'],
  ['opencode run --auto', '--auto'],
  ['opencode run --agent build', '--agent'],
  ['claude -p $MORE', '$MORE'],
])('keeps no process for %s, which has a word that may mean more there', (command, word) => {
  const found = warmOf(command);
  expect(found.ok).toBe(false);
  expect(found.ok ? '' : found.why).toContain(word);
});

it.each(['pi -p', 'my-own-cli', 'gemini; rm -rf /', 'gemini --acp'])(
  'knows no way to keep the process of %s',
  (command) => {
    expect(warmOf(command).ok).toBe(false);
  },
);

const update = (of: Record<string, unknown>) =>
  JSON.stringify({
    jsonrpc: '2.0',
    method: 'session/update',
    params: { sessionId: 's', update: of },
  });
const says = (text: string, messageId?: string) =>
  update({
    sessionUpdate: 'agent_message_chunk',
    content: { type: 'text', text },
    ...(messageId && { messageId }),
  });
const ends = (result: Record<string, unknown>) =>
  JSON.stringify({ jsonrpc: '2.0', id: 3, result: { stopReason: 'end_turn', ...result } });

function read(...lines: string[]) {
  const reader = acp();
  for (const line of lines) reader.line(line);
  return reader.end('');
}

it('takes the last message after the last tool as the answer', () => {
  const tool = update({ sessionUpdate: 'tool_call', toolCallId: 'a', title: 'ls' });
  expect(read(says('I look. '), tool, says('It is '), says('there.'), ends({})).text).toBe(
    'It is there.',
  );
  expect(read(says('Warning!'), says('yes', 'm1'), ends({})).text).toBe('yes');
  // It had nothing to add to what it said before.
  expect(read(says('on it'), tool, ends({})).text).toBe('on it');
  expect(read(says('cut off')).text).toBeUndefined();
});

it('counts what a turn used, and tells why it failed', () => {
  const usage = { inputTokens: 5, cachedReadTokens: 7, cachedWriteTokens: 2, outputTokens: 3 };
  expect(read(ends({ usage: { ...usage, totalTokens: 21 } })).usage).toEqual({
    input: 7,
    cached: 7,
    output: 7,
  });
  const cost = {
    sessionUpdate: 'usage_update',
    used: 9,
    size: 10,
    cost: { amount: 0.5, currency: 'USD' },
  };
  expect(read(update(cost), ends({ usage }))).toMatchObject({
    usage: { usd: 0.5 },
    context: { used: 9, size: 10 },
  });
  const quota = { token_count: { input_tokens: 11, output_tokens: 1 } };
  expect(read(ends({ _meta: { quota } })).usage).toEqual({ input: 11, cached: 0, output: 1 });
  const error = { code: -32603, message: 'Internal error: away', data: { details: 'the limit' } };
  expect(read(JSON.stringify({ id: 3, error })).error).toBe('the limit');
  expect(
    read(says('half'), JSON.stringify({ id: 3, result: { stopReason: 'cancelled' } })).error,
  ).toContain('cancelled');
});

it('tells what a turn does as it does it', () => {
  const told = rendererOf('acp')!;
  const lines = [
    says('I '),
    says('look.'),
    update({
      sessionUpdate: 'tool_call',
      toolCallId: 'a',
      kind: 'execute',
      title: 'Terminal',
      rawInput: {},
    }),
    update({ sessionUpdate: 'tool_call_update', toolCallId: 'a', rawInput: { command: 'ls' } }),
    says('Done.'),
    ends({ usage: { inputTokens: 1, outputTokens: 2 } }),
  ];
  expect(lines.flatMap((line) => told.line(line) ?? [])).toEqual([
    { kind: 'says', text: 'I look.' },
    { kind: 'tool', text: 'execute: ls' },
    { kind: 'says', text: 'Done.' },
    { kind: 'used', usage: { input: 1, cached: 0, output: 2 } },
  ]);
  expect(told.line('no JSON')).toBeUndefined();
});

it('shows a person what a process asks for, as the tool that it is', () => {
  expect(toolOfCall({ kind: 'execute', title: 'rm -rf x' })).toEqual({
    tool: 'Bash',
    input: { command: 'rm -rf x' },
  });
  const unnamed = { kind: 'other', title: 't', rawInput: { command: 'ls' } };
  expect(toolOfCall(unnamed)).toEqual({
    tool: 'Bash',
    input: { command: 'ls', also: { title: 't' } },
  });
  const claudes = { ...unnamed, _meta: { claudeCode: { toolName: 'Bash' } } };
  expect(toolOfCall(claudes)).toEqual({ tool: 'Bash', input: { command: 'ls' } });
  expect(toolOfCall('anything')).toEqual({ tool: 'a tool', input: { title: '' } });
});

it('shows a person all that a process asks for, wherever it says it', () => {
  const diff = { type: 'diff', path: 'a', oldText: null, newText: 'evil' };
  const edit = { kind: 'edit', title: 'Edit', locations: [{ path: '/w/a' }], content: [diff] };
  const file = { file_path: '/w/a' };
  expect(toolOfCall(edit)).toEqual({
    tool: 'Edit',
    input: { ...file, old_string: '', new_string: 'evil', also: { title: 'Edit' } },
  });
  const elsewhere = [{ ...diff, path: 'b' }];
  expect(toolOfCall({ ...edit, content: elsewhere })).toEqual({
    tool: 'Edit',
    input: { ...file, also: { title: 'Edit', content: elsewhere } },
  });
  const locations = [{ path: '/w/a' }, { path: '/root/.ssh/id_ed25519' }];
  expect(toolOfCall({ kind: 'read', title: '', locations })).toEqual({
    tool: 'Read',
    input: { ...file, also: { locations } },
  });
  expect(toolOfCall({ kind: 'read', title: 'Allow access to /root' })).toEqual({
    tool: 'Read',
    input: { title: 'Allow access to /root' },
  });
  const content = [{ type: 'content', content: { type: 'text', text: '[in ../../private]' } }];
  expect(toolOfCall({ kind: 'execute', title: 'cat a', content })).toEqual({
    tool: 'Bash',
    input: { command: 'cat a', also: { content } },
  });
  const rawInput = { cmd: 'rm -rf /', also: 1 };
  expect(toolOfCall({ kind: 'execute', title: 'cat a', rawInput })).toEqual({
    tool: 'Bash',
    input: { input: rawInput, also: { title: 'cat a' } },
  });
});

it('takes what an agent has told of a tool before for a part of what it asks', () => {
  const calls = new ToolCalls();
  const hear = (update: Record<string, unknown>): void => {
    calls.hear({ method: 'session/update', params: { sessionId: 's', update } });
  };
  const diff = { type: 'diff', path: 'a', newText: 'evil' };
  hear({ sessionUpdate: 'tool_call', toolCallId: '1', kind: 'edit', content: [diff] });
  hear({ sessionUpdate: 'tool_call_update', toolCallId: '1', content: null, title: 'Edit a' });
  hear({ sessionUpdate: 'agent_message_chunk', toolCallId: '1', kind: 'read' });
  const asked = { toolCallId: '1', title: 'Edit' };
  expect(calls.whole(asked)).toEqual({ kind: 'edit', content: [diff], title: 'Edit' });
  expect(calls.whole({ toolCallId: '2', title: 'other' })).toEqual({ title: 'other' });
  expect(calls.whole({ title: 'no call' })).toEqual({ title: 'no call' });
  hear({ sessionUpdate: 'tool_call_update', toolCallId: '3', title: 'x'.repeat(9 * 1024 * 1024) });
  expect(calls.whole(asked)).toBeUndefined();
  calls.begin();
  expect(calls.whole(asked)).toEqual({ title: 'Edit' });
});

it.each([
  ['a message that is cut off', '{"jsonrpc":"2.0","id":\n', 'no JSON object'],
  ['lists in 201 lists', `{"a":${'['.repeat(200)}${']'.repeat(200)}}\n`, 'deeper than 200'],
  ['a line without end', 'x'.repeat(17 * 1024 * 1024), 'more than 16 MiB'],
])('takes nothing more after %s', (_what, text, why) => {
  const taken: unknown[] = [];
  const broken: string[] = [];
  const messages = new Messages(
    (message) => taken.push(message),
    (reason) => broken.push(reason),
  );
  messages.feed(Buffer.from('{"id":1}\n{"i'), true);
  messages.feed(Buffer.from('d":2}\n'), true);
  messages.feed(Buffer.from(text), true);
  messages.feed(Buffer.from('{"id":3}\n'), true);
  expect(taken).toEqual([{ id: 1 }, { id: 2 }]);
  expect(broken).toEqual([expect.stringContaining(why)]);
});

it.each([
  ['text', 'Hello\n'],
  ['what looks like an object', '{ level: 30 }\n'],
  ['a list', '[1]\n'],
  ['an empty line', '\r\n'],
])('passes over a line with %s', (_what, text) => {
  const taken: unknown[] = [];
  const broken: string[] = [];
  const messages = new Messages(
    (message) => taken.push(message),
    (reason) => broken.push(reason),
  );
  messages.feed(Buffer.from(`${text}\u001b[0m{"id":1}\u001b[K\n${text}`), true);
  messages.feed(Buffer.from('{"id":2}\n'), true);
  expect([taken, broken]).toEqual([[{ id: 1 }, { id: 2 }], []]);
});

it('takes nothing more after a message that cannot be taken', () => {
  const broken: string[] = [];
  const messages = new Messages(
    () => {
      throw new RangeError('too deep');
    },
    (reason) => broken.push(reason),
  );
  messages.feed(Buffer.from('{"id":1}\n{"id":2}\n'), true);
  expect(broken).toEqual(['it printed what cannot be taken: too deep']);
});

it('takes brackets in a text for text', () => {
  const taken: unknown[] = [];
  const messages = new Messages((message) => taken.push(message), String);
  const said = { a: `"${'['.repeat(300)}\\`, b: [[{ c: '}' }]] };
  messages.feed(Buffer.from(`${JSON.stringify(said)}\n`), true);
  expect(taken).toEqual([said]);
});

it('hears no more than 1 MiB from a process that has nothing to do', () => {
  const broken: string[] = [];
  const messages = new Messages(
    () => undefined,
    (reason) => broken.push(reason),
  );
  const line = Buffer.from(`${JSON.stringify({ x: 'y'.repeat(300 * 1024) })}\n`);
  for (let count = 0; count < 3; count++) messages.feed(line, false);
  messages.feed(line, true);
  for (let count = 0; count < 3; count++) messages.feed(line, false);
  expect(broken).toEqual([]);
  messages.feed(line, false);
  expect(broken).toEqual([expect.stringContaining('nothing to do')]);
});

it('ends a process that has waited for too long, and its record with it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'warm-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const records = new KeptProcesses(folder);
  const ended: unknown[] = [];
  const sessions = new WarmSessions(
    {
      keptProcesses: records,
      newId: () => '01JXAMPLE0000000000000000A',
      now: () => new Date(0),
      log: (event, facts) => void ended.push([event, facts?.['reason']]),
    },
    {
      most: () => 8,
      elsewhere: () => Promise.resolve({ count: 0, idle: [] }),
      memory: () => Infinity,
      idle: 10,
      look: 3_600_000,
    },
  );
  const owner = { actor: 'a', channel: 'c', root: 'r' };
  let closed = 0;
  const seat = {
    cli: { isOpen: true, pid: process.pid },
    close: () => {
      closed++;
      return Promise.resolve();
    },
  } as unknown as AgentProcess;
  expect(sessions.claim(owner)).toBe(true);
  expect(sessions.claim(owner)).toBe(false);
  const kept = await sessions.begin(owner, 'default', way('gemini'));
  await kept?.take(seat, { pid: process.pid, started: '1' });
  expect(await records.all()).toHaveLength(1);
  expect(sessions.keeps(owner)).toBe(true);
  expect(sessions.keeps({ ...owner, actor: 'b' })).toBe(false);
  const session = {
    ...{ ...owner, agent: 'gemini', session: 's', tier: 'default', made: 'm', turns: 1 },
    ...{ known: [], last: '', told: {}, used: new Date(0).toISOString() },
  };
  await sessions.put(session);
  sessions.leave(owner);
  await until('its end', () => ended.length > 0 && !sessions.keeps(owner));
  expect(closed).toBe(1);
  expect(await records.all()).toEqual([]);
  expect(await sessions.of(owner)).toBeUndefined();
  expect(ended).toEqual([['session_ended', 'idle']]);
});

it('keeps no more than it may where several begin at once, with what other transports keep', async () => {
  const sessions = new WarmSessions(
    {
      keptProcesses: new KeptProcesses('/nowhere'),
      newId: () => '01JXAMPLE0000000000000000A',
      now: () => new Date(0),
      log: () => undefined,
    },
    {
      most: () => 3,
      elsewhere: () => nextTurn({ count: 1, idle: [] }),
      memory: () => Infinity,
      idle: 10,
      look: 3_600_000,
    },
  );
  const begun = await Promise.all(
    ['r', 's', 't', 'u', 'v'].map((root) =>
      sessions.begin({ actor: 'a', channel: 'c', root }, 'default', way('gemini')),
    ),
  );
  expect(begun.map((one) => one !== undefined)).toEqual([true, true, false, false, false]);
});

it('ends what was used least recently, of whichever transport, and passes over what has begun to work', async () => {
  const ended: string[] = [];
  const idle = (used: string, ends = true) => ({
    used,
    end: () => {
      ended.push(used);
      return nextTurn(ends);
    },
  });
  const own = { count: 1, idle: [idle('2026-02')], leaving: [] };
  const room = (most: number, ...there: ReturnType<typeof idle>[]) =>
    makeRoom(
      most,
      () => own,
      () => nextTurn({ count: there.length, idle: there }),
    );
  expect(await room(3, idle('2026-01'))).toBe(true);
  expect(ended).toEqual([]);
  expect(await room(2, idle('2026-01'))).toBe(true);
  expect(ended.splice(0)).toEqual(['2026-01']);
  expect(await room(2, idle('2026-03'))).toBe(true);
  expect(ended.splice(0)).toEqual(['2026-02']);
  expect(await room(2, idle('2026-01', false), idle('2026-03'))).toBe(true);
  expect(ended.splice(0)).toEqual(['2026-01', '2026-02']);
});

function nextTurn<T>(value: T): Promise<T> {
  return new Promise((resolve) => {
    setImmediate(() => {
      resolve(value);
    });
  });
}

it.each(['completed', 'failed'])('tells of a tool without input once it has %s', (status) => {
  const told = rendererOf('acp')!;
  const lines = [
    update({ sessionUpdate: 'tool_call', toolCallId: 'a', kind: 'read', title: 'Read it' }),
    update({ sessionUpdate: 'tool_call_update', toolCallId: 'a', status: 'in_progress' }),
    update({ sessionUpdate: 'tool_call_update', toolCallId: 'a', status }),
  ];
  expect(lines.map((line) => told.line(line))).toEqual([
    [],
    [],
    [{ kind: 'tool', text: expect.stringMatching(/^read/) as string }],
  ]);
});
