import { sizeInWords } from '../../protocol/attached.ts';
import { tipOf, type Context } from '../context.ts';
import type { Check } from './check.ts';

/** Says what the attached files weigh: every clone has them all, unless it is a partial one. */
export async function attachedFiles(context: Context): Promise<Check> {
  const { files, bytes } = await context.transport.weighFiles(await tipOf(context));
  const weight =
    bytes === undefined
      ? 'which this partial clone fetches when they are read'
      : sizeInWords(bytes);
  const found = files === 0 ? 'none' : `${String(files)}, ${weight}`;
  return { check: 'attached files', ok: true, found, fix: '' };
}
