import type { CommandSpec } from '../command/spec.ts';

const NOT_IN_RUN =
  'a key is a person’s, and so is the decision whom this machine believes; the operator of this machine has it';

/** The rows of the command table for signing messages, and for knowing who has signed them. */
export const KEY_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'key',
    summary: 'sign what you write, and know who has signed what others write',
    details: 'Prints your own public key, for others to pin, with its fingerprint to compare.',
    notInRun: NOT_IN_RUN,
    example: 'crosstalk key',
    load: () => import('../commands/talk/key.ts'),
  },
  {
    name: 'key create',
    args: '[file]',
    summary: 'make an ssh key, and sign what you write in this clone with it',
    details:
      'Without a file it is ~/.ssh/crosstalk_ed25519. It has no passphrase: give it one with ssh-keygen -p -f <file>, and then the key to your agent with ssh-add <file>.',
    notInRun: NOT_IN_RUN,
    example: 'crosstalk key create',
    load: () => import('../commands/talk/key.ts'),
  },
  {
    name: 'key use',
    args: '<file>',
    summary: 'sign what you write in this clone with an ssh key that you have',
    details:
      'A private key, or a public one whose private key your agent or your security key has. It sets git config crosstalk.signingKey; without that setting nothing is signed.',
    notInRun: NOT_IN_RUN,
    example: 'crosstalk key use ~/.ssh/id_ed25519.pub',
    load: () => import('../commands/talk/key.ts'),
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
    load: () => import('../commands/talk/key.ts'),
  },
  {
    name: 'key unpin',
    args: '<name> [fingerprint]',
    summary: 'forget the pinned keys of a name, or one of them',
    notInRun: NOT_IN_RUN,
    example: 'crosstalk key unpin anna',
    load: () => import('../commands/talk/key.ts'),
  },
  {
    name: 'key list',
    summary: 'the keys that are pinned on this machine',
    notInRun: NOT_IN_RUN,
    example: 'crosstalk key list',
    paged: true,
    load: () => import('../commands/talk/key.ts'),
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
    load: () => import('../commands/talk/key.ts'),
  },
];
