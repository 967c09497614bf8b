import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { armored, NAMESPACE, signatureIn } from '../../protocol/signed.ts';
import { withPipes } from '../../with-pipes.ts';

/** Milliseconds for signing: somebody may have to touch a security key, or to confirm in the agent. */
const SIGN_LIMIT_MS = 60_000;
const LIMIT_MS = 10_000;
/** Maximum characters of output that are kept. */
const MAX_OUTPUT = 64 * 1024;

/** The outcome of a call of `ssh-keygen`; `missing` when there is no such program. */
type Ended = { code: number | null; stdout: string; stderr: string } | 'missing' | 'late';

/**
 * Runs `ssh-keygen`, which does all of the cryptography. It has no terminal: it would ask for a
 * passphrase behind the screen of a chat, or where nobody sees the question.
 */
function run(
  args: readonly string[],
  input: string,
  { env, limit = LIMIT_MS }: { env: NodeJS.ProcessEnv; limit?: number },
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = withPipes(
      spawn('ssh-keygen', args, { env: { ...env, LC_ALL: 'C' }, detached: true }),
    );
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      endGroup(child.pid);
    }, limit);
    const said = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        said[stream] = (said[stream] + text).slice(0, MAX_OUTPUT);
      });
    child.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      resolve(
        error.code === 'ENOENT' ? 'missing' : { code: null, stdout: '', stderr: String(error) },
      );
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve(late ? 'late' : { code, ...said });
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // The process ended on its own in the meantime.
  }
}

/** The value of an operation, or the reason why it failed, as text that follows a colon. */
export type Attempt<T> = { ok: true; value: T } | { ok: false; why: string };

const MISSING = 'there is no ssh-keygen on the PATH; install OpenSSH';

/**
 * Signs a text with the key in a file: a private one, or a public one whose private key is in an agent.
 *
 * @returns the signature in base64
 */
export async function sign(
  file: string,
  payload: string,
  env: NodeJS.ProcessEnv,
): Promise<Attempt<string>> {
  const limits = { env, limit: SIGN_LIMIT_MS };
  const ended = await run(['-Y', 'sign', '-q', '-n', NAMESPACE, '-f', file], payload, limits);
  const said = outcome(ended, SIGN_LIMIT_MS);
  if (!said.ok) return said;
  const value = signatureIn(said.value);
  return value === undefined
    ? { ok: false, why: 'ssh-keygen printed no signature' }
    : { ok: true, value };
}

/** Verifies that a signature over a text was made by a public key; fails when that cannot be determined. */
export async function verify(
  { payload, sig, key, name }: { payload: string; sig: string; key: string; name: string },
  env: NodeJS.ProcessEnv,
): Promise<Attempt<boolean>> {
  const folder = await mkdtemp(join(tmpdir(), 'crosstalk-verify-'));
  try {
    const [allowed, signature] = [join(folder, 'allowed'), join(folder, 'sig')];
    await writeFile(allowed, allowedSigner(name, key), { mode: 0o600 });
    await writeFile(signature, armored(sig), { mode: 0o600 });
    const args = ['-Y', 'verify', '-f', allowed, '-I', name, '-n', NAMESPACE, '-s', signature];
    const ended = await run(args, payload, { env });
    // An invalid signature, or one of another key, ends it with 255.
    if (typeof ended === 'object' && ended.code !== null)
      return { ok: true, value: ended.code === 0 };
    const said = outcome(ended, LIMIT_MS);
    return said.ok ? { ok: true, value: false } : said;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Formats a line of an `allowed_signers` file, by which a name's signatures are verified. */
function allowedSigner(name: string, key: string): string {
  return `${name} namespaces="${NAMESPACE}" ${key}\n`;
}

const FINGERPRINT = /^\d+ (SHA256:[A-Za-z0-9+/]{43}) /;

/** Returns the fingerprint of a public key, as `ssh-keygen -l` prints it. */
export async function fingerprint(key: string, env: NodeJS.ProcessEnv): Promise<Attempt<string>> {
  const said = outcome(await run(['-l', '-E', 'sha256', '-f', '-'], `${key}\n`, { env }), LIMIT_MS);
  if (!said.ok) return said;
  const value = FINGERPRINT.exec(said.value)?.[1];
  return value === undefined
    ? { ok: false, why: 'ssh-keygen knows no such key' }
    : { ok: true, value };
}

/** Makes a key of type ed25519 without a passphrase, in a file that must not exist. */
export async function makeKey(
  file: string,
  comment: string,
  env: NodeJS.ProcessEnv,
): Promise<Attempt<string>> {
  const args = ['-q', '-t', 'ed25519', '-N', '', '-C', comment, '-f', file];
  return outcome(await run(args, '', { env }), LIMIT_MS);
}

/** Returns the public key of a private key in a file. */
export async function publicKeyOf(file: string, env: NodeJS.ProcessEnv): Promise<Attempt<string>> {
  return outcome(await run(['-y', '-P', '', '-f', file], '', { env }), LIMIT_MS);
}

function outcome(ended: Ended, limit: number): Attempt<string> {
  if (ended === 'missing') return { ok: false, why: MISSING };
  if (ended === 'late')
    return { ok: false, why: `ssh-keygen did not end within ${String(limit / 1000)} s` };
  if (ended.code === 0) return { ok: true, value: ended.stdout };
  const [last] = ended.stderr.trim().split(/\r?\n/).slice(-1);
  return { ok: false, why: last === undefined || last === '' ? 'ssh-keygen failed' : last };
}
