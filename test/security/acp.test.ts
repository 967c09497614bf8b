import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { acpRunner } from '../../src/runner/acp/runners.ts';
import type { InvocationResult } from '../../src/runner/runner.ts';
import { scratch } from '../support/bus.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** An agent that opens a session; `SAYS` does something before it answers a prompt. */
const AGENT = `
const out = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const lines = require('node:readline').createInterface({ input: process.stdin });
lines.on('line', (line) => {
  if (line === '') return;
  const { id, method } = JSON.parse(line);
  if (method === 'initialize') out({ id, result: { protocolVersion: 1, agentCapabilities: {} } });
  else if (method === 'session/new') out({ id, result: { sessionId: 's' } });
  else if (method === 'session/prompt') SAYS;
});`;

/** Gives one prompt to an agent. */
async function promptTo(says: string): Promise<InvocationResult> {
  const dir = scratch();
  const cli = acpRunner.start({
    command: `exec '${process.execPath}' -e "$AGENT"`,
    cwd: dir,
    env: { ...process.env, AGENT: AGENT.replace('SAYS', says) },
    acp: { servers: [], folders: [], options: {} },
  });
  onTestFinished(() => {
    cli.end();
  });
  return cli.prompt({
    input: 'do it',
    timeout: 600_000,
    grace: 100,
    maxOutput: 1024 * 1024,
    raw: { path: join(dir, 'output') },
  });
}

const ANSWERS = `out({ id, result: { stopReason: 'end_turn' } })`;

test('what an agent says that is no message of the protocol is written nowhere but in its output', async () => {
  const printed = [vi.spyOn(console, 'error'), vi.spyOn(console, 'warn')];
  const line = JSON.stringify('x\n{"event": "approved"}\u001b[2J');
  const result = await promptTo(`{
    out({ id: ${line}, result: {} });
    out({ id: ${line} });
    out({});
    out({ method: 'session/update', params: [${line}] });
    out({ method: ${line} });
    out({ method: 1, id: 2 });
    ${ANSWERS};
    out({ id, result: { stopReason: 'refusal' } });
  }`);
  expect(result).toMatchObject({ exitCode: 0, timedOut: false });
  for (const spy of printed) expect(spy).not.toHaveBeenCalled();
});

test('an agent that asks without end and takes no answer is ended, with the reason', async () => {
  const result = await promptTo(`{
    lines.pause();
    process.stdin.pause();
    const more = () => {
      while (out({ id: 1, method: 'fs/read_text_file', params: { path: 'x'.repeat(1000) } }));
      process.stdout.once('drain', more);
    };
    more();
  }`);
  expect(result).toMatchObject({ exitCode: 1, reported: 'it asks, and does not take the answers' });
});

test('an agent may ask many things one after the other', { tags: 'long' }, async () => {
  const result = await promptTo(`{
    let left = 1500;
    lines.on('line', (line) => {
      if (!('id' in JSON.parse(line)) || 'method' in JSON.parse(line)) return;
      if (--left === 0) ${ANSWERS};
      else out({ id: left, method: 'fs/read_text_file', params: {} });
    });
    out({ id: left, method: 'fs/read_text_file', params: {} });
  }`);
  expect(result).toMatchObject({ exitCode: 0 });
});
