import type { CliName } from './clis.ts';
import {
  anthropic,
  BAD_KEY,
  google,
  NO_QUOTA,
  plan,
  subscription,
  TOO_FAST,
  TWO_HOURS,
  unasked,
} from './vendors.ts';
import type { Turn } from './wire.ts';

/** A way in which a vendor refuses work, and how the CLI was observed to report it (FACTS.md). */
export interface Refusal {
  cli: CliName;
  /** Completes "codex, when …". */
  when: string;
  /** Variables that differ from the CLI's settings; undefined removes one. */
  env?: Record<string, string | undefined>;
  /**
   * The server's answer to every request; receives the current time, for answers that contain one.
   */
  turn: (now: Date) => Turn;
  exitCode: number;
  /** The stream of the decisive line, and the line. */
  on: 'stdout' | 'stderr';
  says: RegExp;
  /** How the dispatcher should classify it; `until` in seconds from now, if a time was reported. */
  held: 'rate_limited' | 'out_of_credit' | 'not_logged_in';
  until?: number;
}

const SUBSCRIBER = { ANTHROPIC_API_KEY: undefined, CLAUDE_CODE_OAUTH_TOKEN: 'dummy-token' };

export const REFUSALS: readonly Refusal[] = [
  {
    cli: 'claude',
    when: "the subscription's session limit is reached",
    env: SUBSCRIBER,
    turn: subscription('five_hour'),
    exitCode: 1,
    on: 'stdout',
    says: /^You've hit your (session )?limit · resets [\d:]+[ap]m \(.+\)$/,
    held: 'rate_limited',
    until: TWO_HOURS,
  },
  {
    cli: 'claude',
    when: "the subscription's weekly limit is reached",
    env: SUBSCRIBER,
    turn: subscription('seven_day'),
    exitCode: 1,
    on: 'stdout',
    says: /^You've hit your weekly limit · resets .*[\d:]+[ap]m \(.+\)$/,
    held: 'rate_limited',
    until: TWO_HOURS,
  },
  {
    cli: 'claude',
    when: 'the rate limit of an API key is reached',
    turn: () => anthropic(429, 'rate_limit_error', 'Please try again later.'),
    exitCode: 1,
    on: 'stdout',
    says: /^API Error: Request rejected \(429\) · Please try again later\.$/,
    held: 'rate_limited',
  },
  {
    cli: 'claude',
    when: 'the key is refused',
    turn: () => anthropic(401, 'authentication_error', 'invalid x-api-key'),
    exitCode: 1,
    on: 'stdout',
    says: /^Invalid API key · Fix external API key$/,
    held: 'not_logged_in',
  },
  {
    cli: 'claude',
    when: 'the login has expired',
    env: SUBSCRIBER,
    turn: () => anthropic(401, 'authentication_error', 'OAuth token has expired.'),
    exitCode: 1,
    on: 'stdout',
    says: /^Failed to authenticate\. API Error: 401 OAuth token has expired\.$/,
    held: 'not_logged_in',
  },
  {
    cli: 'claude',
    when: 'nobody has logged in',
    env: { ANTHROPIC_API_KEY: undefined },
    turn: unasked,
    exitCode: 1,
    on: 'stdout',
    says: /^Not logged in · Please run \/login$/,
    held: 'not_logged_in',
  },
  {
    cli: 'codex',
    when: "the plan's usage limit is reached",
    turn: plan,
    exitCode: 1,
    on: 'stderr',
    says: /^ERROR: You’ve hit your usage limit\..* try again at .*[\d:]+ [AP]M\.$/,
    held: 'rate_limited',
    until: TWO_HOURS,
  },
  {
    cli: 'codex',
    when: 'the rate limit of a key is reached',
    turn: () => TOO_FAST,
    exitCode: 1,
    on: 'stderr',
    says: /^ERROR: exceeded retry limit, last status: 429 Too Many Requests$/,
    held: 'rate_limited',
  },
  {
    cli: 'codex',
    when: 'the quota of a key is used up',
    turn: () => NO_QUOTA,
    exitCode: 1,
    on: 'stderr',
    says: /^ERROR: Quota exceeded\. Check your plan and billing details\.$/,
    held: 'out_of_credit',
  },
  {
    cli: 'codex',
    when: 'the key is refused',
    turn: () => BAD_KEY,
    exitCode: 1,
    on: 'stderr',
    says: /^ERROR: unexpected status 401 Unauthorized: Incorrect API key provided/,
    held: 'not_logged_in',
  },
  {
    cli: 'codex',
    when: 'there is no key',
    env: { FAKE_MODEL_KEY: undefined },
    turn: unasked,
    exitCode: 1,
    on: 'stderr',
    says: /^ERROR: Missing environment variable: `FAKE_MODEL_KEY`\.$/,
    held: 'not_logged_in',
  },
  {
    cli: 'pi',
    when: 'the rate limit of a key is reached',
    turn: () => TOO_FAST,
    exitCode: 1,
    on: 'stderr',
    says: /^429 Rate limit reached for fake .*$/,
    held: 'rate_limited',
  },
  {
    cli: 'pi',
    when: 'the key is refused',
    turn: () => BAD_KEY,
    exitCode: 1,
    on: 'stderr',
    says: /^401 Incorrect API key provided/,
    held: 'not_logged_in',
  },
  {
    cli: 'opencode',
    when: 'the quota of a key is used up',
    turn: () => NO_QUOTA,
    exitCode: 1,
    on: 'stderr',
    says: /Error: .*You exceeded your current quota/,
    held: 'out_of_credit',
  },
  {
    cli: 'opencode',
    when: 'the key is refused',
    turn: () => BAD_KEY,
    exitCode: 1,
    on: 'stderr',
    says: /Error: .*Incorrect API key provided/,
    held: 'not_logged_in',
  },
  {
    cli: 'gemini',
    when: 'the daily quota is used up',
    turn: () =>
      google(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota.', [
        {
          '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
          violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }],
        },
      ]),
    exitCode: 1,
    on: 'stderr',
    says: /TerminalQuotaError: You have exhausted your daily quota on this model\.$/,
    held: 'rate_limited',
  },
  {
    cli: 'gemini',
    when: 'the key is refused',
    turn: () =>
      google(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' },
      ]),
    exitCode: 1,
    on: 'stderr',
    says: /_ApiError: .*API key not valid\. Please pass a valid API key\./,
    held: 'not_logged_in',
  },
  {
    cli: 'gemini',
    when: 'there is no key',
    env: { GEMINI_API_KEY: undefined },
    turn: unasked,
    exitCode: 41,
    on: 'stderr',
    says: /^When using Gemini API, you must specify the GEMINI_API_KEY environment variable\.$/,
    held: 'not_logged_in',
  },
];
