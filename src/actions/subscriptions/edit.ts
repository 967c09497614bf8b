import { assertWhole } from '../whole-text.ts';
import { readSubscription } from '../../bus/automation/subscriptions.ts';
import { CrosstalkError } from '../../errors.ts';
import { subscriptionFile, isName } from '../../protocol/layout.ts';
import { authorOf } from '../../protocol/outgoing.ts';
import { escapeInvisible } from '../../protocol/text/quoted.ts';
import { formatDocument, type HeaderFields } from '../../protocol/text/frontmatter.ts';
import { withEnabled, withoutLines } from '../../protocol/automation/fields.ts';
import { shown } from '../../protocol/text/result.ts';
import { refreshOrNote, tipOf, type Context } from '../context.ts';
import { deliverOrNote, type Delivered } from '../deliver.ts';
import { noteUnserved, senderOfAdded } from '../lookup/people.ts';
import { resolveChannel, resolveFrom } from '../lookup/resolve.ts';
import { findSubscription } from './list.ts';

/** The content of a new subscription, as texts; undefined values are left out of its file. */
export interface SubscriptionInput {
  name: string;
  /** The text of the task before the payload; it may be empty. */
  body: string;
  /** Header fields under their names in the file. */
  fields: Readonly<Record<string, string | undefined>>;
  /** Name that receives the answers; by default the person who adds the subscription. */
  from: string | undefined;
  login: string;
}

/** The file that was written. */
export interface EditedSubscription {
  name: string;
  path: string;
  delivered: Delivered;
}

/**
 * Writes a new subscription.
 *
 * @throws CrosstalkError `usage` for invalid values, and for a name that is taken
 */
export async function addSubscription(
  context: Context,
  { name, body, fields, from: author, login }: SubscriptionInput,
): Promise<EditedSubscription> {
  if (!isName(name))
    throw new CrosstalkError(
      'usage',
      `${shown(name)} is no name for a subscription: use letters, digits and . _ -, at most 64`,
    );
  const from = senderOfAdded(context, { to: fields['to'], from: author, login });
  const given: HeaderFields = Object.fromEntries(
    Object.entries({ ...fields, from }).filter(([, value]) => value !== undefined),
  );
  const text = formatDocument(given, body === '' || body.endsWith('\n') ? body : `${body}\n`);
  const read = await readSubscription(text, name);
  if (!read.ok)
    throw new CrosstalkError('usage', `this is no subscription: ${withoutLines(read.problems)}`);
  await refreshOrNote(context);
  if (read.value.channel !== undefined) await resolveChannel(context, read.value.channel);
  const path = subscriptionFile(name);
  if ((await context.reader.text(await tipOf(context), path)) !== undefined)
    throw new CrosstalkError(
      'usage',
      `there is a subscription ${name} already; see it with: crosstalk subscription show ${name}, or remove it first`,
    );
  const delivered = await put(context, { name, path, text, login, author, was: null });
  await noteUnserved(context, read.value);
  return { name, path, delivered };
}

/**
 * Pauses or resumes a subscription: changes one line of its file.
 *
 * @throws CrosstalkError `not_found`, and `refused` for a file that cannot be read
 */
export async function enableSubscription(
  context: Context,
  { name, enabled, login }: { name: string; enabled: boolean; login: string },
): Promise<EditedSubscription> {
  await refreshOrNote(context);
  const { path, oid, text, result } = await findSubscription(context, name);
  if (!result.ok)
    throw new CrosstalkError(
      'refused',
      `${escapeInvisible(path)} cannot be read: ${result.problems.join('; ')}; correct it first`,
    );
  assertWhole(text, path);
  const changed = withEnabled(text, enabled);
  const delivered = await put(context, { name, path, text: changed, login, was: oid });
  return { name, path, delivered };
}

/**
 * Removes a subscription.
 *
 * @throws CrosstalkError `not_found`
 */
export async function removeSubscription(
  context: Context,
  { name, login }: { name: string; login: string },
): Promise<EditedSubscription> {
  await refreshOrNote(context);
  const { path, oid } = await findSubscription(context, name);
  return { name, path, delivered: await put(context, { name, path, login, was: oid }) };
}

interface Edit {
  name: string;
  path: string;
  /** The new text; undefined to remove the file. */
  text?: string;
  login: string;
  author?: string | undefined;
  /**
   * The object that was read at the path; null when there was none. A change by somebody else is never
   * overwritten.
   */
  was: string | null;
}

function put(context: Context, { name, path, text, login, author, was }: Edit): Promise<Delivered> {
  const from = resolveFrom(context, author, login);
  return deliverOrNote(context, [
    {
      at: context.now().toISOString(),
      author: authorOf(from, context.hostname),
      subject: `crosstalk: subscription ${name}${text === undefined ? ' removed' : ''}`,
      files: text === undefined ? [] : [{ path, content: text }],
      ...(text === undefined && { clear: path }),
      requires: [{ path, oid: was }],
    },
  ]);
}
