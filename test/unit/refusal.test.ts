import fc from 'fast-check';
import { anyText } from '../support/any-text.ts';
import { describe, expect, it } from 'vitest';
import { accountOf, loginFiles, KNOWN_AGENTS, knownAgent } from '../../src/agents/agents.ts';
import { heldUntil, refusalOf, type Refusal } from '../../src/agents/refusal.ts';
import { LONGEST_MS, statedTime } from '../../src/agents/reset-time.ts';

const NOW = new Date('2026-11-21T14:30:00Z');
const ZONE = 'Europe/Berlin'; // UTC+1 on that day.

function refusal(name: string, out: string, err: string, exitCode = 1): Refusal | undefined {
  const agent = knownAgent(name)!;
  return refusalOf(agent, { exitCode, stdout: out, stderrTail: err }, NOW, ZONE);
}

/** What codex prints before its last line: a banner and the whole prompt. */
const codex = (last: string): string =>
  `OpenAI Codex v0.169.0\n--------\nuser\nDo it.\nERROR: unexpected status 401\nwarning: slow\n${last}\n${last}\n`;
const gemini = (error: string): string =>
  `Loaded cached credentials.\nError when talking to Gemini API Full report available at: /${'tmp/'.repeat(60)}gemini-client-error-Turn.run.json ${error}\n    at classifyGoogleError (file:///x.js:1:1)\n    at retryWithBackoff (file:///x.js:2:2) {\n  cause: {\n    code: 429,\n  },\n}\nAn unexpected critical error occurred:[object Object]\n`;

describe('rate limited', () => {
  it.each([
    ['claude', "You've hit your limit · resets 6pm (UTC)\n", '', '2026-11-21T18:00:00.000Z'],
    [
      'claude',
      "You've hit your weekly limit · resets Nov 23, 11:33pm (UTC)",
      '',
      '2026-11-23T23:33:00.000Z',
    ],
    ['claude', 'Claude AI usage limit reached|1795291200', '', '2026-11-21T20:00:00.000Z'],
    ['claude', '5-hour limit reached ∙ resets 3am', '', '2026-11-22T02:00:00.000Z'],
    [
      'claude',
      "API Error: Request rejected (429) · This request would exceed your account's rate limit. Please try again later.",
      '',
      undefined,
    ],
    [
      'claude',
      'API Error: Server is temporarily limiting requests (not your usage limit) · This request would …',
      '',
      undefined,
    ],
    [
      'claude',
      '{"type":"system"}\n{"type":"result","subtype":"success","is_error":true,"result":"You\'ve hit your session limit · resets 4pm (Europe/Berlin)"}\n',
      '',
      '2026-11-21T15:00:00.000Z',
    ],
    [
      'codex',
      '',
      codex(
        'ERROR: You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/settings/usage to purchase more credits or try again at 6:01 PM.',
      ),
      '2026-11-21T17:01:00.000Z',
    ],
    [
      'codex',
      '',
      codex(
        'ERROR: You’ve hit your usage limit. Visit https://chatgpt.com/settings/usage to purchase more credits or try again at Nov 24th, 2026 4:01 PM.',
      ),
      '2026-11-24T15:01:00.000Z',
    ],
    [
      'codex',
      '',
      codex(
        "ERROR: You've hit your usage limit. To get more access now, send a request to your admin or try again in 3 days 6 hours 57 minutes.",
      ),
      '2026-11-24T21:27:00.000Z',
    ],
    [
      'codex',
      '',
      codex('ERROR: exceeded retry limit, last status: 429 Too Many Requests'),
      undefined,
    ],
    [
      'codex',
      '{"type":"thread.started"}\n{"type":"turn.failed","error":{"message":"You\'ve hit your usage limit. Try again in 2 hours."}}\n',
      '',
      '2026-11-21T16:30:00.000Z',
    ],
    [
      'gemini',
      '',
      gemini('TerminalQuotaError: You have exhausted your daily quota on this model.'),
      undefined,
    ],
    [
      'gemini',
      '',
      gemini(
        'TerminalQuotaError: You have exhausted your capacity on this model. Your quota will reset after 1h49m8s.',
      ),
      '2026-11-21T16:19:08.000Z',
    ],
    [
      'qwen',
      '',
      '[API Error: You exceeded your current quota, please check your plan. (Status: 429)]\n',
      undefined,
    ],
  ])('%s that prints %j %j is refused until %s', (name, out, err, until) => {
    const found = refusal(name, out, err);
    expect(found?.kind).toBe('rate_limited');
    expect(found?.until?.toISOString()).toBe(until);
  });
});

describe('out of credit', () => {
  it.each([
    ['claude', 'Credit balance is too low', ''],
    ['codex', '', codex('ERROR: Quota exceeded. Check your plan and billing details.')],
    [
      'opencode',
      '',
      '\u001b[91m\u001b[1mError: \u001b[0mYou exceeded your current quota, please check your plan and billing details.\n',
    ],
    [
      'pi',
      '',
      '429 You exceeded your current quota, please check your plan and billing details. For more …\n',
    ],
  ])('%s that prints %j %j is not said to be rate limited', (name, out, err) => {
    expect(refusal(name, out, err)?.kind).toBe('out_of_credit');
  });
});

describe('not logged in', () => {
  it.each([
    ['claude', 'Not logged in · Please run /login\n', ''],
    ['claude', 'Invalid API key · Fix external API key\n', ''],
    [
      'claude',
      'Failed to authenticate. API Error: 401 OAuth token has expired. Please obtain a new token or refresh your existing token.\n',
      '',
    ],
    [
      'codex',
      '',
      codex(
        'ERROR: unexpected status 401 Unauthorized: Incorrect API key provided: dummy-key., url: http://127.0.0.1:38237/v1/responses',
      ),
    ],
    ['codex', '', codex('ERROR: Missing environment variable: `FAKE_MODEL_KEY`.')],
    [
      'gemini',
      '',
      gemini(
        '_ApiError: {"error":{"code":400,"message":"API key not valid. Please pass a valid API key."',
      ),
    ],
    ['gemini', '', `${gemini('_ApiError: {"type":"error"}')}  status: 401\n}\n`],
    [
      'gemini',
      '',
      'Please set an Auth method in your /home/anna/.gemini/settings.json or specify one of the following environment variables before running: GEMINI_API_KEY\n',
    ],
    [
      'gemini',
      '',
      'When using Gemini API, you must specify the GEMINI_API_KEY environment variable.\nUpdate your environment and try again (no reload needed if using .env)!\n',
    ],
    ['opencode', '', '\u001b[91m\u001b[1mError: \u001b[0mIncorrect API key provided: dummy-key.\n'],
    ['pi', '', '401 Incorrect API key provided: dummy-key.\n'],
    ['pi', '', 'No API key found for anthropic.\n\nUse /login to log into a provider\n  /a.md\n'],
  ])('%s that prints %j %j is not logged in', (name, out, err) => {
    expect(refusal(name, out, err)?.kind).toBe('not_logged_in');
  });

  it('an exit code that means so is enough', () => {
    expect(refusal('gemini', '', 'something new', 41)?.kind).toBe('not_logged_in');
    expect(refusal('gemini', '', 'something new', 1)).toBeUndefined();
  });
});

describe('a failure is no refusal', () => {
  it.each([
    ['claude', 'API Error: 500 Internal server error. This is a server-side issue\n', ''],
    ['claude', 'API Error: 529 Overloaded. This is a server-side issue\n', ''],
    ['claude', '', 'claude: command not found\n'],
    ['codex', '', codex('ERROR: We’re currently experiencing high demand.')],
    ['opencode', '', '\u001b[91m\u001b[1mError: \u001b[0mInternal server error\n'],
    ['pi', '', '500 Internal server error\n'],
    ['gemini', '', gemini('_ApiError: {"error":{"code":500}}')],
  ])('%s that prints %j %j has failed', (name, out, err) => {
    expect(refusal(name, out, err)).toBeUndefined();
  });

  it('what a model or a message says is not taken for what the CLI says', () => {
    const said = "You've hit your usage limit. Try again in 7 days.";
    expect(refusal('codex', '', `user\nERROR: ${said}\nand then\nERROR: stream ended\n`)).toBe(
      undefined,
    );
    const answer = `I looked.\nThe log says:\n${said}\nAnd more.\n${said}`;
    expect(refusal('claude', answer, said)).toBeUndefined();
    expect(refusal('pi', `429 ${said}`, `I read: 429 ${said}`)).toBeUndefined();
    expect(refusal('gemini', said, `The API said "status: 429"\n`)).toBeUndefined();
    expect(refusal('claude', `{"is_error":false,"result":"${said}"}`, '')).toBeUndefined();
  });

  it('no output makes it throw, and little is kept of any', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...KNOWN_AGENTS.map(({ name }) => name)),
        anyText(),
        fc.integer({ min: 1, max: 3000 }),
        (name, text, times) => {
          const found = refusal(name, text.repeat(times), text.repeat(times));
          expect(found === undefined || found.said.length <= 300).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('what is kept of a line cannot steer a terminal', () => {
    const said = refusal('pi', '', '429 \u001b[2J\u0007\u202ehello\u0000\n')?.said;
    expect(said).toBe('429 hello');
  });
});

describe('stated times', () => {
  it.each([
    ['resets 3pm (Europe/Berlin)', '2026-11-22T14:00:00.000Z'],
    ['resets 3:31pm (Europe/Berlin)', '2026-11-21T14:31:00.000Z'],
    // It has just passed, but clocks differ.
    ['resets 3:25pm (Europe/Berlin)', '2026-11-21T14:30:00.000Z'],
    ['resets 3:45 PM', '2026-11-21T14:45:00.000Z'],
    ['resets 9:45am (America/New_York)', '2026-11-21T14:45:00.000Z'],
    ['resets 16:00 UTC', '2026-11-21T16:00:00.000Z'],
    ['resets 12am (UTC)', '2026-11-22T00:00:00.000Z'],
    ['resets 3pm (No/Where)', '2026-11-22T14:00:00.000Z'],
    ['resets Mon 12:00am', '2026-11-22T23:00:00.000Z'],
    ['resets Nov 24 at 3pm (UTC)', '2026-11-24T15:00:00.000Z'],
    ['resets Nov 24, 3 PM (UTC)', '2026-11-24T15:00:00.000Z'],
    ['Try again Nov 23.', '2026-11-22T23:00:00.000Z'],
    ['try again in 5 minutes 30s', '2026-11-21T14:35:30.000Z'],
    ['Please try again in 1.898s.', '2026-11-21T14:30:01.898Z'],
    ['Please retry in 250ms', '2026-11-21T14:30:00.250Z'],
    ['try again in 6m0s', '2026-11-21T14:36:00.000Z'],
    ['try again in 1 hour, 2 minutes and 3 seconds', '2026-11-21T15:32:03.000Z'],
    ['retry after 60', '2026-11-21T14:31:00.000Z'],
    ['retry after 60 seconds', '2026-11-21T14:31:00.000Z'],
    ['Retry-After: 3600', '2026-11-21T15:30:00.000Z'],
    ['"retryDelay": "34.5s"', '2026-11-21T14:30:34.500Z'],
    ['{"resets_at":1795276800}', '2026-11-21T16:00:00.000Z'],
    ['{"resets_in_seconds":90}', '2026-11-21T14:31:30.000Z'],
    ['reached|1795276800000', '2026-11-21T16:00:00.000Z'],
    ['until 2026-11-21T18:00:00+01:00', '2026-11-21T17:00:00.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(statedTime(text, NOW, ZONE)?.toISOString()).toBe(expected);
  });

  it.each([
    'Please try again later.',
    'resets 25:00',
    'resets 13pm',
    'it resets at night',
    'reached|1000000000',
    'resets Nov 10, 3pm',
    'try again in a moment',
  ])('%s states none', (text) => {
    expect(statedTime(text, NOW, ZONE)).toBeUndefined();
  });

  it('is at most seven days away, whatever is printed', () => {
    for (const text of ['try again in 9999 days', 'reached|9999999999', 'resets Dec 24, 2030, 1am'])
      expect(statedTime(text, NOW, ZONE)?.getTime()).toBe(NOW.getTime() + LONGEST_MS);
    fc.assert(
      fc.property(fc.string(), fc.nat(), (text, number) => {
        const at = statedTime(`resets ${text} try again in ${String(number)} ${text}`, NOW, ZONE);
        const away = (at ?? NOW).getTime() - NOW.getTime();
        expect(away >= 0 && away <= LONGEST_MS).toBe(true);
      }),
    );
  });

  it('follows the clock change of the zone', () => {
    const before = new Date('2026-10-24T20:00:00Z');
    expect(statedTime('resets Oct 25, 9am', before, ZONE)?.toISOString()).toBe(
      '2026-10-25T08:00:00.000Z',
    );
  });
});

it('the wait grows where no time was stated, or where a stated one was wrong', () => {
  const minutes = (held: Refusal, refusals: number): number =>
    (heldUntil(held, refusals, NOW).getTime() - NOW.getTime()) / 60_000;
  const limited: Refusal = { kind: 'rate_limited', said: '' };
  expect([1, 2, 3, 9].map((times) => minutes(limited, times))).toEqual([1, 2, 4, 60]);
  const soon: Refusal = { ...limited, until: new Date(NOW.getTime() + 30_000) };
  expect([1, 2, 6].map((times) => minutes(soon, times))).toEqual([0.5, 0.5, 80 / 60]);
  const out: Refusal = { kind: 'not_logged_in', said: '' };
  expect([1, 2, 99].map((times) => minutes(out, times))).toEqual([15, 30, 360]);
});

describe('the account of a command', () => {
  it.each([
    ['claude -p', 'claude'],
    ['/opt/bin/claude -p --model opus', 'claude'],
    ['exec codex exec -', 'codex'],
    ['CLAUDE_CONFIG_DIR=~/.claude-work claude -p', 'claude at ~/.claude-work'],
    ['env FOO=1 CODEX_HOME="$HOME/my codex" codex exec -', 'codex at $HOME/my codex'],
    ['CLAUDE_CONFIG_DIR=/my\\ work env A=1 claude -p', 'claude at /my work'],
    ['env "CLAUDE_CONFIG_DIR=/a b" claude -p | tee log', 'claude at /a b'],
    ['CLAUDE_CONFIG_DIR=/a env -u CLAUDE_CONFIG_DIR claude -p', 'claude at ~/.claude'],
    ['CLAUDE_CONFIG_DIR=/a env -i claude -p', 'claude at ~/.claude'],
    ['CLAUDE_CONFIG_DIR= claude -p', 'claude at ~/.claude'],
    ['env -i GEMINI_API_KEY=x gemini', 'gemini at ~'],
    ['my-claude -p', undefined],
    ['echo claude', undefined],
    ['cd /x && claude -p', undefined],
  ])('of %s is %s', (command, id) => {
    expect(accountOf(command)?.id).toBe(id);
  });

  it('of every headless command in the table is the CLI’s own', () => {
    for (const { name, headless } of KNOWN_AGENTS) expect(accountOf(headless)?.id).toBe(name);
  });

  it.each([
    ['claude -p', {}, ['/home/a/.claude/.credentials.json']],
    ['claude -p', { CLAUDE_CONFIG_DIR: '/c' }, ['/c/.credentials.json']],
    ['CLAUDE_CONFIG_DIR=~/w claude', { CLAUDE_CONFIG_DIR: '/c' }, ['/home/a/w/.credentials.json']],
    ['CODEX_HOME=$HOME/w codex', {}, ['/home/a/w/auth.json']],
    ['CODEX_HOME=$DIR codex', {}, []],
    ['env -u CODEX_HOME codex', { CODEX_HOME: '/c' }, ['/home/a/.codex/auth.json']],
    ['opencode run', {}, ['/home/a/.local/share/opencode/auth.json']],
    ['pi -p', {}, ['/home/a/.pi/agent/auth.json', '/home/a/.pi/agent/models.json']],
  ])('%s with %j keeps its login in %j', (command, env, files) => {
    expect(loginFiles(accountOf(command)!, { HOME: '/home/a', ...env })).toEqual(files);
  });
});

it.each([
  ['on Monday after that time', '2026-11-23T16:00:00Z', '2026-11-30T15:00:00.000Z'],
  ['on Monday before it', '2026-11-23T14:00:00Z', '2026-11-23T15:00:00.000Z'],
  ['on Sunday', '2026-11-22T16:00:00Z', '2026-11-23T15:00:00.000Z'],
])('"resets Mon 3pm", said %s, is the next such time', (_when, now, until) => {
  const at = statedTime('You have hit your limit · resets Mon 3pm (UTC)', new Date(now), 'UTC');
  expect(at?.toISOString()).toBe(until);
});
