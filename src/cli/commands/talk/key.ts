import { CrosstalkError } from '../../../errors.ts';
import type { Context } from '../../../actions/context.ts';
import { examine, type Examined } from '../../../actions/keys/examine.ts';
import {
  createKey,
  ownKey,
  useKey,
  type OwnKey,
  pin,
  pinned,
  proposePin,
  turnedAway,
  unpin,
  type Proposed,
} from '../../../actions/keys/pinning.ts';
import { escapeInvisible } from '../../../protocol/text/quoted.ts';
import { flag, isYes, note, print, type Call, usingTransport } from '../../command/command.ts';
import { EXIT } from '../../command/io.ts';
import type { CommandSpec } from '../../command/spec.ts';
import { table } from '../../view/render.ts';

const NOT_IN_RUN =
  'a key is a person’s, and so is the decision whom this machine believes; the operator of this machine has it';

/** For signing messages, and for knowing who has signed them. */
export const commands: readonly CommandSpec[] = [
  {
    name: 'key',
    summary: 'sign what you write, and know who has signed what others write',
    details: 'Prints your own public key, for others to pin, with its fingerprint to compare.',
    notInRun: NOT_IN_RUN,
    example: 'crosstalk key',
    run: usingTransport(own),
  },
  {
    name: 'key create',
    args: '[file]',
    summary: 'make an ssh key, and sign what you write in this clone with it',
    details:
      'Without a file it is ~/.ssh/crosstalk_ed25519. It has no passphrase: give it one with ssh-keygen -p -f <file>, and then the key to your agent with ssh-add <file>.',
    notInRun: NOT_IN_RUN,
    example: 'crosstalk key create',
    run: usingTransport(create),
  },
  {
    name: 'key use',
    args: '<file>',
    summary: 'sign what you write in this clone with an ssh key that you have',
    details:
      'A private key, or a public one whose private key your agent or your security key has. It sets git config crosstalk.signingKey; without that setting nothing is signed.',
    notInRun: NOT_IN_RUN,
    example: 'crosstalk key use ~/.ssh/id_ed25519.pub',
    run: usingTransport(use),
  },
  {
    name: 'key pin',
    args: '<name> <key...>',
    summary: 'know a name’s messages by this public key, file, or key of a message, from now on',
    options: [['--yes', 'do not ask, also on a terminal']],
    details:
      'Compare the fingerprint with the owner, not over the bus. A name may have several keys, so that a new one can be pinned before the old one goes.',
    notInRun: NOT_IN_RUN,
    example: 'crosstalk key pin anna ~/anna.pub',
    run: usingTransport(pinOne),
  },
  {
    name: 'key unpin',
    args: '<name> [fingerprint]',
    summary: 'forget the pinned keys of a name, or one of them',
    notInRun: NOT_IN_RUN,
    example: 'crosstalk key unpin anna',
    run: usingTransport(forget),
  },
  {
    name: 'key list',
    summary: 'the keys that are pinned on this machine',
    notInRun: NOT_IN_RUN,
    example: 'crosstalk key list',
    paged: true,
    run: usingTransport(list),
  },
  {
    name: 'key verify',
    args: '<message>',
    summary: 'who has signed a message; exit code 1 unless a pinned key of its writer has',
    options: [
      ['--payload', 'print exactly the bytes that are signed'],
      ['--signature', 'print the signature as ssh-keygen -Y verify reads it'],
    ],
    notInRun: NOT_IN_RUN,
    example: 'crosstalk key verify 1f2e3d4c',
    run: usingTransport(look),
  },
];

async function own(call: Call, context: Context): Promise<number> {
  const found = await ownKey(context);
  if (found !== undefined) return printOwn(call, found);
  note(
    call,
    'what you write here is not signed; make a key with: crosstalk key create, or take one with: crosstalk key use <file>',
  );
  return print(call, null, () => '');
}

async function create(call: Call, context: Context): Promise<number> {
  return printOwn(call, await createKey(context, call.args[0] ?? '', call.io.login));
}

async function use(call: Call, context: Context): Promise<number> {
  return printOwn(call, await useKey(context, call.args[0] ?? ''));
}

function printOwn(call: Call, { path, key }: OwnKey): number {
  const { type, key: base64, comment, fingerprint } = key;
  const line = `${type} ${base64} ${escapeInvisible(comment)}`.trimEnd();
  return print(call, { path, key: line, fingerprint }, () =>
    [
      line,
      table([
        ['fingerprint', fingerprint],
        ['signs with', escapeInvisible(path)],
      ]),
    ].join('\n'),
  );
}

async function pinOne(call: Call, context: Context): Promise<number> {
  const [name = '', ...words] = call.args;
  const proposed = await proposePin(context, name, words.join(' '));
  if (!(await agreed(call, proposed)))
    return print(call, { pinned: null }, () => 'nothing was pinned');
  await pin(context, proposed.pin);
  const waiting = await turnedAway(context, name);
  if (waiting.length > 0)
    note(
      call,
      `turned away before the key was pinned: ${String(waiting.length)}; to let it run: ${waiting.map((id) => `crosstalk dlq --retry ${id}`).join(', ')}`,
    );
  return print(call, { pinned: proposed.pin }, () => `Pinned: ${name} ${proposed.pin.fingerprint}`);
}

/** Shows the key that would be pinned, and asks for it on a terminal. */
async function agreed(
  { io, options }: Call,
  { pin: made, others, isClaimed }: Proposed,
): Promise<boolean> {
  if (io.ask === undefined && isClaimed && options['yes'] !== true)
    throw new CrosstalkError(
      'usage',
      `the message is signed with ${made.fingerprint}, and whoever can push may have written it; compare that with ${made.name}, and pin it with --yes`,
    );
  if (io.ask === undefined || options['yes'] === true) return true;
  const { name, key, fingerprint, comment } = made;
  const rows = [
    ['name', name],
    ['key', key],
    ['fingerprint', fingerprint],
    ...(comment === '' ? [] : [['comment', comment]]),
    ...others.map((other) => ['pinned already', other]),
  ];
  io.err(`${table(rows)}\n`);
  const question = `Have you compared the fingerprint with ${name}, and is every message that this key signs from ${name}? [y/N] `;
  return isYes(await io.ask(question));
}

async function forget(call: Call, context: Context): Promise<number> {
  const [name = '', fingerprint] = call.args;
  const gone = await unpin(context, name, fingerprint);
  return print(call, { unpinned: gone }, () =>
    gone.map((one) => `Unpinned: ${one.name} ${one.fingerprint}`).join('\n'),
  );
}

async function list(call: Call, context: Context): Promise<number> {
  const [pins, own] = [await pinned(context), await ownKey(context)];
  if (own !== undefined)
    note(call, `your own key is ${own.key.fingerprint} (${escapeInvisible(own.path)})`);
  if (pins.length === 0)
    note(call, 'no key is pinned; pin one with: crosstalk key pin <name> <key>');
  return print(call, pins, () =>
    table(pins.map(({ name, fingerprint, comment, at }) => [name, fingerprint, at, comment])),
  );
}

async function look(call: Call, context: Context): Promise<number> {
  const wanted = (['payload', 'signature'] as const).filter((name) => flag(call, name));
  const [what, other] = wanted;
  if (other !== undefined || (what !== undefined && flag(call, 'json')))
    throw new CrosstalkError('usage', 'give one of --payload, --signature and --json');
  const found = await examine(context, call.args[0] ?? '');
  if (what === undefined) {
    print(call, found, () => words(found));
    return found.verified === true ? EXIT.ok : EXIT.failed;
  }
  const text = found[what];
  if (text === undefined) {
    note(call, `${found.relPath} carries no signature`);
    return EXIT.failed;
  }
  call.io.outBytes(Buffer.from(text));
  return EXIT.ok;
}

function words({ relPath, from, verified, signed_by: signer, signature }: Examined): string {
  const said =
    signature === undefined
      ? 'it carries no signature'
      : `it says that it was signed by ${signer ?? 'a key that cannot be read'}`;
  const name = escapeInvisible(from);
  if (verified === null) return `${relPath}: no key of ${name} is pinned here; ${said}`;
  return verified
    ? `${relPath}: verified, signed by ${name} with ${signer ?? ''}`
    : `${relPath}: unverified, no pinned key of ${name} has signed this text at this place in this transport; ${said}`;
}
