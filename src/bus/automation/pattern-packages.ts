// The package that only subscriptions with a regular expression need, as a separate bundle (build.js). It
// matches in linear time: anyone who can push writes the expressions, and the texts.
export { RE2JS } from 're2js';
