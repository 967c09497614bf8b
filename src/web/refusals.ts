import { problem } from './answers.ts';
import { page } from './plain-page.ts';

/** What can be in the `Host` header of a request that is worth repeating: a name and a port. */
const NAME = /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;

/** Who gets a refusal: what it asked for, and what it accepts. */
interface Reader {
  isApi: boolean;
  accept: string | undefined;
}

/** Whether a person looks at the answer in a browser. */
function isForPeople({ isApi, accept = '' }: Reader): boolean {
  return !isApi && (accept.includes('text/html') || !accept.includes('json'));
}

/**
 * Refuses a request that addresses the server by a name that is not its own. Whoever has set up a
 * tunnel or a proxy is told how to make the name known; a page of another site whose name was made
 * to lead here (DNS rebinding) gets no more than that.
 *
 * @param host the header
 * @param isSecure whether a proxy says that it was asked by https
 */
export function foreignHost(host: string | undefined, isSecure: boolean, reader: Reader): Response {
  const name = NAME.test(host ?? '') ? (host ?? '').toLowerCase() : undefined;
  const option = `--public-url ${isSecure ? 'https' : 'http'}://${name ?? '<name>:<port>'}`;
  const who = name ?? 'the name in the Host header';
  if (!isForPeople(reader))
    return problem(
      'forbidden',
      `this server does not go by ${who}; use the address that crosstalk web printed, or, if a tunnel or proxy of yours leads here under this name, start it with ${option}`,
    );
  const shown = option.replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return page(403, {
    title: 'Not an address of this server',
    paragraphs: [
      `This server does not go by <code>${name ?? 'the name it was asked for'}</code>. Open the address that <code>crosstalk web</code> printed.`,
      `If a tunnel or a proxy <em>of yours</em> leads here under this name, start the server with <code>crosstalk web ${shown}</code>`,
    ],
  });
}

/** Refuses a request without the token. @param given whether it had a token, which is wrong */
export function unauthorized(reader: Reader, given: 'none' | 'wrong'): Response {
  const response = isForPeople(reader)
    ? page(401, {
        title: given === 'none' ? 'This browser is not let in yet' : 'This token is not valid',
        paragraphs: [
          'Open the address that <code>crosstalk web</code> printed where it was started. It ends in <code>?token=…</code> and lets this browser in; addresses without the token work after that.',
          'Each start makes a new token, unless <code>CROSSTALK_WEB_TOKEN</code> gives one, so an address of an earlier start lets nobody in.',
          'What was typed on the page is kept in this browser.',
        ],
      })
    : problem(
        'unauthorized',
        'the token is missing or wrong; send Authorization: Bearer <token>, or open the address that crosstalk web printed',
      );
  response.headers.set('www-authenticate', 'Bearer realm="crosstalk web"');
  return response;
}
