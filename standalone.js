// Makes the archives for machines without Node, in standalone/: for Linux x64 and arm64, or those that are named.
// Each has Node's own binary, the files of the npm package, node-pty, and a launcher (packaging/README.md).
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Node's binary as its npm packages carry it, and the digests of these. Its SQLite is the one that is used. */
const NODE = {
  version: '24.22.3',
  x64: 'sha512-KHsob+Fv9YerATvYujMbiyJqnRCvLtrcr/eTNqRqiOSGp97EOiRP1yP47+knGgQ/xnc3XY8xzkW587dlZzNqRA==',
  arm64:
    'sha512-IZx0J52/1NDwAsY2iyWR9nlPIYuYviTWetjj8+ElvYQh2+XRhLfCfkbFEF/2O5vGI2hcUbyPNHV+nz342FbJXw==',
};
/** The glibc that Node needs, and that node-pty needs, without which no session is opened; more fails the build. */
const GLIBC = '2.28';
const GLIBC_OF_PTY = { x64: '2.28', arm64: '2.34' };
const OUT = 'standalone';

const wanted = process.argv.slice(2);
const unknown = wanted.find((arch) => !['x64', 'arm64'].includes(arch));
if (unknown !== undefined) {
  console.error(`standalone.js: ${unknown} is no machine; expected x64 or arm64`);
  process.exit(2);
}
const scratch = mkdtempSync(join(tmpdir(), 'crosstalk-standalone-'));
try {
  const own = packed('.', join(scratch, 'own'));
  mkdirSync(OUT, { recursive: true });
  for (const arch of wanted.length > 0 ? wanted : ['x64', 'arm64']) archive(own, arch);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function archive(own, arch) {
  const root = join(scratch, arch, 'crosstalk');
  const modules = join(root, 'app', 'node_modules');
  cpSync(own, join(root, 'app'), { recursive: true });
  const node = packed(
    `node-linux-${arch}@${NODE.version}`,
    join(scratch, `node-${arch}`),
    NODE[arch],
  );
  mkdirSync(join(root, 'runtime'));
  renameSync(join(node, 'bin', 'node'), join(root, 'runtime', 'node'));
  copyFileSync(join(node, 'LICENSE'), join(root, 'runtime', 'LICENSE'));
  cpSync('node_modules/@lydell/node-pty', join(modules, '@lydell', 'node-pty'), {
    recursive: true,
  });
  const name = `@lydell/node-pty-linux-${arch}`;
  const { version, integrity } = JSON.parse(readFileSync('package-lock.json', 'utf8')).packages[
    `node_modules/${name}`
  ];
  const native = packed(`${name}@${version}`, join(scratch, `pty-${arch}`), integrity);
  cpSync(native, join(modules, name), { recursive: true });
  sqliteOfNode(join(modules, '@photostructure', 'sqlite'));
  checkGlibc(join(root, 'runtime', 'node'), GLIBC);
  checkGlibc(join(modules, name, 'pty.node'), GLIBC_OF_PTY[arch]);
  launcher(join(root, 'crosstalk'), arch);
  const file = `crosstalk-linux-${arch}.tar.gz`;
  execFileSync('tar', [
    ...['--create', '--gzip', '--file', resolve(OUT, file), '--directory', join(scratch, arch)],
    ...['--owner=0', '--group=0', '--numeric-owner', '--sort=name', 'crosstalk'],
  ]);
  const digest = createHash('sha256')
    .update(readFileSync(join(OUT, file)))
    .digest('hex');
  writeFileSync(join(OUT, `${file}.sha256`), `${digest}  ${file}\n`);
  console.log(`${OUT}/${file}  ${digest}`);
}

/** Unpacks a package as npm fetches or makes it; returns its folder. */
function packed(name, folder, integrity) {
  mkdirSync(folder, { recursive: true });
  const words = ['pack', name, '--json', '--ignore-scripts', '--pack-destination', folder];
  const [made] = Object.values(JSON.parse(execFileSync('npm', words, { encoding: 'utf8' })));
  if (integrity !== undefined && made.integrity !== integrity)
    throw new Error(`${name} is ${made.integrity}, expected ${integrity}`);
  const file = join(
    folder,
    readdirSync(folder).find((one) => one.endsWith('.tgz')),
  );
  execFileSync('tar', ['--extract', '--file', file, '--directory', folder]);
  return join(folder, 'package');
}

/** Puts Node's own SQLite where the program asks for the package, whose binary needs a newer glibc. */
function sqliteOfNode(folder) {
  mkdirSync(folder, { recursive: true });
  const made = { name: '@photostructure/sqlite', version: '0.0.0-node', main: 'index.cjs' };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(made)}\n`);
  copyFileSync('packaging/sqlite.cjs', join(folder, 'index.cjs'));
}

function checkGlibc(file, newest) {
  const [, most] = newest.split('.').map(Number);
  for (const [, minor] of readFileSync(file, 'latin1').matchAll(/GLIBC_2\.(\d+)/g))
    if (Number(minor) > most) throw new Error(`${file} needs glibc 2.${minor}, not ${newest}`);
}

function launcher(file, arch) {
  const loader = { x64: '/lib64/ld-linux-x86-64.so.2', arm64: '/lib/ld-linux-aarch64.so.1' }[arch];
  writeFileSync(
    file,
    `#!/bin/sh
# Starts Crosstalk by the Node that lies beside it.
file=$0
[ ! -L "$file" ] || file=$(readlink -f "$file")
here=\${file%/*}
if [ ! -e ${loader} ]; then
  echo "crosstalk: this is the archive for Linux ${arch} with glibc ${GLIBC} or newer, and there is no such system here (Alpine has musl): install Node, and then: npm install --global @cordfuse/crosstalk" >&2
  exit 1
fi
exec "$here/runtime/node" "$here/app/bin/crosstalk.js" "$@"
`,
  );
  chmodSync(file, 0o755);
}
