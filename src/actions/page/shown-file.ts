import { CrosstalkError } from '../../errors.ts';
import { harmlessName, pictureType } from '../../protocol/attached.ts';
import { shown } from '../../protocol/text/result.ts';
import type { Context } from '../context.ts';
import { filesOfMessage } from '../reading/message-files.ts';
import { readMessage } from '../reading/read.ts';

/** A file for a browser. */
export interface ShownFile {
  /** A harmless name. */
  name: string;
  bytes: Buffer;
  /** The media type of a picture by its bytes; undefined for anything else, which is not shown. */
  picture: string | undefined;
}

/**
 * Returns one file of a message, verified.
 *
 * @param number counted from 1
 * @throws CrosstalkError `not_found` when the message brings no such file, `invalid` when it is missing or altered
 */
export async function fileOfMessage(
  context: Context,
  given: string,
  number: number,
): Promise<ShownFile> {
  const read = await readMessage(context, given);
  const file = read.message.files?.[number - 1];
  if (file === undefined)
    throw new CrosstalkError('not_found', `the message brings no file ${String(number)} along`);
  for await (const taken of filesOfMessage(context, read, [file])) {
    if (!taken.ok) throw new CrosstalkError('invalid', `${shown(file.name)} ${taken.problem}`);
    const { bytes } = taken;
    return { name: harmlessName(number, file.name), bytes, picture: pictureType(bytes) };
  }
  throw new CrosstalkError('invalid', `${shown(file.name)} could not be read`);
}
