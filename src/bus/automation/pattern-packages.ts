// What only subscriptions with a regular expression need, as a separate bundle (build.js). It matches in
// linear time: whoever can push writes the expressions, and the texts.
export { RE2JS } from 're2js';
