// After the sandbox: agent CLIs look at many variables, so theirs is an environment with nothing
// of the caller's but what a process needs to run at all.
const KEPT =
  /^(PATH|HOME|TMPDIR|LANG|LC_.*|TZ|GIT_CONFIG_\w+|VITEST.*|NODE_ENV|TEST|MODE|DEV|PROD|SSR|BASE_URL)$/;

for (const name of Object.keys(process.env)) {
  if (!KEPT.test(name)) Reflect.deleteProperty(process.env, name);
}
Object.assign(process.env, { TERM: 'xterm-256color', SHELL: '/bin/sh' });
