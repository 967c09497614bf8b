/** What the ids of secretlint's messages mean, in words that finish "line 3 holds …". */
const KINDS: Readonly<Record<string, string>> = {
  AWSSecretAccessKey: 'an AWS secret access key',
  PrivateKey: 'a private key',
  PackageJSON_xOauthToken: 'a GitHub OAuth token in a URL',
  Npmrc_authToken: 'an npm login',
  NPM_ACCESS_TOKEN: 'an npm token',
  BasicAuth: 'a URL with a password',
  SLACK_TOKEN: 'a Slack token',
  IncomingWebhook: 'a Slack webhook',
  SENDGRID_KEY: 'a SendGrid key',
  SHOPIFY_KEY: 'a Shopify key',
  GITHUB_TOKEN: 'a GitHub token',
  GITLAB_PERSONAL_ACCESS_TOKEN: 'a GitLab token',
  GRAFANA_CLOUD_API_TOKEN: 'a Grafana token',
  GRAFANA_SERVICE_ACCOUNT_TOKEN: 'a Grafana token',
  OPENAI_TOKEN: 'an OpenAI key',
  ANTHROPIC_API_KEY: 'an Anthropic key',
  GROQ_API_KEY: 'a Groq key',
  HUGGINGFACE_USER_ACCESS_TOKEN: 'a Hugging Face token',
  LINEAR_API_TOKEN: 'a Linear token',
  NOTION_INTEGRATION_TOKEN: 'a Notion token',
  OPS_TOKEN: 'a 1Password token',
  MongoDBConnection: 'a MongoDB URL with a password',
  MySQLConnection: 'a MySQL URL with a password',
  PostgreSQLConnection: 'a PostgreSQL URL with a password',
  HASHICORP_VAULT_SERVICE_TOKEN: 'a Vault token',
  HASHICORP_VAULT_BATCH_TOKEN: 'a Vault token',
  HASHICORP_VAULT_RECOVERY_TOKEN: 'a Vault token',
  VERCEL_PERSONAL_ACCESS_TOKEN: 'a Vercel token',
  VERCEL_INTEGRATION_TOKEN: 'a Vercel token',
  VERCEL_APP_ACCESS_TOKEN: 'a Vercel token',
  VERCEL_APP_REFRESH_TOKEN: 'a Vercel token',
  VERCEL_AI_GATEWAY_API_KEY: 'a Vercel token',
  DATABRICKS_PERSONAL_ACCESS_TOKEN: 'a Databricks token',
  DOCKER_PERSONAL_ACCESS_TOKEN: 'a Docker token',
  FIGMA_PERSONAL_ACCESS_TOKEN: 'a Figma token',
};

/** In words what a rule has found. */
export function kindInWords(messageId: string): string {
  return KINDS[messageId] ?? 'a secret';
}
