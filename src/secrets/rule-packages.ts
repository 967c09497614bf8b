// Secretlint's rules as a separate bundle (build.js): most processes never need them.
export { rules } from '@secretlint/secretlint-rule-preset-recommend';
