import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { IDENTITY_FILE, messageFile } from '../../src/protocol/layout.ts';
import { formatMessage, type Message } from '../../src/protocol/message.ts';
import { payloadOf, placeSigned, signatureIn, withSignature } from '../../src/protocol/signed.ts';
import { git } from './git.ts';
import type { Host, Stored } from './bus.ts';

/** Whether `ssh-keygen` is installed; without it nothing can be signed. */
export const hasSshKeygen = spawnSync('ssh-keygen', ['-?']).error === undefined;

/** For titles of tests. */
export const WITH_SSH_KEYGEN = '(skipped where ssh-keygen is not installed)';

/** An ssh key of somebody, made by the real `ssh-keygen`. */
export class Key {
  /** The private one. */
  readonly file: string;
  readonly #hub: string;

  constructor(host: Host, name: string, type = 'ed25519') {
    this.file = join(host.bus.root, `key-of-${name}`);
    this.#hub = host.bus.hub;
    const options = ['-q', '-t', type, '-N', '', '-C', name, '-f', this.file];
    execFileSync('ssh-keygen', options);
  }

  get pub(): string {
    return `${this.file}.pub`;
  }

  /** The line of the public key. */
  get line(): string {
    return readFileSync(this.pub, 'utf8').trim();
  }

  /** The identity of the transport of its owner. */
  get identity(): string {
    return git(this.#hub, 'show', `main:${IDENTITY_FILE}`).trim();
  }

  /** A signature over a text, in base64, as anybody could make it by hand. */
  sign(payload: string, namespace = 'crosstalk'): string {
    const args = ['-Y', 'sign', '-q', '-n', namespace, '-f', this.file];
    const made = execFileSync('ssh-keygen', args, {
      input: payload,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    return signatureIn(made.toString()) ?? '';
  }
}

/** A machine whose operator is anna, who signs what she writes. */
export async function signs(host: Host, key: Key, name = 'anna'): Promise<void> {
  git(host.dir, 'config', 'crosstalk.from', name);
  const used = await host.run('key', 'use', key.file);
  if (used.code !== 0) throw new Error(used.err);
}

export async function pins(host: Host, name: string, key: Key): Promise<void> {
  const pinned = await host.run('key', 'pin', name, key.pub);
  if (pinned.code !== 0) throw new Error(pinned.err);
}

/** The file of a message as it is on the remote. */
export function fileOf({ bus }: Host, { channel, relPath }: Omit<Stored, 'message'>): string {
  return git(bus.hub, 'show', `main:${messageFile(channel, relPath)}`);
}

/** Puts a file in the place of a message, as somebody who can push. */
export function putFile(host: Host, channel: string, relPath: string, text: string): void {
  host.edit({ [messageFile(channel, relPath)]: text });
}

/** The file of a message that somebody has signed by hand. */
export function signedFile(
  key: Key,
  channel: string,
  relPath: string,
  said: Pick<Message, 'from' | 'to' | 'body'> & Partial<Message>,
): string {
  const at = relPath.replace(
    /^(\d{4})\/(\d\d)\/(\d\d)\/(\d\d)(\d\d)(\d\d)(\d{3})Z.*$/,
    '$1-$2-$3T$4:$5:$6.$7Z',
  );
  const message: Message = {
    type: 'text',
    timestamp: at,
    re: [],
    cause: [],
    extra: {},
    ...said,
  };
  const text = formatMessage(message);
  return withSignature(
    text,
    key.sign(payloadOf(placeSigned(key.identity, { channel, relPath }), text)),
  );
}

/** Lets a machine count how often it starts `ssh-keygen`. */
export function counts(host: Host): () => number {
  const bin = join(host.bus.root, `${host.alias}-bin`);
  const log = join(bin, 'calls');
  mkdirSync(bin, { recursive: true });
  const real = execFileSync('sh', ['-c', 'command -v ssh-keygen'], { encoding: 'utf8' }).trim();
  writeFileSync(join(bin, 'ssh-keygen'), `#!/bin/sh\necho x >> '${log}'\nexec '${real}' "$@"\n`);
  chmodSync(join(bin, 'ssh-keygen'), 0o755);
  host.env['PATH'] = `${bin}:${process.env['PATH'] ?? ''}`;
  return () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').length - 1 : 0);
}
