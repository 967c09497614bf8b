import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import type { Commit } from '../../protocol/outgoing.ts';
import { messageFile } from '../../protocol/layout.ts';
import { MAX_MESSAGE_BYTES, parseMessage } from '../../protocol/message.ts';
import { payloadOf, placeSigned, signedIn, withSignature } from '../../protocol/signed.ts';
import { shown } from '../../protocol/text/result.ts';
import { sign } from '../../state/keys/ssh-keygen.ts';
import { tipOf, type Context } from '../context.ts';
import { queuedFiles } from '../lookup/queued.ts';
import type { Prepared } from './input.ts';

/**
 * Returns the file of the key that the clone's setting names.
 *
 * @throws CrosstalkError `refused` for a setting that does not name a file
 */
export function signingKeyOf({ transport, env }: Pick<Context, 'transport' | 'env'>): string {
  const { signingKey: given = '' } = transport.defaults;
  const path = given.startsWith('~/') ? join(env['HOME'] ?? homedir(), given.slice(2)) : given;
  if (isAbsolute(path)) return path;
  throw new CrosstalkError(
    'refused',
    `git config crosstalk.signingKey is ${shown(given)}, expected the path of an ssh key, absolute or beginning with ~/; nothing was sent: set it with crosstalk key use <file>, or remove it with: git config --unset crosstalk.signingKey`,
  );
}

/**
 * Signs the messages of a `send` with its sender's key (docs/decisions/16-signatures.md).
 *
 * @throws CrosstalkError `refused` when a message cannot be signed; nothing is written then
 */
export async function signed(context: Context, prepared: Prepared): Promise<Prepared> {
  const key = signingKeyOf(context);
  const identity = await context.transport.identity();
  const messages = [];
  for (const one of prepared.messages) {
    const place = placeSigned(identity, one);
    const path = messageFile(one.channel, one.relPath);
    const commit = await signedCommit(context, key, { place, path }, one.commit);
    messages.push({ ...one, commit });
  }
  return { ...prepared, messages };
}

async function signedCommit(
  context: Context,
  key: string,
  { place, path }: { place: string; path: string },
  commit: Commit,
): Promise<Commit> {
  const files = await Promise.all(
    commit.files.map(async (file) => {
      if (file.path !== path) return file;
      const payload = payloadOf(place, file.content);
      const before = await signedBefore(context, place, path, payload);
      return {
        ...file,
        content: before ?? (await signedText(context, key, payload, file.content)),
      };
    }),
  );
  return { ...commit, files };
}

async function signedText(
  { env }: Context,
  key: string,
  payload: string,
  text: string,
): Promise<string> {
  const made = await sign(key, payload, env);
  if (!made.ok)
    throw new CrosstalkError(
      'refused',
      `not signed with ${key} (git config crosstalk.signingKey): ${made.why}; nothing was sent: see whether the key is there, and give one with a passphrase to your agent with: ssh-add ${key}`,
    );
  const content = withSignature(text, made.value);
  const bytes = Buffer.from(content);
  const read = bytes.byteLength <= MAX_MESSAGE_BYTES ? parseMessage(bytes) : undefined;
  if (read?.ok === true && read.value.sig === made.value) return content;
  throw new CrosstalkError(
    'usage',
    'with its signature the message is longer than the limit of 1 MiB, or its header than 64 KiB; attach the bulk as a file: crosstalk send --attach <file>',
  );
}

/**
 * Returns the same message, if it was signed before: a repeated send has the same outcome, and not every
 * kind of key makes the same signature twice.
 */
async function signedBefore(
  context: Context,
  place: string,
  path: string,
  payload: string,
): Promise<string | undefined> {
  const object = await context.transport.objects.read(`${await tipOf(context)}:${path}`);
  const waiting = (await queuedFiles(context)).find((file) => file.path === path);
  const text = object?.content?.toString('utf8') ?? waiting?.content;
  return text !== undefined && signedIn(place, text)?.payload === payload ? text : undefined;
}
