// @module-tag long
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Bus, scratch } from '../support/bus.ts';
import { SPELLINGS, tools } from '../support/spellings.ts';

it('doctor looks for the same program, where the line says that it is', async () => {
  /** A program that is on no machine's PATH. */
  const NAME = 'an-agent-of-ours';
  const folder = tools(NAME);
  const home = scratch();
  const written = [NAME, join(folder, NAME), `"$HOME"/${NAME}`, `PATH=/x ${NAME}`, 'cd / && x'];
  const lines = [...SPELLINGS.map((one) => one.replace('%', NAME)), ...written];
  const actors = Object.fromEntries(lines.map((line, at) => [`w${String(at)}`, line]));
  const host = await new Bus().host('front', actors);
  const found = async (path: string): Promise<string[]> => {
    const env = { PATH: path, HOME: home };
    const { out } = await host.runWith({ env }, 'doctor', '--host', 'front');
    return [...out.matchAll(/ cli of w\d+ \(default\): (.*)$/gm)].map(([, one]) => one ?? '');
  };
  const path = process.env['PATH'] ?? '';
  const elsewhere = [
    `${join(folder, NAME)} is there`,
    `${join(home, NAME)} is not on the PATH`,
    'a shell command',
    'a shell command',
  ];
  const all = [...SPELLINGS, NAME];
  expect(await found(`${folder}:${path}`)).toEqual([
    ...all.map(() => `${NAME} is there`),
    ...elsewhere,
  ]);
  expect(await found(path)).toEqual([...all.map(() => `${NAME} is not on the PATH`), ...elsewhere]);
});
