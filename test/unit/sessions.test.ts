import { expect, it } from 'vitest';
import { KNOWN_AGENTS } from '../../src/agents/agents.ts';
import {
  isSessionRefused,
  RESUMING_AGENTS,
  sessionsOf,
} from '../../src/agents/sessions/sessions-of.ts';
import { usageSince } from '../../src/dispatcher/sessions/sessions.ts';
import { parseProfile } from '../../src/protocol/files/actor.ts';
import { parseHostFile } from '../../src/protocol/files/host-file.ts';

const ID = '11111111-2222-4333-8444-555555555555';
const why = (command: string): string => {
  const found = sessionsOf(command);
  return found.ok ? '' : found.why;
};

it('begins a session and goes on with it by the words of each CLI', () => {
  const lines = KNOWN_AGENTS.flatMap(({ name, headless }) => {
    const found = sessionsOf(headless);
    return found.ok ? [[name, found.call.first(ID), found.call.next(ID)]] : [];
  });
  const claude =
    'claude -p --permission-mode acceptEdits --allowedTools "Bash(crosstalk:*)" --output-format stream-json --verbose';
  const codex =
    'codex exec --skip-git-repo-check --sandbox workspace-write --add-dir "$CROSSTALK_RUN_DIR" -c allow_login_shell=false';
  const gemini =
    'gemini --skip-trust --approval-mode auto_edit --allowed-tools "run_shell_command(crosstalk)" -m gemini-2.5-pro --output-format json';
  expect(lines).toEqual([
    ['claude', `${claude} --session-id ${ID}`, `${claude} --resume ${ID}`],
    ['codex', `${codex} - --json`, `${codex} resume ${ID} - --json`],
    ['gemini', `${gemini} --session-id ${ID}`, `${gemini} --resume ${ID}`],
    ['opencode', 'opencode run --format json', `opencode run --format json --session ${ID}`],
    ['pi', 'pi -p --mode json', `pi -p --mode json --session ${ID}`],
  ]);
  expect(lines.map(([name]) => name).sort()).toEqual([...RESUMING_AGENTS].sort());
});

it.each([
  ['claude -p; true', 'no plain call of claude'],
  ['claude -p --resume x', 'names a session itself'],
  ['claude -p --no-session-persistence', 'names a session itself'],
  ['codex exec --ephemeral -', 'names a session itself'],
  ['codex exec "do it"', 'does not end with "-"'],
  ['gemini -m x --resume latest', 'names a session itself'],
  ['opencode run --session ses_1', 'names a session itself'],
  ['pi -p --no-session', 'names a session itself'],
  ['qwen', 'no way is known'],
  ['my-cli', 'no way is known'],
])('of %s no session is gone on with', (command, reason) => {
  expect(why(command)).toContain(reason);
});

it('puts nothing on a command line that is no id of a session', () => {
  for (const agent of ['claude -p', 'codex exec -', 'gemini', 'opencode run', 'pi -p']) {
    const found = sessionsOf(agent);
    if (!found.ok) throw new Error(found.why);
    for (const odd of ['', 'x; rm -rf ~', `${ID} --yolo`, `${ID}\n`, '$(id)', '../../x', '--last'])
      expect(found.call.isId(odd), `${agent}: ${odd}`).toBe(false);
  }
});

it('takes for a refusal only what a CLI says before it asks the model', () => {
  const stderrTail = `No conversation found with session ID: ${ID}\n`;
  const nothing = { input: 0, cached: 0, output: 0 };
  expect(isSessionRefused('claude', { stdout: '', stderrTail })).toBe(true);
  expect(isSessionRefused('claude', { stdout: '', stderrTail, usage: nothing })).toBe(true);
  const used = { ...nothing, input: 1 };
  expect(isSessionRefused('claude', { stdout: '', stderrTail, usage: used })).toBe(false);
  expect(isSessionRefused('claude', { stdout: 'Well.', stderrTail })).toBe(false);
  expect(isSessionRefused('codex', { stdout: '', stderrTail })).toBe(false);
  const red = '\u001b[91m\u001b[1mError: \u001b[0mSession not found\n\n';
  expect(isSessionRefused('opencode', { stdout: '', stderrTail: red })).toBe(true);
  const old =
    'NotFoundError: NotFoundError\n data: {\n  message: "Session not found: ses_0a",\n},\n\n';
  const trace = '      at <anonymous> (/$bunfs/root/src/index.js:268387:15)\n'.repeat(9);
  expect(isSessionRefused('opencode', { stdout: '', stderrTail: `${old}${trace}\n` })).toBe(true);
});

it('counts what a run used by what its session used in all', () => {
  const total = { input: 30, cached: 300, output: 15 };
  const before = { input: 20, cached: 200, output: 10 };
  expect(usageSince(total, undefined)).toEqual(total);
  expect(usageSince(total, before)).toEqual({ input: 10, cached: 100, output: 5 });
  expect(usageSince(before, total)).toBeUndefined();
});

const tier = (options: string) =>
  parseHostFile(`---\nalias: a\nactors:\n  worker:\n    default:\n      cli: x\n${options}---\n`);

it('reads the options of sessions, and says in one line what is wrong with them', () => {
  const read = (options: string) => {
    const file = tier(options);
    return file.ok ? file.value.actors.get('worker')?.[0] : file.problems;
  };
  expect(read('      session: fresh\n')).not.toHaveProperty('session');
  expect(
    read('      session: resume\n      session_max_turns: 5\n      history: 3\n'),
  ).toMatchObject({ session: 'resume', sessionMaxTurns: 5, history: 3 });
  const where = 'actors.worker.default';
  expect(read('      session: warm\n')).toMatchObject({ session: 'warm' });
  expect(read('      session: always\n')).toEqual([
    `${where}.session is "always", expected fresh, resume or warm`,
  ]);
  expect(read('      session_max_turns: 5\n')).toEqual([
    `${where}.session_max_turns has no effect without ${where}.session: resume, or warm`,
  ]);
  expect(read('      session: resume\n      session_max_turns: 0\n')).toEqual([
    `${where}.session_max_turns is "0", expected a whole number from 1 to 1000`,
  ]);
  expect(read('      history: many\n')).toEqual([
    `${where}.history is "many", expected how many messages are shown, from 1 to 200`,
  ]);
});

it('reads history from a profile', () => {
  const profile = (history: string) =>
    parseProfile(`---\nname: a\nhistory: ${history}\n---\n`, 'a');
  expect(profile('7')).toMatchObject({ ok: true, value: { history: 7 } });
  expect(profile('500')).toMatchObject({
    problems: ['history is "500", expected how many messages are shown, from 1 to 200'],
  });
});
