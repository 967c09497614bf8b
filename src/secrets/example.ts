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
/** `<password>`, `${PASSWORD}`, `{{ password }}`, `%s`. */
const BRACKETED =
  /^(?:<[^<>]{0,64}>|\$?\{{1,2}[^{}]{0,64}\}{1,2}|\[[^[\]]{0,64}\]|%\w{1,32}%?|\$\w{1,64})$/;
/** What a secret is called in front of it. */
const LABEL = /^[\w./-]{1,128}["']?\s{0,8}[=:]\s{0,8}["']?/;
const LOGIN = /\/\/([^\s/:@]{0,256}):([^\s@]{0,256})@/;

/**
 * Whether what a rule took for a secret stands for one in an example, as in `postgres:postgres@localhost` or
 * `xoxb-your-bot-token`. Nothing that is drawn at random is made of such words.
 *
 * @param found the text that a rule has matched
 */
export function isExample(found: string): boolean {
  const [, user, password] = LOGIN.exec(found) ?? [];
  const value = (password ?? found.replace(LABEL, '')).replaceAll('\u2026', '');
  if (password !== undefined && password !== '' && password === user) return true;
  if (BRACKETED.test(value)) return true;
  const parts = value
    .toLowerCase()
    .split(/[-_.\s:"']+/)
    .filter((part) => part !== '');
  return parts.length > 0 && parts.every((part) => WORDS.has(part) || FILLER.test(part));
}
