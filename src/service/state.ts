import type { ManagerKind } from './files.ts';

/** The state of a service according to its service manager. */
export interface ServiceState {
  /** `waiting`: it ended and is started again after a pause. */
  state: 'running' | 'starting' | 'stopping' | 'waiting' | 'failed' | 'stopped';
  /** Whether it starts with the machine, or with the user's session. */
  enabled: boolean;
  pid: number | null;
  /**
   * Automatic restarts since it was last started by hand; null if the service manager does not
   * count them.
   */
  restarts: number | null;
  /** Exit code of the last process that ended; null when none has ended, or it is unknown. */
  exit_code: number | null;
}

const STOPPED: ServiceState = {
  state: 'stopped',
  enabled: false,
  pid: null,
  restarts: null,
  exit_code: null,
};

/**
 * Parses the answer to {@link question}.
 *
 * @param answer stdout of the service manager; undefined when it knows no such service
 */
export function stateOf(kind: ManagerKind, answer: string | undefined): ServiceState {
  if (kind === 'launchd')
    return answer === undefined ? { ...STOPPED, enabled: true } : launchd(answer);
  return answer === undefined ? STOPPED : systemd(answer);
}

function systemd(answer: string): ServiceState {
  const facts = new Map(
    answer.split('\n').map((line) => {
      const [name = '', ...value] = line.split('=');
      return [name, value.join('=')];
    }),
  );
  const pid = Number(facts.get('MainPID') ?? '0');
  const active = facts.get('ActiveState');
  const sub = facts.get('SubState') ?? '';
  const running = active === 'active';
  return {
    state: running
      ? 'running'
      : sub.startsWith('auto-restart')
        ? 'waiting'
        : active === 'activating'
          ? 'starting'
          : active === 'deactivating'
            ? 'stopping'
            : active === 'failed'
              ? 'failed'
              : 'stopped',
    enabled: facts.get('UnitFileState') === 'enabled',
    pid: pid > 0 ? pid : null,
    restarts: Number(facts.get('NRestarts') ?? '0'),
    exit_code: running || pid > 0 ? null : Number(facts.get('ExecMainStatus') ?? '0'),
  };
}

function launchd(answer: string): ServiceState {
  const fact = (name: string): string | undefined =>
    new RegExp(`^\\s*${name} = (.*)$`, 'm').exec(answer)?.[1]?.trim();
  const pid = Number(fact('pid') ?? '0');
  const code = /^\d+$/.test(fact('last exit code') ?? '') ? Number(fact('last exit code')) : null;
  const runs = Number(fact('runs') ?? '1');
  return {
    // It is loaded with KeepAlive, so if it is not running, it is about to start.
    state: pid > 0 ? 'running' : 'waiting',
    enabled: true,
    pid: pid > 0 ? pid : null,
    restarts: Math.max(0, runs - 1),
    exit_code: code,
  };
}
