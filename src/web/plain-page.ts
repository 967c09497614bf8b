import { createHash } from 'node:crypto';

const STYLE =
  ':root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:38rem;margin:12vh auto;padding:0 1rem}h1{font-size:1.25rem}code{font-size:.95em;padding:.1em .3em;border-radius:.25em;background:#8883;overflow-wrap:anywhere}';

/** Policy that allows nothing but the style above, by its hash. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** A page of fixed text; its parts are HTML, so they contain no unescaped part of a request. */
interface PlainPage {
  title: string;
  paragraphs: readonly string[];
  /** Additional HTML for its head. */
  head?: string;
}

/** Returns a small page without any script, which loads nothing. */
export function page(status: number, { title, paragraphs, head = '' }: PlainPage): Response {
  const text = paragraphs.map((one) => `<p>${one}</p>`).join('');
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} – Crosstalk</title><style>${STYLE}</style>${head}</head><body><main><h1>${title}</h1>${text}</main></body></html>\n`;
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': POLICY,
  };
  return new Response(html, { status, headers });
}
