#!/usr/bin/env node
// Runs the built program; without a build, or with CROSSTALK_SOURCE=1, the sources through tsx.
'use strict';
// Before anything that an old Node has not got.
if (Number(process.versions.node.split('.')[0]) < 20) {
  process.stderr.write(
    'crosstalk: this is Node ' +
      process.versions.node +
      ' (' +
      process.execPath +
      '), which is too old; it needs Node 20 or newer, from https://nodejs.org\n',
  );
  process.exit(1);
}

const { existsSync, readFileSync, writeSync } = require('node:fs');
const { join } = require('node:path');

const argv = process.argv.slice(2);
const built = join(__dirname, '..', 'dist', 'main.cjs');

if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V') && isTold()) {
  process.exit();
} else if (!hasFolder()) {
  refuse('the folder in which it was started is gone; change into another one, such as: cd ~');
} else if (process.env.CROSSTALK_SOURCE === '1' || !existsSync(built)) {
  void fromSource();
} else {
  void require('./load.js').load(built, argv).main(argv);
}

/**
 * Prints the version without a stream, whose modules would take a sixth of the time. Where that fails, the
 * whole program says why.
 */
function isTold() {
  try {
    const { version } = JSON.parse(readFileSync(join(__dirname, '..', 'package.json'), 'utf8'));
    if (typeof version !== 'string') return false;
    writeSync(1, `${version}\n`);
    return true;
  } catch {
    return false;
  }
}

function hasFolder() {
  try {
    return process.cwd() !== '';
  } catch {
    return false;
  }
}

function refuse(message) {
  process.stderr.write(`crosstalk: ${message}\n`);
  const error = { code: 'not_found', command: '', message };
  if (argv.includes('--json')) process.stdout.write(`${JSON.stringify({ error })}\n`);
  process.exitCode = 1;
}

async function fromSource() {
  (await import('tsx/esm/api')).register();
  await (await import('../src/cli/main.ts')).main(argv);
}
