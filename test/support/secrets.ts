/** Characters that are drawn from, for the parts of an invented secret. */
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ALPHANUMERIC = `${LETTERS}0123456789`;
const HEX = '0123456789abcdef';

/** A pseudo-random text that is the same in each run, so that a failure can be repeated. */
export function drawn(length: number, seed: number, from = ALPHANUMERIC): string {
  let state = seed + 1;
  let text = '';
  while (text.length < length) {
    state = (state * 48_271) % 2_147_483_647;
    text += from[state % from.length] ?? '';
  }
  return text;
}

/**
 * An invented secret of each kind. They are put together from parts, so that no scanner takes this file
 * for one that holds secrets.
 */
export const SECRETS: Readonly<Record<string, (seed: number) => string>> = {
  'AWS secret access key': (n) => `AWS_SECRET_ACCESS_KEY=${drawn(40, n)}`,
  'GitHub token': (n) => `ghp_${drawn(36, n)}`,
  'fine-grained GitHub token': (n) => `github_pat_${drawn(82, n)}`,
  'GitLab token': (n) => `glpat-${drawn(20, n)}`,
  'Slack token': (n) => `xoxb-${drawn(12, n, '0123456789')}-${drawn(24, n)}`,
  'Slack webhook': (n) =>
    `https://hooks.slack.com/services/T${drawn(8, n)}/B${drawn(8, n)}/${drawn(24, n)}`,
  'npm token': (n) => `npm_${drawn(36, n)}`,
  'login for npm': (n) => `//registry.example.org/:_authToken=${drawn(36, n, HEX)}`,
  'OpenAI key': (n) => `sk-proj-${drawn(74, n)}T3BlbkFJ${drawn(74, n + 1)}`,
  'Anthropic key': (n) => `sk-ant-api03-${drawn(93, n)}AA`,
  'Groq key': (n) => `gsk_${drawn(52, n)}`,
  'Hugging Face token': (n) => `hf_${drawn(34, n, LETTERS)}`,
  'Linear token': (n) => `lin_api_${drawn(40, n)}`,
  'Notion token': (n) => `ntn_${drawn(11, n, '0123456789')}${drawn(35, n)}`,
  'RSA private key': (n) => privateKey('RSA ', n),
  'OpenSSH private key': (n) => privateKey('OPENSSH ', n, `b3BlbnNzaC1rZXktdjE${'A'.repeat(5)}`),
  'key of a Google service account': (n) =>
    JSON.stringify({
      type: 'service_account',
      private_key_id: drawn(40, n, HEX),
      private_key: privateKey('', n),
      client_email: 'bot@example.iam.gserviceaccount.com',
    }),
  'URL with a password': (n) => `https://deploy:${drawn(16, n)}@git.example.org/app.git`,
  'SendGrid key': (n) => `SG.${drawn(22, n)}.${drawn(43, n)}`,
  'Shopify key': (n) => `shpat_${drawn(32, n)}`,
  'PostgreSQL URL': (n) => `postgres://app:${drawn(18, n)}@db.internal:5432/app`,
  'MongoDB URL': (n) => `mongodb+srv://app:${drawn(18, n)}@cluster0.mongodb.net/app`,
  'MySQL URL': (n) => `mysql://app:${drawn(18, n)}@db.internal/app`,
  'Vault token': (n) => `hvs.${drawn(95, n)}`,
  'Databricks token': (n) => `dapi${drawn(32, n, HEX)}`,
  'Docker token': (n) => `dckr_pat_${drawn(27, n)}`,
  'Figma token': (n) => `figd_${drawn(43, n)}`,
  'Grafana token': (n) => `glsa_${drawn(32, n)}_${drawn(8, n, HEX)}`,
  'Vercel token': (n) => `vcp_${drawn(24, n)}`,
  '1Password token': (n) => {
    const json = JSON.stringify({ email: 'a@example.org', key: drawn(120, n) });
    // Its rule wants the last brace to begin a group of base64.
    const padded = `${json.slice(0, -1)}${' '.repeat((4 - (json.length % 3)) % 3)}}`;
    return `ops_${Buffer.from(padded).toString('base64').replace(/=*$/, '')}`;
  },
};

function privateKey(kind: string, seed: number, begin = 'MIIEvgIBADANBg'): string {
  const body = `${begin}${drawn(400, seed)}`.replace(/.{64}/g, '$&\n');
  return `-----BEGIN ${kind}PRIVATE KEY-----\n${body}\n-----END ${kind}PRIVATE KEY-----`;
}

/** What of a secret must appear nowhere: its longest word. */
export function heart(secret: string): string {
  const words = secret.match(/[A-Za-z0-9]+/g) ?? [];
  return words.reduce((longest, word) => (word.length > longest.length ? word : longest), '');
}
