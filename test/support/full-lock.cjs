// Loaded into a process with --require: the disk has room for a name, but not for a byte of what is written
// into an open file.
const fs = require('node:fs');

const real = fs.writeFileSync;
fs.writeFileSync = (file, ...given) => {
  if (typeof file === 'number')
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  real(file, ...given);
};
