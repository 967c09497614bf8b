import type { ShownFile } from '../operations/page/shown-file.ts';
import { problem } from './answers.ts';

/**
 * The answer with a file that somebody has sent. Whatever is in it, a browser neither runs nor guesses
 * anything: its address is a document without an origin in which nothing may be loaded, and only a
 * picture by its bytes has another type than plain bytes.
 */
export function fileAnswer({ name, bytes, picture }: ShownFile, use: 'show' | 'save'): Response {
  if (use === 'show' && picture === undefined)
    return problem('invalid', 'this file is no PNG, JPEG, GIF or WebP picture; it can be saved');
  const plain = name.replace(/[^\w.-]/g, '_');
  const whole = plain === name ? '' : `; filename*=UTF-8''${encodeURIComponent(name)}`;
  const isShown = use === 'show' && picture !== undefined;
  return new Response(new Uint8Array(bytes), {
    headers: {
      'content-type': isShown ? picture : 'application/octet-stream',
      'content-disposition': `${isShown ? 'inline' : 'attachment'}; filename="${plain}"${whole}`,
      'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
    },
  });
}
