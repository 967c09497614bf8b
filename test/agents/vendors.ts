import type { Turn } from './wire.ts';

/** Seconds from now until the limits below end. */
export const TWO_HOURS = 7200;
const seconds = (now: Date): number => Math.floor(now.getTime() / 1000);

/** A request that should never be made: a CLI that makes it fails for this reason. */
export const unasked = (): Turn => ({
  status: 418,
  body: { error: { message: 'nobody should ask' } },
});

export const anthropic = (status: number, type: string, message: string): Turn => ({
  status,
  body: { type: 'error', error: { type, message } },
});
const openai = (status: number, code: string, message: string): Turn => ({
  status,
  body: { error: { message, type: code, param: null, code } },
});
export const google = (
  code: number,
  status: string,
  message: string,
  details: unknown[],
): Turn => ({
  status: code,
  body: { error: { code, message, status, details } },
});

export const BAD_KEY = openai(401, 'invalid_api_key', 'Incorrect API key provided: dummy-key.');
export const TOO_FAST = openai(
  429,
  'rate_limit_exceeded',
  'Rate limit reached for fake on tokens per min (TPM): Limit 30000, Used 29000. Please try again in 20s.',
);
export const NO_QUOTA = openai(
  429,
  'insufficient_quota',
  'You exceeded your current quota, please check your plan and billing details.',
);

/** The limit of a subscription: reported in headers, and only to clients that log in with one. */
export const subscription = (claim: string) => (now: Date) => {
  const { status, body } = anthropic(
    429,
    'rate_limit_error',
    "This request would exceed your account's rate limit. Please try again later.",
  ) as Extract<Turn, { status: number }>;
  const limits = {
    'anthropic-ratelimit-unified-status': 'rejected',
    'anthropic-ratelimit-unified-reset': String(seconds(now) + TWO_HOURS),
    'anthropic-ratelimit-unified-representative-claim': claim,
  };
  return { status, body, headers: limits };
};

/** The plans of ChatGPT report the time in the body. */
export const plan = (now: Date): Turn => ({
  status: 429,
  body: {
    error: {
      type: 'usage_limit_reached',
      message: 'The usage limit has been reached',
      plan_type: 'plus',
      resets_at: seconds(now) + TWO_HOURS,
    },
  },
});
