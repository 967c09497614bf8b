import { basename } from 'node:path';
import { CrosstalkError } from '../../errors.ts';
import { IDENTITY_FILE, VERSION_FILE } from '../../protocol/layout.ts';
import { identityIn } from '../../protocol/signed.ts';
import { shown } from '../../protocol/text/result.ts';
import { askAsAnyone } from '../../transport/clone/anyone.ts';
import { PROJECT_REF } from '../../transport/clone/branches.ts';
import { BRANCH_OF_PROJECT } from '../../transport/clone/handle.ts';
import { placeOfRemote } from '../../transport/clone/bus-identity.ts';
import { valueOf } from '../../transport/clone/settings.ts';
import type { RemoteState } from '../../transport/clone/setup.ts';
import { redact } from '../../transport/git/failure.ts';
import { openTransport } from '../context.ts';
import type { Surroundings } from '../locate.ts';
import type { InitInput } from './input.ts';
import { plainName, PUSH_URL, type ProjectPlan } from './project.ts';

/** How the bus is found at the project's remote: by its ref, by its branch, or not at all. */
export function busAt(
  state: Exclude<RemoteState, { kind: 'failed' }> | undefined,
  { asBranch }: Pick<InitInput, 'asBranch'>,
): { branch: string; ref?: string; isThere: boolean } {
  if (state?.bus === undefined && (state?.hasBusBranch === true || asBranch === true))
    return { branch: BRANCH_OF_PROJECT, isThere: state?.hasBusBranch === true };
  return { branch: 'bus', ref: PROJECT_REF, isThere: state?.bus !== undefined };
}

/**
 * Makes sure that a project's remote may carry a new bus, before anything is pushed to it.
 *
 * @throws CrosstalkError `refused` where everybody can read it
 */
export async function assertMayCarry(
  { env }: Surroundings,
  { url, top, settings }: ProjectPlan,
  input: Pick<InitInput, 'isPublic' | 'askPublic' | 'note'>,
): Promise<void> {
  if (url === undefined) return;
  for (const address of new Set([url, valueOf(settings, PUSH_URL) ?? url]))
    await assertMayBeRead(address, { env, top }, input);
}

async function assertMayBeRead(
  url: string,
  { env, top }: { env: NodeJS.ProcessEnv; top: string },
  input: Pick<InitInput, 'isPublic' | 'askPublic' | 'note'>,
): Promise<void> {
  const asked = await askAsAnyone(url, env);
  const place = redact(url);
  if (asked.kind === 'unknown')
    input.note(
      `whether everybody can read ${place} could not be found out (${asked.reason}); whoever can read it can read every message`,
    );
  if (asked.kind !== 'answers') return;
  const name = plainName(basename(url).replace(/\.git$/, '') || top);
  const isMeant = input.isPublic === true && (await input.askPublic?.(name)) !== false;
  if (isMeant) return;
  throw new CrosstalkError(
    'refused',
    `everybody can read this: ${redact(asked.address)} answers without a login, and would show every message; nothing was pushed. Use a private repository of its own: crosstalk init <dir> --remote <url>, or --public if everybody may read`,
  );
}

/** Says of a bus that is joined that everybody can read it by now, if that is so. */
export async function sayIfPublic(
  { env }: Surroundings,
  { url }: Pick<ProjectPlan, 'url'>,
  { note }: Pick<InitInput, 'note'>,
): Promise<void> {
  const asked = url === undefined ? undefined : await askAsAnyone(url, env);
  if (asked?.kind === 'answers')
    note(
      `everybody can read this: ${redact(asked.address)} answers without a login, and shows every message`,
    );
}

/**
 * Makes sure that the bus which was just cloned belongs to this remote: a fork or a mirror carries a copy, where old
 * questions would be answered a second time. It must not be the one that the project has, either.
 *
 * @throws CrosstalkError `refused`
 */
export async function assertOriginal(
  { env }: Surroundings,
  { url, clone, top, before }: ProjectPlan,
  { join: joined }: Pick<InitInput, 'join'>,
): Promise<void> {
  const known = before === undefined ? undefined : await idOf(before, env);
  const { transport } = await openTransport(clone, env, { isMade: true });
  try {
    const tip = (await transport.tip()) ?? '';
    const version = await transport.objects.read(`${tip}:${VERSION_FILE}`);
    const where = redact(url ?? '');
    if (version === undefined)
      throw new CrosstalkError(
        'refused',
        `${transport.remoteRef} at ${where} is not a bus of crosstalk: it has no ${VERSION_FILE}; see who has put it there, or use another remote with --remote <name>`,
      );
    const text = (await transport.objects.text(tip, IDENTITY_FILE)) ?? '';
    const [id, made] = identityIn(text)?.whole.split(' ') ?? [];
    if (before !== undefined && id === known)
      throw new CrosstalkError('refused', `the bus at ${where} is here already, in ${before}`);
    const here = placeOfRemote(url, top);
    if (joined !== undefined || made === undefined || made === '-' || made === here) return;
    throw new CrosstalkError(
      'refused',
      `the bus at ${where} was made for ${shown(made)}, and is a copy here, as in a fork or a mirror; nothing was joined. Join the original with: crosstalk init --join <its address>; if this is the same repository by another address, name this address`,
    );
  } finally {
    transport.close();
  }
}

/** The id of the transport in a clone; undefined where it has none. */
async function idOf(clone: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { transport } = await openTransport(clone, env);
  try {
    const text = await transport.objects.text((await transport.tip()) ?? '', IDENTITY_FILE);
    return identityIn(text ?? '')?.id;
  } finally {
    transport.close();
  }
}

/** The reason of an error when the remote does not take such a ref, rather than nothing at all. */
export function refusesRef(kind: string): boolean {
  return kind === 'rejected' || kind === 'other' || kind === 'refused';
}
