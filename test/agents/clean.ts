// Runs after the sandbox: agent CLIs look at many variables, so their environment contains nothing
// of the caller's except what a process needs in order to run.
const KEPT =
  /^(PATH|HOME|TMPDIR|LANG|LC_.*|TZ|GIT_CONFIG_\w+|VITEST.*|NODE_ENV|TEST|MODE|DEV|PROD|SSR|BASE_URL)$/;

for (const name of Object.keys(process.env)) {
  if (!KEPT.test(name)) Reflect.deleteProperty(process.env, name);
}
Object.assign(process.env, { TERM: 'xterm-256color', SHELL: '/bin/sh' });
