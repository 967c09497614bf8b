import { CrosstalkError } from '../errors.ts';

/**
 * Escapes a value of a unit file in which only specifiers have a meaning, such as a path or a
 * description.
 *
 * @throws CrosstalkError `refused` for a value that such a file cannot contain on one line
 */
function unitValue(value: string): string {
  return oneLine(value, 'a unit file').replaceAll('%', '%%');
}

/** Escapes a path in a unit file for a setting without quotes, where blanks at its ends would be lost. */
function unitPath(path: string): string {
  if (path.trim() === path && !path.endsWith('\\')) return unitValue(path);
  throw refused(path, 'a unit file');
}

/** Quotes the program of `ExecStart=`. No variables are expanded in it, so it keeps its `$`. */
function unitProgram(word: string): string {
  return `"${unitValue(word).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/** Quotes one word of `ExecStart=` after the program. */
function unitWord(word: string): string {
  return unitProgram(word).replaceAll('$', '$$$$');
}

/** Escapes text for a property list. */
function xmlText(text: string): string {
  return oneLine(text, 'a property list')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}

/** Quotes one word of a line for `/bin/sh`. */
export function shellWord(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function oneLine(text: string, where: string): string {
  if (!/\p{Cc}/u.test(text)) return text;
  throw refused(text, where);
}

function refused(text: string, where: string): CrosstalkError {
  return new CrosstalkError(
    'refused',
    `${JSON.stringify(text)} cannot stand in ${where}: it has control characters, blanks at an end or a backslash there; rename it`,
  );
}

/** A service's program and surroundings; the files of each service manager are generated from it. */
export interface ServiceSpec {
  /** Name without an ending. */
  name: string;
  /** The host it serves. */
  alias: string;
  /** The transport's folder. */
  transport: string;
  /** The command: program and arguments. */
  command: readonly string[];
  /** The file of the captured environment; see environment.ts. */
  envFile: string;
  /** File for the program's own stderr if the service manager does not store it. */
  stderr: string;
}

/** A supported service manager. */
export type ManagerKind = 'systemd-user' | 'systemd-system' | 'launchd';

/** The exit code that asks the service manager to start the newly installed version. */
const REPLACED = 75;
/** Seconds in which a dispatcher has to stop: its CLIs' grace period, their end, and a last push. */
const STOP_S = 60;

/** First version of systemd that supports increasing pauses between restarts. */
const GROWING = 254;

/**
 * Renders a systemd unit for the dispatcher. docs/service.md explains each setting, and why some usual ones are
 * missing: agent CLIs build, test and sandbox what they run.
 *
 * @param version systemd's, such as 252
 * @param user the user that a system unit runs as; without one it is a unit of a user's manager
 */
export function systemdUnit(spec: ServiceSpec, version: number, user?: string): string {
  const system = user !== undefined;
  const [program = '', ...args] = spec.command;
  return `${[
    '[Unit]',
    `Description=${unitValue(`Crosstalk dispatcher of ${spec.alias} for ${spec.transport}`)}`,
    ...(system ? ['Wants=network-online.target', 'After=network-online.target'] : []),
    '# It is tried for ever: mail waits for it.',
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    'Type=exec',
    ...(system ? [`User=${unitValue(user)}`] : []),
    `WorkingDirectory=${unitPath(spec.transport)}`,
    `EnvironmentFile=${unitPath(spec.envFile)}`,
    `ExecStart=${[unitProgram(program), ...args.map((word) => unitWord(word))].join(' ')}`,
    'Restart=always',
    ...(version >= GROWING
      ? ['RestartSec=2', 'RestartSteps=6', 'RestartMaxDelaySec=120']
      : ['RestartSec=5']),
    '# A new version was installed: that is no failure.',
    `RestartForceExitStatus=${String(REPLACED)}`,
    `SuccessExitStatus=${String(REPLACED)}`,
    '# Wrong options do not mend themselves.',
    'RestartPreventExitStatus=2',
    '# The dispatcher ends its agent CLIs by itself; what is left after that is killed.',
    'KillMode=mixed',
    `TimeoutStopSec=${String(STOP_S)}`,
    '',
    'UMask=0077',
    'LimitCORE=0',
    'NoNewPrivileges=yes',
    'LockPersonality=yes',
    'RestrictRealtime=yes',
    'SystemCallArchitectures=native',
    ...(system
      ? [
          'CapabilityBoundingSet=',
          'AmbientCapabilities=',
          'ProtectSystem=full',
          'ProtectKernelModules=yes',
        ]
      : []),
    '',
    '[Install]',
    `WantedBy=${system ? 'multi-user.target' : 'default.target'}`,
  ].join('\n')}\n`;
}

/** Reads the transport folder that a unit of {@link systemdUnit} serves; undefined for any other text. */
export function servedBy(text: string): string | undefined {
  return /^WorkingDirectory=(.*)$/m.exec(text)?.[1]?.replaceAll('%%', '%');
}

/** Returns instructions for a machine whose service manager is not supported. */
export function plainAdvice({ transport, command }: ServiceSpec): string {
  const line = command.map(shellWord).join(' ');
  return [
    'No service manager that crosstalk knows runs here (systemd, launchd); nothing is written.',
    'Let whatever keeps programs running on this machine keep this one, as you, from your own',
    'login environment, and start it again whenever it ends:',
    '',
    `  cd ${shellWord(transport)} && exec ${line}`,
    '',
    'Where there is nothing of the kind, a terminal that stays open (tmux, screen) does:',
    '',
    `  cd ${shellWord(transport)} && while :; do ${line}; sleep 5; done`,
  ].join('\n');
}

/** A script that reads the environment and then becomes the command, because launchd itself reads no such file. */
const WITH_ENVIRONMENT = 'set -a; . "$1"; set +a; shift; exec "$@"';
/** The umask 0077; a property list has no octal numbers. */
const UMASK = 63;
/** Fewest seconds between two starts; launchd cannot increase its waits. */
const THROTTLE_S = 10;

/** Renders a launchd agent for the dispatcher: a property list for `~/Library/LaunchAgents`. */
export function launchdPlist(spec: ServiceSpec): string {
  const words = ['/bin/sh', '-c', WITH_ENVIRONMENT, 'sh', spec.envFile, ...spec.command];
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
\t<key>Label</key>
\t<string>${xmlText(spec.name)}</string>
\t<key>ProgramArguments</key>
\t<array>
${words.map((word) => `\t\t<string>${xmlText(word)}</string>`).join('\n')}
\t</array>
\t<key>WorkingDirectory</key>
\t<string>${xmlText(spec.transport)}</string>
\t<key>RunAtLoad</key>
\t<true/>
\t<key>KeepAlive</key>
\t<true/>
\t<key>ThrottleInterval</key>
\t<integer>${String(THROTTLE_S)}</integer>
\t<key>ExitTimeOut</key>
\t<integer>${String(STOP_S)}</integer>
\t<key>LimitLoadToSessionType</key>
\t<array>
\t\t<string>Aqua</string>
\t\t<string>Background</string>
\t</array>
\t<key>ProcessType</key>
\t<string>Standard</string>
\t<key>Umask</key>
\t<integer>${String(UMASK)}</integer>
\t<key>StandardErrorPath</key>
\t<string>${xmlText(spec.stderr)}</string>
</dict>
</plist>
`;
}

/** Reads the transport folder that a property list of {@link launchdPlist} serves. */
export function servedByPlist(text: string): string | undefined {
  const found = /<key>WorkingDirectory<\/key>\s*<string>(.*)<\/string>/.exec(text)?.[1];
  return found === undefined ? undefined : plainText(found);
}

/** Returns the strings of a property list, in order. */
export function plistStrings(text: string): string[] {
  return [...text.matchAll(/<string>(.*)<\/string>/g)].map(([, one = '']) => plainText(one));
}

function plainText(xml: string): string {
  return xml.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

/**
 * Returns the name of a transport's service on a machine, without an ending: `crosstalk-laptop-1f2e3d4c5b6a`.
 *
 * @param alias of the host that it serves, for readability
 * @param transportId ends in a digest of the transport's identity
 */
export function serviceName(alias: string, transportId: string): string {
  return `crosstalk-${alias}-${digestOf(transportId)}`;
}

/** Whether {@link serviceName} can give this name. */
export function isServiceName(name: string): boolean {
  return /^crosstalk-.+-[0-9a-f]{12}$/.test(name);
}

/** Whether {@link serviceName} gives this name for this transport and some alias. */
export function namesService(name: string, transportId: string): boolean {
  return isServiceName(name) && name.endsWith(`-${digestOf(transportId)}`);
}

function digestOf(transportId: string): string {
  return transportId.split('-').at(-1) ?? transportId;
}
