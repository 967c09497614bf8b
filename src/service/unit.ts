import { unitPath, unitProgram, unitValue, unitWord } from './quoting.ts';
import { REPLACED, STOP_S, type ServiceSpec } from './spec.ts';

/** The first version of systemd that supports increasing pauses between restarts. */
const GROWING = 254;

/**
 * A systemd unit for the dispatcher. docs/service.md explains each setting, and why some usual ones
 * are missing: agent CLIs build, test and sandbox what they run.
 *
 * @param version systemd's, such as 252
 * @param user the user as whom a unit of the system runs; without one it is a unit of a user's
 *   manager
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

/** The transport folder that a unit of {@link systemdUnit} serves; undefined for any other text. */
export function servedBy(text: string): string | undefined {
  return /^WorkingDirectory=(.*)$/m.exec(text)?.[1]?.replaceAll('%%', '%');
}
