import { xmlText } from './quoting.ts';
import { STOP_S, type ServiceSpec } from './spec.ts';

/** Reads the environment and then becomes the command, because launchd itself reads no such file. */
const WITH_ENVIRONMENT = 'set -a; . "$1"; set +a; shift; exec "$@"';
/** The umask 0077; a property list has no octal numbers. */
const UMASK = 63;
/** The least seconds between two starts; launchd cannot increase its waits. */
const THROTTLE_S = 10;

/** A launchd agent for the dispatcher: a property list for `~/Library/LaunchAgents`. */
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

/** The transport folder that a property list of {@link launchdPlist} serves. */
export function servedByPlist(text: string): string | undefined {
  const found = /<key>WorkingDirectory<\/key>\s*<string>(.*)<\/string>/.exec(text)?.[1];
  return found === undefined ? undefined : plainText(found);
}

/** The strings of a property list, in order. */
export function plistStrings(text: string): string[] {
  return [...text.matchAll(/<string>(.*)<\/string>/g)].map(([, one = '']) => plainText(one));
}

function plainText(xml: string): string {
  return xml.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}
