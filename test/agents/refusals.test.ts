import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { invoke } from '../../src/runner/runner.ts';
import { processRunner } from '../../src/runner/process-runner.ts';
import { plainCall } from '../../src/agents/output/plain-call.ts';
import { readOutput } from '../../src/dispatcher/run/output.ts';
import { knownAgent } from '../../src/agents/agents.ts';
import { refusalOf } from '../../src/agents/refusal.ts';
import { scratch } from '../support/bus.ts';
import { headless, homeFor, realCli } from './clis.ts';
import { REFUSALS } from './refusals.ts';
import { startModelServer } from './server.ts';

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const cases = REFUSALS.filter(({ cli }) => inject('agents').names.includes(cli)).map(
  (refusal) => [refusal.cli, refusal.when, refusal] as const,
);

/** Each CLI as it is called by hand, and as it is called here, with the flags for its usage. */
const ways = cases.flatMap(([cli, when, refusal]) => [
  [cli, when, 'by hand', refusal] as const,
  [cli, when, 'with JSON', refusal] as const,
]);

it.each(ways)('%s says in words that we know when %s, %s', async (_cli, _when, way, refusal) => {
  const server = await startModelServer(() => refusal.turn(new Date()));
  onTestFinished(() => server.close());
  const cli = realCli(refusal.cli);
  const [home, cwd] = [join(scratch(), 'home'), scratch()];
  mkdirSync(home);
  const settings = homeFor([cli], server.url, home, inject('agents').cache);
  const call = way === 'by hand' ? undefined : plainCall(headless(cli));
  if (way !== 'by hand') expect(call?.agent).toBe(cli.name);

  const asked = new Date();
  const printed = await invoke(processRunner, {
    command: call?.command ?? headless(cli),
    ...(call && { raw: { path: join(cwd, 'out') } }),
    cwd,
    env: { ...process.env, ...settings, CROSSTALK_RUN_DIR: cwd, ...refusal.env },
    input: 'Say one word, please.\n',
    timeout: 150_000,
    grace: 1000,
    maxOutput: 1024 * 1024,
    signal: new AbortController().signal,
    onStart: () => Promise.resolve(),
  });
  const ran = await readOutput(call?.agent, printed);

  if (call === undefined) {
    const lines = (refusal.on === 'stdout' ? ran.stdout : ran.stderrTail).split('\n');
    expect(ran).toMatchObject({ exitCode: refusal.exitCode, timedOut: false });
    expect(lines).toContainEqual(expect.stringMatching(refusal.says));
  }
  const known = refusalOf(knownAgent(cli.name)!, ran, asked, zone);
  expect(known?.kind).toBe(refusal.held);
  const wait = known?.until && (known.until.getTime() - asked.getTime()) / 1000;
  if (refusal.until === undefined) expect(wait ?? 0).toBeLessThan(60);
  else expect(Math.abs(wait! - refusal.until)).toBeLessThan(120);
});
