import { stat } from 'node:fs/promises';
import { hearItself } from '../../bell/hear-itself.ts';
import { parseBell } from '../../bell/settings.ts';
import { withoutCredentials } from '../../credentials.ts';
import { reasonOf } from '../../errors.ts';
import type { Context } from '../context.ts';
import type { Check } from './check.ts';

const BELL = 'bell';

/** Connects to the bell, and says something to itself there; none where no bell is set. */
export async function bellCheck({ transport, env }: Context): Promise<Check[]> {
  const { bell } = transport.defaults;
  if (bell === undefined) return [];
  if (transport.origin === undefined)
    return [
      {
        check: BELL,
        ok: true,
        found: 'is not used: without a remote there is no other machine',
        fix: '',
      },
    ];
  const settings = parseBell(bell, transport.origin, env['HOME']);
  if (!settings.ok)
    return [
      {
        check: BELL,
        ok: false,
        warning: true,
        found: withoutCredentials(settings.problems.join('; ')),
        fix: 'git config crosstalk.bell nats://<host>:4222, then crosstalk host approve',
      },
    ];
  const { subject, tls, files } = settings.value;
  const open = await openToOthers([files.credentials, files.key]);
  if (open !== undefined)
    return [
      {
        check: BELL,
        ok: false,
        warning: true,
        found: `every user of this machine may use ${open}, which lets whoever has it ring and listen`,
        fix: `chmod 600 ${open}`,
      },
    ];
  try {
    const heard = await hearItself(settings.value);
    const how = `${tls ? 'TLS' : 'no TLS'}, ${files.credentials === undefined ? 'no credentials file' : 'with credentials'}`;
    const found = `${heard} can be heard (${how}); the subject is ${subject}, which has to be the same on all machines`;
    return [{ check: BELL, ok: true, found, fix: '' }];
  } catch (error) {
    const fix = 'until then mail comes by the poll; see docs/bell.md';
    return [
      { check: BELL, ok: false, warning: true, found: withoutCredentials(reasonOf(error)), fix },
    ];
  }
}

/** The first of some files that others than its owner and its group may read or write. */
async function openToOthers(paths: readonly (string | undefined)[]): Promise<string | undefined> {
  for (const path of paths) {
    const found = path === undefined ? undefined : await stat(path).catch(() => undefined);
    if (found !== undefined && (found.mode & 0o007) !== 0) return path;
  }
  return undefined;
}
