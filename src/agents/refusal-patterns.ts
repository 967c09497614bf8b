/**
 * How one agent CLI reports that it may not work at the moment (docs/agents.md shows each of these
 * reports as it is printed). Patterns are matched against single lines, from the first character
 * on: text of a model or a message appears in the middle of lines, or on a stream that is not
 * examined.
 */
export interface RefusalPatterns {
  /** The stream on which it reports why it failed. */
  stream: 'stdout' | 'stderr';
  /**
   * How much of that stream consists of the CLI's own words: `whole` when a failed run prints
   * nothing else there, otherwise the number of its last lines that are not empty.
   */
  last: 'whole' | number;
  limited: RegExp;
  notLoggedIn: RegExp;
  /** Exit codes that alone mean that nobody is logged in. */
  notLoggedInExits: readonly number[];
}

/**
 * Google's client and its fork: a line that ends in the error's class and text, then its stack
 * trace.
 */
const GOOGLE = {
  limited:
    /^(?:Error when talking to \w+ API .{0,260}?\b(?:Terminal|Retryable)QuotaError: |\[API Error: (?:You have exhausted your |You exceeded your current quota|Quota exceeded|Resource has been exhausted|429\b)|status: 429\b)/,
  notLoggedIn:
    /^(?:Please set an Auth method in your |When using Gemini API, you must specify |Invalid auth method selected|Error when talking to \w+ API .{0,260}?(?:API key not valid\.|UNAUTHENTICATED|invalid_grant)|\[API Error: (?:API key not valid\.|401\b|Incorrect API key)|status: 401\b)/,
};

export const REFUSALS = {
  claude: {
    stream: 'stdout',
    last: 'whole',
    limited:
      /^(?:You['\u2019]ve (?:hit|reached) your .{0,60}\blimit|You['\u2019]re out of (?:usage credits|extra usage)|Your org is out of usage|Claude (?:AI )?usage limit reached|(?:5-hour|Session|Weekly|Opus|Sonnet|Usage) limit reached|Credit balance is too low|API Error: (?:Request rejected \(429\)|Server is temporarily limiting requests|429\b))/i,
    notLoggedIn:
      /^(?:Not logged in|Invalid API key|OAuth token revoked|Please run \/login|Failed to authenticate\. API Error: 401|Your ANTHROPIC_API_KEY belongs to a disabled organization|Your organization has disabled)/,
    notLoggedInExits: [],
  },
  // Before its last line it prints the whole prompt, which contains messages.
  codex: {
    stream: 'stderr',
    last: 1,
    limited:
      /^ERROR: (?:You['\u2019]ve hit your usage limit|You['\u2019]re out of credits|You hit your spend cap|Your workspace is out of credits|Usage limit reached|Quota exceeded\.|(?:exceeded retry limit, last|unexpected) status:? 429)/,
    notLoggedIn:
      /^ERROR: (?:(?:exceeded retry limit, last|unexpected) status:? 401|Missing environment variable: |Not (?:logged|signed) in|Your (?:access token|authentication session) could not be refreshed)/,
    notLoggedInExits: [],
  },
  gemini: { stream: 'stderr', last: 40, ...GOOGLE, notLoggedInExits: [41] },
  opencode: {
    stream: 'stderr',
    last: 12,
    limited:
      /^(?:Error: )?(?:Too Many Requests|Rate limit|Free usage exceeded|You exceeded your current quota|Quota exceeded|429\b)/i,
    notLoggedIn:
      /^(?:Error: )?(?:Unauthorized|Incorrect API key|Invalid API key|invalid x-api-key|401\b|.{0,80} API key is missing|(?:.{0,80})?ProviderAuthError)/i,
    notLoggedInExits: [],
  },
  qwen: { stream: 'stderr', last: 40, ...GOOGLE, notLoggedInExits: [41] },
  pi: {
    stream: 'stderr',
    last: 6,
    limited: /^429\b/,
    notLoggedIn: /^(?:401\b|No API key found for |No models available\.|No model selected\.)/,
    notLoggedInExits: [],
  },
} as const satisfies Record<string, RefusalPatterns>;
