import type { ManagerKind } from './files.ts';

/** The location of a service, whether it exists or not. */
export interface Target {
  kind: ManagerKind;
  name: string;
  /** Its unit file or property list. */
  file: string;
  /** launchd's domain, such as `gui/501`; empty for other service managers. */
  domain: string;
}

/** A call of the service manager. */
export interface ManagerCall {
  argv: readonly string[];
  /** Set if the call fails when there is nothing to do. */
  mayFail?: true;
  /** Set if the call returns early, so that the caller has to wait until the service has ended. */
  untilGone?: true;
}

type Action = 'install' | 'installOnly' | 'start' | 'stop' | 'uninstall' | 'forget';

/**
 * Returns the calls of the service manager, in order. `install` follows the writing of the files, `uninstall`
 * precedes their removal, and `forget` follows it.
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

/** Returns the call that asks for the state of a service; {@link stateOf} reads the answer. */
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
