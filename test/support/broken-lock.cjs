// Loaded into a process with --require: where it writes into a git's index.lock whose it is, there is a name and
// not a byte yet. Then the disk is full, or with LOCK=kill it is killed.
const fs = require('node:fs');

const { closeSync, openSync, writeFileSync } = fs;
fs.writeFileSync = (file, data, options) => {
  if (typeof data !== 'string' || !data.endsWith('/git')) return writeFileSync(file, data, options);
  if (typeof file === 'string') closeSync(openSync(file, options?.flag ?? 'w'));
  if (process.env.LOCK === 'kill') process.kill(process.pid, 'SIGKILL');
  throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
};
