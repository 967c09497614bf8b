/** Words of which people make the secrets of examples, and how tokens begin. */
const WORDS = new Set(
  (
    'your my the some a an of for here goes api app bot access auth user username admin root db database test ' +
    'testing example sample demo dummy fake placeholder changeme change me replace this password passwd pass pwd ' +
    'secret token key value redacted hidden removed none null todo foo bar baz ' +
    'xoxb xoxp xapp ghp gho github pat glpat npm sk ant proj hf gsk lin ntn'
  ).split(' '),
);
/** `xxxx`, `****`, `...`, and `api03`. */
const FILLER = /^(?:(.)\1+|x|api\d{1,3}|\d{1,3})$/;
/** `<password>`, `${PASSWORD}`, `{{ password }}`, `[token]`, `%PASSWORD%`: words, without a digit but in capitals. */
const BRACKETED =
  /^(?:<[A-Za-z _.-]{1,40}>|\$?\{{1,2}[A-Za-z _.-]{1,40}\}{1,2}|\[[A-Za-z _.-]{1,40}\]|[%$][A-Z][A-Z0-9_]{1,40}%?|%s)$/;
/** What a secret is called in front of it. */
const LABEL = /^[\w./-]{1,128}["']?\s{0,8}[=:]\s{0,8}["']?/;
/** A name, or what stands for one. Some services take the secret itself as the name, with any password. */
const USER = /^[<$%{[]{0,3}[A-Za-z][A-Za-z _.-]{0,19}[>%}\]]{0,2}$|^$/;
const LOGIN = /\/\/([^\s/:@]{0,256}):([^\s@]{0,256})@/;

/**
 * Whether what a rule took for a secret stands for one in an example, as in `postgres:postgres@localhost` or
 * `xoxb-your-bot-token`. Nothing that is drawn at random is made of such words.
 *
 * @param found the text that a rule has matched
 */
export function isExample(found: string): boolean {
  const [, user = '', password] = LOGIN.exec(found) ?? [];
  if (!USER.test(user)) return false;
  const value = (password ?? found.replace(LABEL, '')).replaceAll('\u2026', '');
  if (password !== undefined && password !== '' && password === user) return true;
  if (BRACKETED.test(value)) return true;
  const parts = value
    .toLowerCase()
    .split(/[-_.\s:"']+/)
    .filter((part) => part !== '');
  return parts.length > 0 && parts.every((part) => WORDS.has(part) || FILLER.test(part));
}
