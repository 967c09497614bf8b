// Loaded into a process with --require: the disk has room for the name of a git's index.lock, but not for a byte
// of what is written into it.
const fs = require('node:fs');

const { openSync, writeFileSync } = fs;
const locks = new Set();
fs.openSync = (path, ...given) => {
  const opened = openSync(path, ...given);
  if (String(path).endsWith('index.lock')) locks.add(opened);
  return opened;
};
fs.writeFileSync = (file, ...given) => {
  if (locks.delete(file))
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  writeFileSync(file, ...given);
};
