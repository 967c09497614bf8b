import { PassThrough, Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eachLine } from '../../src/mcp/permission/serve.ts';
import { servePermission } from '../../src/mcp/permission/serve.ts';
import { PermissionServer, type Ask, type Verdict } from '../../src/mcp/permission/serve.ts';

const allow: Ask = ({ input }) => Promise.resolve({ behavior: 'allow', updatedInput: input });
const call = (id: unknown, given: unknown): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'ask', arguments: given },
  });
const asked = { tool_name: 'Write', input: { file_path: 'a' } };

async function verdictOf(server: PermissionServer, line: string): Promise<Verdict> {
  const reply = (await server.receive(line)) as { result: { content: { text: string }[] } };
  return JSON.parse(reply.result.content[0]?.text ?? '') as Verdict;
}

describe('the server that an agent CLI asks for permission', () => {
  it('says what it is, and has one tool', async () => {
    const server = new PermissionServer(allow, '1.2.3');
    const initialize = {
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25' },
    };
    expect(await server.receive(JSON.stringify(initialize))).toMatchObject({
      id: 0,
      result: { protocolVersion: '2025-11-25', serverInfo: { version: '1.2.3' } },
    });
    expect(
      await server.receive('{"method":"notifications/initialized","jsonrpc":"2.0"}'),
    ).toBeUndefined();
    const listed = await server.receive('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
    expect(listed).toMatchObject({ result: { tools: [{ name: 'ask' }] } });
    expect(await server.receive('{"jsonrpc":"2.0","id":2,"method":"ping"}')).toMatchObject({
      result: {},
    });
  });

  it('passes on what is asked, and hands back what was decided', async () => {
    const seen: unknown[] = [];
    const server = new PermissionServer((question) => {
      seen.push(question);
      return Promise.resolve({ behavior: 'deny', message: 'not this one' });
    }, '1');
    expect(await verdictOf(server, call(1, asked))).toEqual({
      behavior: 'deny',
      message: 'not this one',
    });
    expect(seen).toEqual([{ tool: 'Write', input: { file_path: 'a' } }]);
  });

  it.each([
    undefined,
    null,
    [],
    { tool_name: 'Write' },
    { tool_name: '', input: {} },
    { tool_name: 7, input: {} },
    { tool_name: 'Write', input: 'x' },
    { tool_name: 'Write', input: [] },
  ])('denies a call with %j, and asks nobody', async (given) => {
    const server = new PermissionServer(() => Promise.reject(new Error('asked')), '1');
    expect(await verdictOf(server, call(1, given))).toMatchObject({
      behavior: 'deny',
      message: expect.stringContaining('cannot be read') as string,
    });
  });

  it('denies when nobody can be asked', async () => {
    const server = new PermissionServer(() => Promise.reject(new Error('no dispatcher')), '1');
    expect(await verdictOf(server, call(1, asked))).toMatchObject({ behavior: 'deny' });
  });

  it('answers whatever it is sent in the form of the protocol, and never allows what nobody decided', async () => {
    const server = new PermissionServer(() => Promise.reject(new Error('asked')), '1');
    for (const line of [
      'nonsense',
      '[]',
      '7',
      '"x"',
      '{"id":1}',
      '{"id":{},"method":"ping"}',
      '{"id":1,"method":7}',
    ])
      expect(await server.receive(line), line).toMatchObject({
        error: { code: expect.any(Number) as number },
      });
    expect(
      await server.receive('{"id":1,"method":"tools/call","params":{"name":"other"}}'),
    ).toMatchObject({
      error: { code: -32_602 },
    });
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.json()), async (line) => {
        const reply = await server.receive(line);
        expect(JSON.stringify(reply ?? null)).not.toContain('allow');
      }),
    );
  });

  it('asks many things at once, denies too many, and answers each by its id', async () => {
    const waiting: (() => void)[] = [];
    const server = new PermissionServer(
      ({ input }) =>
        new Promise((resolve) => {
          waiting.push(() => {
            resolve({ behavior: 'allow', updatedInput: input });
          });
        }),
      '1',
    );
    const all = Array.from({ length: 100 }, (_, id) =>
      verdictOf(server, call(id, { tool_name: 'Write', input: { id } })),
    );
    const twice = await verdictOf(server, call(3, asked));
    expect(twice.behavior).toBe('deny');
    for (const go of waiting.reverse()) go();
    const verdicts = await Promise.all(all);
    expect(verdicts.filter(({ behavior }) => behavior === 'allow')).toHaveLength(64);
    expect(verdicts[7]).toEqual({ behavior: 'allow', updatedInput: { id: 7 } });
  });

  it('stops asking what its client has cancelled, and gives no answer to that', async () => {
    const server = new PermissionServer(
      (_, gone) =>
        new Promise((resolve) => {
          gone.addEventListener('abort', () => {
            resolve({ behavior: 'deny', message: 'gone' });
          });
        }),
      '1',
    );
    const answer = server.receive(call(5, asked));
    await server.receive('{"method":"notifications/cancelled","params":{"requestId":5}}');
    expect(await answer).toBeUndefined();
  });

  it('takes apart what comes in pieces of any size', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.stringMatching(/^[^\n]{0,20}$/)),
        fc.integer({ min: 1, max: 7 }),
        async (lines, size) => {
          const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
          const pieces: Buffer[] = [];
          for (let at = 0; at < bytes.length; at += size)
            pieces.push(bytes.subarray(at, at + size));
          const found: string[] = [];
          expect(await eachLine(Readable.from(pieces), 1000, (line) => found.push(line))).toBe(
            true,
          );
          expect(found).toEqual(lines);
        },
      ),
    );
  });

  it('ends at a line of 100 MB, holds little of it, and asks nobody', async () => {
    const piece = Buffer.alloc(1024 * 1024, 'x');
    let given = 0;
    const input = Readable.from(
      (function* () {
        yield Buffer.from(
          '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"tool_name":"Write","input":{"a":"',
        );
        for (; given < 100; given++) yield piece;
      })(),
    );
    const output = new PassThrough();
    const isWhole = await servePermission(
      { input, output },
      () => Promise.reject(new Error('asked')),
      '1',
    );
    expect(isWhole).toBe(false);
    expect(given).toBeLessThan(40);
    expect(output.read()).toBeNull();
  });
});
