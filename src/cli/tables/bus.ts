import { ALLOW_SECRET, FROM, HOST, SANDBOX, type CommandSpec } from '../command/spec.ts';
import { TIER_OPTIONS } from '../../protocol/files/tier-options.ts';

/** What each option of a tier does; docs/configuration.md has the details. */
const MEANINGS: Readonly<Record<string, string>> = {
  cli: 'the command line, or the name of a known agent CLI',
  workdir: 'the folder in which it works (default: a workspace for each thread)',
  count: 'how many runs may go on at once (default: 1)',
  timeout: 'how long a run may take (default: 10m)',
  attempts: 'how many runs may fail before its mail is quarantined (default: 3)',
  retry_delay: 'the wait before the first retry, then four times longer each (default: 2s)',
  max_runs_per_hour: 'further mail waits until the hour is over (default: 600)',
  max_depth: 'how many messages deep a thread may grow (default: 40)',
  max_usd_per_day: 'US dollars that its runs may cost in a day',
  max_tokens_per_day: 'tokens that its runs may use in a day, without those of a cache',
  max_usd_per_thread: 'US dollars that a thread may have cost before a run begins in it',
  fallback: 'the tiers that take its mail when it cannot: small, or [medium, small]',
  fallback_after: 'after how many failures they do (default: 2)',
  worktree: 'a git repository of which each thread gets a copy to work in',
  worktree_from: 'the branch, tag or remote branch with which a copy begins',
  worktree_push: 'the remote to which the branch of a thread is pushed after each run',
  before: 'a command line that is run once in each new copy, such as npm ci',
  sandbox: 'what a run may reach: default, or {write, read, hide, net, env}',
  only_from: 'whose signed tasks it serves: anna, [anna, bob], or pinned (default: everybody’s)',
  gate: 'who approves what a run is going to do, before it does it: a name, or asker',
  gate_plan: 'the command line that plans and changes nothing, for an unknown CLI',
  permit: 'who is asked when the CLI wants more than its flags allow: a name, or asker',
  permit_timeout: 'how long such a question waits, then it counts as denied (default: 10m)',
  session: 'fresh; resume: runs in a thread go on with one session; warm: with one process',
  session_max_turns: 'after how many runs a session is begun anew (default: 20)',
  history: 'how many earlier messages with whoever asks a new thread is shown, at most 200',
};

const WIDTH = Math.max(...TIER_OPTIONS.map((option) => option.length)) + 2;

/** A line for each option of a tier, for the help. */
const TIER_OPTION_LINES: readonly string[] = TIER_OPTIONS.map(
  (option) => `  ${option.padEnd(WIDTH)}${MEANINGS[option] ?? ''}`,
);

/** The rows of the command table that are about channels, actors and host files. */
export const BUS_COMMANDS: readonly CommandSpec[] = [
  {
    // The form before `channel create`.
    name: 'channel',
    hidden: true,
    summary: 'make a channel; prints its id',
    options: [
      ['--name <name>', 'make a channel of this name'],
      ['--parent <channel>', 'as a subchannel of this one'],
      ['--description <text>', 'a small system prompt for everybody in it'],
      FROM,
    ],
    inRun: true,
    example: 'crosstalk channel --name release',
    load: () => import('../commands/channel.ts'),
  },
  {
    name: 'channel create',
    args: '<name>',
    summary: 'make a channel; prints its id',
    options: [
      ['--parent <channel>', 'as a subchannel of this one'],
      ['--description <text>', 'a small system prompt for everybody in it'],
      FROM,
    ],
    inRun: true,
    example: 'crosstalk channel create release --description "Everything about 2.0."',
    load: () => import('../commands/channel.ts'),
  },
  {
    name: 'channel list',
    summary: 'the channels: messages, the last one, and what is unread for a name',
    options: [
      ['--for <name>', 'whose unread messages (default: you)'],
      ['--all', 'also those that are archived'],
    ],
    inRun: true,
    example: 'crosstalk channel list',
    paged: true,
    load: () => import('../commands/channel.ts'),
  },
  {
    name: 'channel archive',
    args: '<channel>',
    summary: 'take a channel out of the lists; its messages stay, and nothing new is begun in it',
    options: [['--undo', 'put it back'], FROM],
    example: 'crosstalk channel archive release',
    load: () => import('../commands/channel.ts'),
  },
  {
    name: 'actor list',
    summary: 'the actors and the hosts that serve them',
    inRun: true,
    example: 'crosstalk actor list',
    paged: true,
    load: () => import('../commands/actor.ts'),
  },
  {
    name: 'actor show',
    args: '<name>',
    summary: 'one actor with its system prompt',
    inRun: true,
    example: 'crosstalk actor show concierge',
    paged: true,
    load: () => import('../commands/actor.ts'),
  },
  {
    name: 'actor add',
    args: '<name>',
    summary: 'let this machine serve an actor, and approve its command',
    options: [
      ['--cli <command>', 'claude, codex, gemini, opencode, qwen, pi, or a command line'],
      ['--tier <tier>', 'the tier this command is for (default: default)'],
      ['--workdir <dir>', 'where it works (default: an empty folder for each thread)'],
      ['--worktree <repository>', 'each thread gets a copy of this git repository to work in'],
      ...SANDBOX,
      ['--description <text>', 'what it is for, in a line of its profile'],
      ['--replace', 'replace what is there without asking'],
      [
        '--count <n>',
        'add so many actors with numbered names, as in worker-1, that no other host serves',
      ],
      HOST,
    ],
    example: 'crosstalk actor add reviewer --cli claude --description "Reviews diffs."',
    load: () => import('../commands/actor.ts'),
  },
  {
    name: 'actor edit',
    args: '<name>',
    summary: 'change what an actor is told: opens its profile in your editor, and commits it',
    options: [
      [
        '--file <path>',
        'take it from a file, or stdin with -: a profile, or only what follows its header',
      ],
      FROM,
    ],
    example: 'crosstalk actor edit reviewer',
    load: () => import('../commands/edit-actor.ts'),
  },
  {
    name: 'actor export',
    args: '<name>',
    summary:
      'an actor to give away: its profile, the skills that it names, its tools without secrets',
    example: 'crosstalk actor export reviewer > reviewer.json',
    load: () => import('../commands/work/give-actor.ts'),
  },
  {
    name: 'actor import',
    args: '<file>',
    summary: 'put an actor that somebody gave away on the bus; its tools wait for approval',
    options: [
      ['--name <name>', 'give it another name'],
      ['--replace', 'replace an actor and skills of the same name'],
      FROM,
      ALLOW_SECRET,
    ],
    example: 'crosstalk actor import reviewer.json',
    load: () => import('../commands/work/give-actor.ts'),
  },
  {
    name: 'actor set',
    args: '<name> <options...>',
    summary: 'change options of an actor on this machine, and approve them',
    options: [['--tier <tier>', 'of this tier (default: the first one)'], HOST],
    details: `Options of a tier; <option>= goes back to its default:\n${TIER_OPTION_LINES.join('\n')}`,
    example: 'crosstalk actor set reviewer count=2 timeout=30m',
    load: () => import('../commands/actor.ts'),
  },
  {
    name: 'actor remove',
    args: '<name>',
    summary: 'let this machine no longer serve an actor; its mail stays',
    details:
      'Its profile is removed too, unless another host serves it; git has it still, and what is printed says how to have it back.',
    options: [['--tier <tier>', 'only this tier'], HOST],
    example: 'crosstalk actor remove reviewer',
    load: () => import('../commands/actor.ts'),
  },
  {
    name: 'host list',
    summary: 'all host files: which machine serves whom, and which one this is',
    example: 'crosstalk host list',
    paged: true,
    load: () => import('../commands/host.ts'),
  },
  {
    name: 'host show',
    summary: 'this machine’s host file, and the changes that are held',
    options: [HOST],
    example: 'crosstalk host show',
    paged: true,
    load: () => import('../commands/host.ts'),
  },
  {
    name: 'host approve',
    args: '[digest...]',
    summary: 'accept held changes, named by the digests that host show prints',
    details:
      'Without a digest it asks on a terminal, for each change; nothing is fetched meanwhile.',
    options: [HOST],
    example: 'crosstalk host approve 1f2e3d4c5b6a',
    load: () => import('../commands/host.ts'),
  },
  {
    name: 'host reject',
    args: '<digest...>',
    summary: 'refuse held changes: what is approved stands in the host file again',
    details:
      'What was never approved is taken out of the file. Whoever pushed it is shown by host show.',
    options: [HOST],
    example: 'crosstalk host reject 1f2e3d4c5b6a',
    load: () => import('../commands/host.ts'),
  },
];

const load: CommandSpec['load'] = () => import('../commands/work/skill.ts');

/** The rows of the command table about skills: texts that a message asks for with `/name`. */
export const SKILL_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'skill list',
    summary: 'the skills that a message can ask for by beginning with /name',
    inRun: true,
    example: 'crosstalk skill list',
    paged: true,
    load,
  },
  {
    name: 'skill show',
    args: '<skill>',
    summary: 'one skill: what the actor is told, and the files beside it',
    inRun: true,
    example: 'crosstalk skill show review',
    paged: true,
    load,
  },
  {
    name: 'skill add',
    args: '<dir>',
    summary: 'put a folder with a SKILL.md on the bus, for every actor',
    details:
      'It replaces the skill of the same name in local/skills/, and goes before one in upstream/skills/.',
    options: [FROM, ALLOW_SECRET],
    notInRun: 'skills are for every actor, and an operator adds them',
    example: 'crosstalk skill add ~/skills/triage',
    load,
  },
];

/** The rows of the command table that are about the agent CLIs of this machine. */
export const AGENT_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'agents',
    args: '[agents...]',
    summary: 'the known agent CLIs on this machine, and whether they work',
    details:
      'With --run each answers one word, which costs what a short question costs there; exit code 1 when one does not.',
    options: [
      ['--run', 'let each answer one word'],
      ['--timeout <time>', 'how long a run may take (default: 90)'],
    ],
    standalone: true,
    interrupt: 'clean',
    example: 'crosstalk agents',
    load: () => import('../commands/agents.ts'),
  },
  {
    name: 'guide',
    args: '[topic]',
    summary: 'what an agent can read up on in a run: sending, files, notes, ...',
    standalone: true,
    inRun: true,
    example: 'crosstalk guide files',
    load: () => import('../commands/work/guide.ts'),
  },
  {
    name: 'watch',
    args: '[actor|message]',
    summary: 'what runs of this machine print, as they print it',
    options: [
      ['-f, --follow', 'go on with the next runs, until Ctrl-C'],
      ['--timeout <s>', 'stop after so long, and end with exit code 3 (default: never)'],
    ],
    details: [
      'Without an argument all runs under way, or the next one to begin. It ends when they end; of a',
      'message that was handled it shows what its run printed. Of claude, codex, opencode and pi in a plain',
      'call: the text, the tools called and the tokens so far. Of other machines nothing is known here.',
    ].join('\n'),
    notInRun: 'what runs print may be secret, and is for the operator of the machine',
    interrupt: 'clean',
    lines: true,
    example: 'crosstalk watch concierge',
    load: () => import('../commands/talk/watch.ts'),
  },
];

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
