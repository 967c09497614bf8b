import { Screen } from '../secrets/screen.ts';
import { CrosstalkError } from '../errors.ts';
import { saidSecrets } from '../protocol/text/found-secret.ts';
import type { Outbox } from '../state/outbox.ts';
import type { Transport } from '../transport/transport.ts';

/** Values of a setting in git config that switch it off, as git reads them. */
const OFF = new Set(['false', 'no', 'off', '0']);

/** Whether something that is on by default is switched off. @param setting its value in git config */
export function isOff(setting: string | undefined): boolean {
  return OFF.has((setting ?? '').trim().toLowerCase());
}

/** Looks for secrets in what leaves through an outbox, by the settings of its clone. */
export function screenOf({
  transport,
  outbox,
}: {
  transport: Transport;
  outbox: Pick<Outbox, 'files'>;
}): Screen {
  return new Screen({
    bytesOf: async ({ kept, sha256, bytes }) =>
      kept === undefined ? undefined : outbox.files.get(kept, sha256, bytes),
    mode: async () => {
      // A dispatcher lives long, and the setting may have changed a moment ago.
      await transport.reread();
      return isOff(transport.defaults.scanSecrets) ? 'off' : 'on';
    },
  });
}

/**
 * For the first files of a transport, which no outbox has kept: where they hold a secret, none is made.
 *
 * @throws CrosstalkError `held`; nothing is written then
 */
export async function assertNoSecret(files: { path: string; content: string }[]): Promise<void> {
  const screen = new Screen({
    bytesOf: () => Promise.resolve(undefined),
    mode: () => Promise.resolve('on'),
  });
  const author = { name: '', email: '' };
  const found = await screen.look({ commits: [{ author, at: '', subject: '', files }] });
  if (found.length === 0) return;
  throw new CrosstalkError(
    'held',
    `nothing was made, as it looks like a secret: ${saidSecrets(found)}; whoever can read the transport would read it: leave it out, and let the command take it from a file or from the environment of the dispatcher`,
  );
}
