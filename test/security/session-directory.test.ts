import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stageFiles } from '../../src/dispatcher/staging/files.ts';
import type { AttachedFile } from '../../src/protocol/attached.ts';
import { attachedPath } from '../../src/protocol/layout.ts';
import type { Located, Message } from '../../src/protocol/message.ts';
import { sha256Of } from '../../src/state/side-files.ts';
import { runDirectory } from '../../src/state/run-directory.ts';
import { makeTurnDirectory } from '../../src/state/sessions/agent-sessions.ts';
import type { Transport } from '../../src/transport/transport.ts';
import { scratch } from '../support/bus.ts';
import { until } from '../support/wait.ts';

const ID = '01JABCDEFGHJKMNPQRSTVWXYZ0';

/** Waits until a folder appears in the directory of its session, and puts a symlink in its place. */
const SWAPPER = `
const { existsSync, renameSync } = require('node:fs');
const [, dir, link] = process.argv;
process.chdir(dir);
renameSync('batch', 'before');
process.stdout.write('ready');
while (!existsSync('batch'));
renameSync('batch', 'aside');
renameSync(link, 'batch');
process.stdout.write('swapped');`;

test('what the process of a session puts in the place of the folder of a batch leads nowhere', async () => {
  const [folder, outside, tools] = [scratch(), scratch(), scratch()];
  const link = join(tools, 'link');
  symlinkSync(outside, link);
  const dir = await makeTurnDirectory(folder, { id: ID, isOpen: false }, []);
  const swapper = spawn(process.execPath, ['-e', SWAPPER, dir, link]);
  let said = '';
  swapper.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  try {
    await until('the attacker', () => said.includes('ready'));
    const batch = Array.from({ length: 1000 }, (_, n) => ({ name: String(n), content: 'x' }));
    await makeTurnDirectory(folder, { id: ID, isOpen: true }, batch);
    await until('the attack', () => said.includes('swapped'));
  } finally {
    swapper.kill('SIGKILL');
  }
  expect(readdirSync(outside)).toEqual([]);
  expect(readdirSync(join(dir, 'aside'))).toHaveLength(1000);
  expect(readdirSync(folder)).toEqual([dir.slice(folder.length + 1)]);
});

test('what the process of a session puts in the place of the folder of attached files leads nowhere', async () => {
  const [folder, outside] = [scratch(), scratch()];
  const dir = runDirectory(folder, ID);
  mkdirSync(dir);
  const contents = ['one', 'two', 'three'].map((text) => Buffer.from(text));
  const files = contents.map((bytes, at): AttachedFile => {
    return {
      name: `file${String(at)}`,
      type: 'text/plain',
      sha256: sha256Of(bytes),
      bytes: bytes.length,
    };
  });
  const swap = (): void => {
    if (!existsSync(join(dir, 'files'))) return;
    renameSync(join(dir, 'files'), join(dir, 'aside'));
    symlinkSync(outside, join(dir, 'files'));
  };
  const transport = {
    fileLimits: { file: 1000 },
    blobs: async function* () {
      for (const bytes of contents) {
        swap();
        yield await Promise.resolve({
          kind: 'here',
          path: attachedPath(sha256Of(bytes)),
          bytes,
        });
      }
    },
  } as unknown as Transport;
  const batch: Located[] = [
    { relPath: 'a.md', message: { files, extra: {} } as unknown as Message },
  ];
  const laid = await stageFiles(transport, 'tip', batch, dir);
  expect(laid?.laid.map(({ name }) => name)).toEqual(['1-file0', '2-file1', '3-file2']);
  expect(readdirSync(outside)).toEqual([]);
  expect(readdirSync(join(dir, 'files'))).toHaveLength(3);
});

test('where the process of a session has put something of its own, nothing is laid', async () => {
  const [folder, outside] = [scratch(), scratch()];
  const dir = runDirectory(folder, ID);
  mkdirSync(dir);
  symlinkSync(outside, join(dir, 'files'));
  const transport = {
    fileLimits: { file: 1000 },
    blobs: async function* () {
      yield* await Promise.resolve([]);
    },
  } as unknown as Transport;
  const file = { name: 'x', type: 'text/plain', sha256: sha256Of(Buffer.from('x')), bytes: 1 };
  const message = { files: [file], extra: {} } as unknown as Message;
  await expect(stageFiles(transport, 'tip', [{ relPath: 'a.md', message }], dir)).rejects.toThrow(
    'ENOTDIR',
  );
  expect(readdirSync(outside)).toEqual([]);
  expect(readdirSync(folder)).toEqual([dir.slice(folder.length + 1)]);
});
