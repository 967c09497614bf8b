/** The text of the help beside the commands; docs/reference.md is written from it. */
type Facts = readonly (readonly [name: string, meaning: string])[];

export const SUMMARY = 'A message bus for agent CLIs. Git is the bus.';

export const EXAMPLE = 'crosstalk init demo && cd demo && crosstalk send --to concierge "hello"';

export const EXIT_CODES: Facts = [
  ['0', 'done'],
  ['1', 'failed'],
  ['2', 'wrong usage'],
  ['3', 'waited in vain'],
  ['130', 'interrupted'],
];

/** Variables that a user may set. */
export const ENVIRONMENT: Facts = [
  [
    'CROSSTALK_TRANSPORT',
    'the transport, unless --transport is given; else the nearest folder upward',
  ],
  [
    'CROSSTALK_STATE_DIR',
    'this machine’s state (default: crosstalk/<transport> in XDG_STATE_HOME, else in ~/.local/state); yours alone, on a disk of this machine',
  ],
  ['CROSSTALK_FROM', 'the sender, unless --from is given; also the name of an MCP client'],
  ['CROSSTALK_AGENT', 'the agent CLI of attach, unless --agent is given'],
  ['CROSSTALK_NOTIFY', 'how sessions announce messages: off, or some of title,bell,desktop'],
  ['CROSSTALK_WEB_TOKEN', 'the token of web, unless --token is given'],
  [
    'CROSSTALK_NETWORK_TIMEOUT',
    'seconds a git call to the remote may take (default: 120); a longer transfer is tried once more, for as long as it makes progress',
  ],
  ['CROSSTALK_GIT_TIMEOUT', 'seconds any other git call may take (default: 60)'],
  ['CROSSTALK_DEBUG', '1 shows a stack trace with an error'],
  ['CROSSTALK_SOURCE', '1 runs the sources instead of the build, for development'],
  ['PAGER', 'shows what is longer than the screen (default: less); cat for none'],
  ['NO_COLOR', 'no colour'],
  ['TERM', 'dumb: no colour and no pager, and chat goes line by line'],
  ['LC_ALL, LC_CTYPE, LANG', 'without UTF-8 in the first that is set, chat draws with ASCII'],
  ['CI', 'if set, and neither 0 nor false, init asks nothing on a terminal'],
];

/** Variables that a dispatcher sets for the agent CLIs it runs, and that commands in a run read. */
export const DISPATCH_ENVIRONMENT: Facts = [
  ['CROSSTALK_TRANSPORT', 'the transport; commands of the run can use no other'],
  ['CROSSTALK_DISPATCH_ACTOR', 'the actor; the default sender'],
  ['CROSSTALK_DISPATCH_HOST', 'the host’s alias'],
  ['CROSSTALK_DISPATCH_CHANNEL', 'the channel’s id; the default channel'],
  ['CROSSTALK_DISPATCH_RE', 'relPaths of the batch, separated by commas'],
  ['CROSSTALK_DISPATCH_ID', 'id of this dispatch'],
  ['CROSSTALK_DISPATCH_TIP', 'the commit the batch was read at'],
  ['CROSSTALK_WORKDIR', 'where the run works'],
  [
    'CROSSTALK_RUN_DIR',
    'the run’s own directory, gone after it; makes crosstalk the smaller program of runs',
  ],
  ['CROSSTALK_INSTRUCTIONS', 'set by open and attach: a file with the session’s instructions'],
];

export const FILES: Facts = [
  ['hosts/<alias>.md', 'in the transport: the actors a machine serves, and by which commands'],
  [
    'local/actors/<name>.md',
    'in the transport: what an actor is told; else upstream/actors/<name>.md',
  ],
  ['data/channels/', 'in the transport: the messages'],
  ['upstream/CROSSTALK.md', 'in the transport: the protocol'],
  [
    '$XDG_STATE_HOME/crosstalk/<transport>/',
    'outbox, dead letters, cursors and log of this machine',
  ],
];
