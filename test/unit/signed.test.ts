import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatMessage, parseMessage, type Message } from '../../src/protocol/message.ts';
import {
  armored,
  isSignature,
  payloadOf,
  publicKeyIn,
  signatureIn,
  signedIn,
  signerOf,
  withSignature,
} from '../../src/protocol/signed.ts';
import { message as messages } from '../support/arbitraries.ts';

const REF = '6b0e6a80-0c0f-4f0c-8d0e-0123456789ab/2026/06/09/190000000Z-1f2e3d4c5b6a.md';
const SIG = 'U1NIU0lHAAAAAQ==';
const KEY = 'AAAAC3NzaC1lZDI1NTE5AAAAIPvReNQYSvocJC0Ql3R9AzqVoPfMz2aOI6Q94lW+ZtgS';

const signature = (): fc.Arbitrary<string> => fc.stringMatching(/^[A-Za-z0-9+/]{1,400}={0,2}$/);

describe('a signature in the file of a message', () => {
  it('is found again, over exactly the file without it, whatever the message holds', () => {
    fc.assert(
      fc.property(messages(), signature(), (message, sig) => {
        const text = formatMessage(withoutSig(message));
        expect(signedIn(REF, withSignature(text, sig))).toEqual({
          payload: payloadOf(REF, text),
          sig,
        });
      }),
    );
  });

  it('is a field that every reader keeps, and no reader needs', () => {
    fc.assert(
      fc.property(messages(), signature(), (message, sig) => {
        const plain = withoutSig(message);
        const read = parseMessage(Buffer.from(withSignature(formatMessage(plain), sig)));
        expect(read).toEqual({ ok: true, value: { ...plain, sig } });
      }),
    );
  });

  it('counts only as the last line of the header, in base64 of bounded length', () => {
    const header = 'from: anna\nto: worker\ntype: text\ntimestamp: 2026-06-09T19:00:00.000Z\n';
    const file = (before: string, after = ''): string =>
      `---\n${before}${header}${after}---\n\nhi\n`;
    expect(signedIn(REF, file('', `sig: ${SIG}\n`))?.sig).toBe(SIG);
    const odd = [
      file(`sig: ${SIG}\n`),
      file('', `sig: ${SIG}\nx: y\n`),
      file('', `sig:  ${SIG}\n`),
      file('', `sig: "${SIG}"\n`),
      file('', `sig: |\n  ${SIG}\n`),
      file('', `sig: ${'A'.repeat(8193)}\n`),
      file('', 'sig: -----BEGIN SSH SIGNATURE-----\n'),
      file('').replace('hi', `sig: ${SIG}\n---\n`),
      `---\r\n${header}sig: ${SIG}\r\n---\r\n\r\nhi\n`,
      `sig: ${SIG}\n---\n`,
      '',
    ];
    for (const text of odd) expect(signedIn(REF, text), text).toBeUndefined();
  });
});

describe('what ssh-keygen prints and reads', () => {
  it('is a signature in base64 between two lines', () => {
    fc.assert(
      fc.property(signature(), (sig) => {
        expect(signatureIn(armored(sig))).toBe(sig);
      }),
    );
    expect(signatureIn('no signature')).toBeUndefined();
    expect(isSignature(['A'])).toBe(false);
  });

  it('names the key of a signature only where that is whole, and was made for messages', () => {
    const blob = (namespace: string): Buffer =>
      Buffer.concat([
        Buffer.from('SSHSIG\0\0\0\u0001'),
        string(Buffer.from(KEY, 'base64')),
        string(Buffer.from(namespace)),
      ]);
    expect(signerOf(blob('crosstalk').toString('base64'))).toBe(KEY);
    expect(signerOf(blob('git').toString('base64'))).toBeUndefined();
    const whole = blob('crosstalk');
    for (let bytes = 0; bytes < whole.length; bytes++)
      expect(signerOf(whole.subarray(0, bytes).toString('base64'))).toBeUndefined();
    const huge = Buffer.from('SSHSIG\0\0\0\u0001\u00ff\u00ff\u00ff\u00ff', 'latin1');
    expect(signerOf(huge.toString('base64'))).toBeUndefined();
  });

  it('takes one line with a public key, and no options, certificates or private keys', () => {
    const line = `ssh-ed25519 ${KEY} anna at home`;
    expect(publicKeyIn(`${line}\n`)).toEqual({
      type: 'ssh-ed25519',
      key: KEY,
      comment: 'anna at home',
    });
    const odd = [
      '',
      KEY,
      `ssh-rsa ${KEY}`,
      `cert-authority ssh-ed25519 ${KEY}`,
      `ssh-ed25519-cert-v01@openssh.com ${KEY}`,
      `${line}\n${line}`,
      '-----BEGIN OPENSSH PRIVATE KEY-----',
      `ssh-ed25519 ${'A'.repeat(9000)}`,
    ];
    for (const text of odd) expect(publicKeyIn(text), text).toBeUndefined();
  });
});

function withoutSig(message: Message): Message {
  const plain = { ...message };
  delete plain.sig;
  return plain;
}

function string(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
