import type { ManagerKind } from './spec.ts';

/** Where a service is, or would be. */
export interface Target {
  kind: ManagerKind;
  name: string;
  /** Its unit file or property list. */
  file: string;
  /** launchd's domain, such as `gui/501`; empty elsewhere. */
  domain: string;
}

/** One call of the service manager. */
export interface ManagerCall {
  argv: readonly string[];
  /** It may find nothing to do and say so by failing. */
  mayFail?: true;
  /** Goes on in the background: wait until the service is gone. */
  untilGone?: true;
}

type Action = 'install' | 'installOnly' | 'start' | 'stop' | 'uninstall' | 'forget';

/**
 * What to ask of the service manager, in order. `install` comes after the files are written,
 * `uninstall` before they are removed, `forget` after it.
 */
export function stepsOf(target: Target, action: Action): ManagerCall[] {
  return target.kind === 'launchd' ? launchd(target, action) : systemd(target, action);
}

function systemd({ kind, name }: Target, action: Action): ManagerCall[] {
  const call = (...words: string[]): ManagerCall => ({
    argv: ['systemctl', ...(kind === 'systemd-user' ? ['--user'] : []), ...words],
  });
  const unit = `${name}.service`;
  switch (action) {
    case 'installOnly':
      return [call('daemon-reload'), call('enable', unit)];
    case 'install':
      return [call('daemon-reload'), call('enable', unit), call('restart', unit)];
    case 'start':
      return [call('start', unit)];
    case 'stop':
      return [call('stop', unit)];
    case 'uninstall':
      return [call('disable', '--now', unit)];
    case 'forget':
      return [call('daemon-reload'), { ...call('reset-failed', unit), mayFail: true }];
  }
}

function launchd({ domain, name, file }: Target, action: Action): ManagerCall[] {
  const end: ManagerCall = {
    argv: ['launchctl', 'bootout', `${domain}/${name}`],
    mayFail: true,
    untilGone: true,
  };
  const enable: ManagerCall = { argv: ['launchctl', 'enable', `${domain}/${name}`] };
  const begin: ManagerCall = { argv: ['launchctl', 'bootstrap', domain, file] };
  switch (action) {
    case 'installOnly':
      return [end, enable];
    case 'install':
      return [end, enable, begin];
    case 'start':
      return [enable, begin];
    case 'stop':
    case 'uninstall':
      return [end];
    case 'forget':
      return [];
  }
}

/** How the state of a service is asked for; {@link stateOf} reads the answer. */
export function question({ kind, name, domain }: Target): readonly string[] {
  if (kind === 'launchd') return ['launchctl', 'print', `${domain}/${name}`];
  return [
    'systemctl',
    ...(kind === 'systemd-user' ? ['--user'] : []),
    'show',
    `${name}.service`,
    '--property=LoadState,ActiveState,SubState,UnitFileState,MainPID,NRestarts,ExecMainStatus,Result',
  ];
}
