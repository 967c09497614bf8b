/**
 * Strings that the rules of {@link file://./screen.ts} cannot match without. A rule's own pattern begins
 * with, or contains, one of them, so a text without any needs no rules, which take 20 ms to load. They are
 * shorter than the patterns and never stricter; test/unit/secrets.test.ts compares the two.
 *
 * All quantifiers are bounded and no two neighbours share characters, so the time is linear.
 */
const NECESSARY = [
  // aws
  '(?:SECRET|[Ss]ecret)_?(?:ACCESS|[Aa]ccess)_?(?:KEY|[Kk]ey)',
  // npm, which has three
  ':x-oauth-basic@',
  '_authToken=',
  'npm_\\w{36}',
  // slack; the address of a webhook may be written in any case
  'xox[abopr]-',
  'xapp-',
  '[hH][oO]{2}[kK][sS]\\.[sS][lL][aA][cC][kK]\\.[cC][oO][mM]/',
  // basicauth
  '(?:https?|ftps?)://[-\\w]{1,256}:[-\\w]{1,256}@',
  // openai, anthropic, groq, huggingface, linear, notion
  'T3BlbkFJ',
  'sk-ant-api0',
  'gsk_[a-zA-Z0-9]{52}',
  'hf_[a-zA-Z]{34}',
  'lin_api_\\w{32}',
  'ntn_\\d{11}',
  // privatekey, sendgrid, shopify
  'PRIVATE KEY',
  'SG\\.\\w{1,128}\\.\\w',
  'shp(?:at|ca|pa|ss)_[a-zA-Z0-9]{32}',
  // github, gitlab, grafana
  'gh[oprsu]_\\w{36}',
  'github_pat_\\w{82}',
  'glpat-[-\\w]{20}',
  'glc_[A-Za-z0-9+/]{32}',
  'glsa_[A-Za-z0-9]{32}_',
  // 1password, hashicorp-vault, vercel, databricks, docker, figma
  'ops_ey',
  'hv[brs]\\.[-\\w]{90}',
  'vc[acikpr]_[A-Za-z0-9]{20}',
  'dapi[A-Fa-f0-9]{32}',
  'dckr_pat_',
  'figd_[-\\w]{40}',
  // database-connection-string, in any case; the byte A0 is a space only where each byte is a character
  '(?:[mM][oO][nN][gG][oO][dD][bB](?:\\+[sS][rR][vV])?|[mM][yY][sS][qQ][lL][xX]?|[pP][oO][sS][tT][gG][rR][eE][sS](?:[qQ][lL])?)://(?:[^:/\\s]|\\xA0)',
];

const ANY = new RegExp(NECESSARY.join('|'));

/** Whether a text may contain a match of any rule; in time that is linear in its length. */
export function isSuspicious(text: string): boolean {
  return ANY.test(text);
}
