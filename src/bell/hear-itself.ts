import { CrosstalkError } from '../errors.ts';
import { shown } from '../protocol/text/result.ts';
import { connectBell, refusalIn } from './connect.ts';
import type { BellSettings } from './settings.ts';

/** Milliseconds in which the published message has to come back. */
const ECHO_MS = 5000;

/**
 * Connects to a bell, publishes a message that nobody takes for a ring, and waits until it comes back.
 *
 * @returns the server that was reached
 * @throws CrosstalkError `refused` with the remedy
 */
export async function hearItself(settings: BellSettings): Promise<string> {
  const connection = await connectBell(settings, { echo: true });
  const server = connection.getServer();
  const said = `${settings.subject}.echo`;
  let timer: NodeJS.Timeout | undefined;
  try {
    const problem = await new Promise<string | undefined>((resolve) => {
      timer = setTimeout(resolve, ECHO_MS, 'nothing that is said there comes back');
      connection.subscribe(`${settings.subject}.*`, {
        callback: (error, { subject }) => {
          if (error) resolve(shown(error.message));
          else if (subject === said) resolve(undefined);
        },
      });
      void refusalIn(connection).then(resolve);
      connection.publish(said, '');
    });
    if (problem === undefined) return server;
    throw new CrosstalkError('refused', `${server}: ${problem}`);
  } finally {
    clearTimeout(timer);
    await connection.close().catch(() => undefined);
  }
}
