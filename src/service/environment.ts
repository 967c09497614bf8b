/** The environment of a service's dispatcher, which every agent CLI receives from it. */
export interface Captured {
  variables: Map<string, string>;
  /** Variables requested by name on the command line; their values are never shown. */
  named: Set<string>;
  /** Variables that are set but left out, and why. */
  left: { name: string; why: string }[];
}

/**
 * Variables that agent CLIs need in order to find programs, settings and the network, and for their
 * language.
 */
const TAKEN = new Set([
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TMPDIR',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_STATE_HOME',
  'XDG_CACHE_HOME',
  'SSH_AUTH_SOCK',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
  'CURL_CA_BUNDLE',
  'REQUESTS_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'GIT_SSH',
  'GIT_SSH_COMMAND',
  'GIT_CONFIG_GLOBAL',
  'GIT_CONFIG_NOSYSTEM',
  'CLAUDE_CONFIG_DIR',
  'CODEX_HOME',
  'GEMINI_CLI_HOME',
  'OPENCODE_CONFIG',
  'OPENCODE_CONFIG_DIR',
  'PI_CODING_AGENT_DIR',
  'CROSSTALK_STATE_DIR',
  'CROSSTALK_NETWORK_TIMEOUT',
  'CROSSTALK_GIT_TIMEOUT',
]);
const TAKEN_FAMILIES = /^(LC_[A-Z]+|(http|https|no|all|ftp)_proxy|(HTTP|HTTPS|NO|ALL|FTP)_PROXY)$/;
const SECRET_NAME = /(KEY|TOKEN|SECRET|PASS|CREDENTIAL)/i;
/** Keys with which the known agent CLIs log in. */
const AGENT_KEY =
  /^(ANTHROPIC|OPENAI|CODEX|GEMINI|GOOGLE|OPENROUTER|DASHSCOPE|MISTRAL|GROQ|XAI|DEEPSEEK)_.*(KEY|TOKEN)$/;

/** Whether a text can be the name of a variable. */
export function isVariable(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
}

/**
 * Selects from an environment what agent CLIs need, and nothing else.
 *
 * @param names further variables to take, such as API keys
 * @param before the service's environment so far: a named variable that is not set keeps its value
 */
export function capture(
  environment: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
  before?: Pick<Captured, 'variables' | 'named'>,
): Captured {
  const captured: Captured = { variables: new Map(), named: new Set(), left: [] };
  for (const [name, value] of Object.entries(environment).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (value === undefined || value === '' || names.includes(name)) continue;
    if (TAKEN.has(name) || TAKEN_FAMILIES.test(name)) take(captured, name, value);
    else if (AGENT_KEY.test(name) && before?.named.has(name) !== true)
      captured.left.push({ name, why: `a key; take it along with: --env ${name}` });
  }
  for (const name of [...names, ...(before?.named ?? [])]) {
    const value = environment[name] ?? before?.variables.get(name);
    if (value === undefined || value === '') {
      captured.left.push({ name, why: 'it is not set here' });
      continue;
    }
    if (take(captured, name, value)) captured.named.add(name);
  }
  return captured;
}

function take(captured: Captured, name: string, value: string): boolean {
  const why = /[\n\r\0]/.test(value)
    ? 'its value has more than one line'
    : name === 'SSH_AUTH_SOCK' && !outlivesLogin(value)
      ? 'it ends with this login; give ssh a key that needs no agent, or an agent at a fixed path'
      : undefined;
  if (why === undefined) captured.variables.set(name, value);
  else captured.left.push({ name, why });
  return why === undefined;
}

/**
 * Whether a socket outlives the login: those below /tmp end with it, those of a user's manager
 * stay.
 */
function outlivesLogin(path: string): boolean {
  return path.startsWith('/') && !/^(\/private)?\/(var\/)?tmp\/|vscode/.test(path);
}

/** Returns a value in the form that may be shown to people. */
export function shownValue(
  { named }: Pick<Captured, 'named'>,
  name: string,
  value: string,
): string {
  if (named.has(name) || SECRET_NAME.test(name)) return '(kept, not shown)';
  return value.replace(/:\/\/[^/@\s]+@/g, '://(not shown)@');
}

const NAMED = '# --env:';
/** The beginning of the file of a service's environment. */
export const MADE_BY = '# What agent CLIs get from the service; made by crosstalk service install';

/**
 * Renders the file from which the service reads its environment: systemd's `EnvironmentFile=`, which
 * `/bin/sh` reads in the same way.
 */
export function environmentFile({ variables, named }: Captured, at: string): string {
  return [
    `${MADE_BY}, ${at}.`,
    ...(named.size > 0 ? [`${NAMED} ${[...named].join(' ')}`] : []),
    ...[...variables].map(([name, value]) => `${name}="${value.replace(/[\\"$`]/g, '\\$&')}"`),
    '',
  ].join('\n');
}

/** Reads {@link environmentFile} back; all other lines are skipped. */
export function parseEnvironmentFile(text: string): Pick<Captured, 'variables' | 'named'> {
  const variables = new Map<string, string>();
  const named = new Set<string>();
  for (const line of text.split('\n')) {
    if (line.startsWith(NAMED))
      for (const name of line.slice(NAMED.length).trim().split(' ')) named.add(name);
    const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)="([^]*)"$/.exec(line) ?? [];
    if (name !== undefined) variables.set(name, (value ?? '').replace(/\\([\\"$`])/g, '$1'));
  }
  return { variables, named };
}
