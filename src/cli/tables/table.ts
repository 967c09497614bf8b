import { AGENT_COMMANDS, BUS_COMMANDS, KEY_COMMANDS, SKILL_COMMANDS } from './bus.ts';
import { AUTOMATION_COMMANDS } from './automation.ts';
import { SUBSCRIBING_COMMANDS } from './subscribing.ts';
import { CHAT_COMMANDS } from './chat.ts';
import { completionCommands } from './completion.ts';
import { MCP_COMMANDS } from './mcp.ts';
import { MEMORY_COMMANDS } from './memory.ts';
import { DECIDING_COMMANDS } from './deciding.ts';
import {
  ALLOW_SECRET,
  ATTACH,
  CHANNEL,
  FROM,
  HOST,
  NO_SECRETS,
  SANDBOX,
  SCHEMA,
  UNSERVED,
  type CommandSpec,
} from '../command/spec.ts';
import { CHECKOUT, IN_PROJECT, PROJECT_DETAILS } from './project.ts';
import { NO_WAITING, READING_COMMANDS, TIMEOUT } from './reading.ts';
import { TALKING_COMMANDS } from './talking.ts';
import { SERVICE_COMMANDS } from './service.ts';
import { WEB_COMMANDS } from './web.ts';
import { WORKTREE_COMMANDS } from './worktree.ts';
import { SESSION_COMMANDS } from './sessions.ts';

/** Why a run does not say more about what it has given away. */
const NOT_NOW =
  'for people: a run that has more to say sends it, and the next run of its addressee has it';

const INDEX: CommandSpec = {
  name: 'doctor index',
  summary: 'bring the search index up to date; other commands do it as they need it',
  options: [['--rebuild', 'make it anew; the old one is kept aside']],
  example: 'crosstalk doctor index',
  load: () => import('../commands/index.ts'),
};

export const COMMANDS: readonly CommandSpec[] = [
  {
    name: 'init',
    args: '[dir]',
    summary: 'make a transport, or join the one at a remote from this machine',
    standalone: true,
    options: [
      [
        '--remote <url>',
        'the git remote: empty, or an existing transport to join; in a project, which of its remotes',
      ],
      ['--alias <alias>', 'name of this machine in addresses (default: its hostname)'],
      ['--actor <name>', 'the first actor this machine serves (default: concierge)'],
      ['--cli <command>', 'its CLI: claude, codex, gemini, opencode, qwen, pi, or a command line'],
      [
        '--from <name>',
        'who you are in this clone (default: asked on a terminal, else your login)',
      ],
      ['--channel <name>', 'the first channel (default: general)'],
      ['--workdir <dir>', 'where the actor works (default: an empty folder for each thread)'],
      ['--no-workdir', 'in an empty folder for each thread, without a question'],
      ['--worktree <repository>', 'each thread gets a copy of this git repository to work in'],
      ...SANDBOX,
      ['--service', 'keep its dispatcher running as a service (default: not)'],
      ['--no-service', 'without a service, and without a question'],
      ['--window <days>', 'joining: the checkout shows messages of so many days, as 7d'],
      ...IN_PROJECT,
    ],
    details: `On a terminal, what no option says is asked, each with a default; off a terminal, or with CI set, nothing is. ${PROJECT_DETAILS}`,
    example: 'crosstalk init team --remote git@example.com:team/bus.git',
    load: () => import('../commands/init.ts'),
  },
  {
    name: 'send',
    args: '[body] [-]',
    summary: 'send a message; text from the argument, stdin or a file',
    options: [
      ['--to <names>', 'addressees: name, name@host, all; separated by commas'],
      CHANNEL,
      FROM,
      ['--tier <tier>', 'the model tier asked for'],
      ['--for <message>', 'of the messages being processed, the one it is about'],
      ['--new', 'unrelated to what is being processed: record neither re nor cause'],
      ...UNSERVED,
      ['--now', 'for work under way: the agent is told now, or begins again with both'],
      ['--about <message>', 'with --now: the question that is worked on, if several are open'],
      ['--option <text>', 'an answer to choose from; may be given several times', 'repeatable'],
      ['--file <path>', 'take the text from a file, or from stdin with -'],
      ATTACH,
      SCHEMA,
      ALLOW_SECRET,
      ['--no-wait', 'return as soon as the message is safely queued'],
    ],
    inRun: { ...NO_SECRETS, now: NOT_NOW, about: NOT_NOW },
    details:
      'Text and - together send the text, then stdin: git diff | crosstalk send --to reviewer "please review" -',
    example: 'crosstalk send --to concierge "what changed this week?"',
    load: () => import('../commands/send.ts'),
  },
  {
    name: 'ask',
    args: '<actor> [text] [-]',
    summary: 'send a question, wait, and print the answer alone',
    options: [
      ['--any', 'with several actors: the first answer is enough'],
      CHANNEL,
      FROM,
      ['--tier <tier>', 'the model tier asked for'],
      ...UNSERVED,
      ['--file <path>', 'take the text from a file'],
      ATTACH,
      SCHEMA,
      ALLOW_SECRET,
      TIMEOUT,
    ],
    details:
      'What happens meanwhile is on stderr. The exit code is 1 once nobody owes an answer any more, as after a failure. Of several actors, as in tester,helper or all, it waits for every one that a host serves and prints each answer under its name; it is 3 if somebody has not answered.',
    interrupt: 'clean',
    notInRun: NO_WAITING,
    example: 'crosstalk ask concierge "what changed this week?"',
    load: () => import('../commands/ask.ts'),
  },
  ...TALKING_COMMANDS,
  ...DECIDING_COMMANDS,
  ...READING_COMMANDS,
  ...AGENT_COMMANDS,
  ...BUS_COMMANDS,
  ...KEY_COMMANDS,
  ...CHAT_COMMANDS,
  ...MEMORY_COMMANDS,
  ...SKILL_COMMANDS,
  {
    name: 'archive',
    summary: 'move old conversations into a bundle, or bring them back',
    options: [
      ['--before <date>', 'conversations that ended before this day (UTC), as 2026-08-01'],
      ['--bundle <file>', 'the bundle to write: it holds the whole history so far'],
      ['--dry-run', 'only count what would go'],
      ['--with-waiting', 'also what still waits for an answer'],
      ['--yes', 'replace the history of the bus without asking'],
      ['--restore <bundle>', 'put the messages of a bundle back'],
    ],
    example: 'crosstalk archive --before 2026-08-01 --bundle ~/bus-2026-08.bundle',
    load: () => import('../commands/archive.ts'),
  },
  {
    name: 'doctor',
    summary: 'check everything around the bus that can keep mail from moving',
    options: [HOST],
    example: 'crosstalk doctor',
    load: () => import('../commands/doctor.ts'),
  },
  INDEX,
  { ...INDEX, name: 'index', hidden: true },
  {
    name: 'sync',
    summary: 'push the outbox, bring news, fast-forward the checkout',
    options: [
      ['--window <days>', 'from now on the checkout shows messages of so many days: 7d, or all'],
      ['--retry', 'try again what could not be published as it was and is kept aside'],
      ['--republish', 'push again all that this machine wrote and a remote that was set back lost'],
      ['--accept', 'give that up instead: none of it comes back'],
      ['--recreate', 'put the bus back on a remote that has lost it, or has another in its place'],
    ],
    example: 'crosstalk sync',
    load: () => import('../commands/sync.ts'),
  },
  {
    name: 'forget',
    args: '<message>',
    summary: 'withdraw a message of this machine that a remote which was set back lost',
    details:
      'It does not come back by itself then. A message that is on the bus stays there: crosstalk cancel takes back what it asks for.',
    example: 'crosstalk forget 1f2e3d4c',
    load: () => import('../commands/talk/forget.ts'),
  },
  {
    name: 'pause',
    summary: 'let this machine’s dispatcher start nothing more; mail waits',
    example: 'crosstalk pause',
    load: () => import('../commands/pause.ts'),
  },
  {
    name: 'resume',
    summary: 'end a pause; try agent CLIs that are rate limited or not logged in now',
    options: [['--for <actor>', 'let its mail run that waits for a budget, whatever it costs']],
    example: 'crosstalk resume',
    load: () => import('../commands/pause.ts'),
  },
  ...WORKTREE_COMMANDS,
  ...SESSION_COMMANDS,
  ...AUTOMATION_COMMANDS,
  ...SUBSCRIBING_COMMANDS,
  ...SERVICE_COMMANDS,
  {
    name: 'open',
    summary: 'an interactive session as an actor',
    options: [
      ['--actor <name>', 'the actor'],
      ['--tier <tier>', 'its tier (default: the first)'],
      HOST,
    ],
    interrupt: 'child',
    example: 'crosstalk open --actor concierge',
    load: () => import('../commands/open.ts'),
  },
  {
    name: 'attach',
    summary: 'your own agent CLI in operator mode',
    details:
      'Messages for you are announced by title, bell and desktop; CROSSTALK_NOTIFY=off: not.',
    options: [
      ['--agent <command>', 'the agent CLI (default: CROSSTALK_AGENT, else one on the PATH)'],
    ],
    interrupt: 'child',
    example: 'crosstalk attach',
    load: () => import('../commands/attach.ts'),
  },
  ...WEB_COMMANDS,
  CHECKOUT,
  {
    name: 'upgrade',
    summary: 'replace upstream/ with this version’s template',
    options: [['--check', 'only say what would change']],
    example: 'crosstalk upgrade',
    load: () => import('../commands/upgrade.ts'),
  },
  {
    name: 'demo',
    summary: 'two machines, a question, a delegation and one answer, here and now',
    standalone: true,
    options: [['--keep', 'leave it running to play with']],
    interrupt: 'clean',
    example: 'crosstalk demo',
    load: () => import('../commands/demo.ts'),
  },
  ...MCP_COMMANDS,
  ...completionCommands(() => COMMANDS),
];
