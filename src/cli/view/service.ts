import type { ServiceStatus } from '../../operations/service/status.ts';
import type { Io } from '../command/io.ts';
import { painter, table } from './render.ts';

const KINDS: Record<ServiceStatus['kind'], string> = {
  'systemd-user': 'systemd, of the user',
  'systemd-system': 'systemd, of the system',
  launchd: 'launchd',
};

const ENDS: Record<NonNullable<ServiceStatus['last_end']>['how'], string> = {
  stopped: 'was stopped',
  replaced: 'made room for a new version',
  crashed: 'crashed or was killed',
};

const LINGERS = {
  true: 'it starts with the machine and outlives your session',
  false: 'no: it ends when you log out, unless you say: loginctl enable-linger',
};

/** Formats the state first, then the facts, then what to do. */
export function renderStatus(s: ServiceStatus, io: Io): string {
  const paint = painter(io);
  const { running, installed } = s.version;
  const version =
    running === null || running === installed
      ? installed
      : `runs ${running}, installed is ${installed}: it is replaced at a quiet moment`;
  const since = s.since === null ? '' : ` since ${s.since}`;
  const rows = [
    ['service', `${s.name} (${KINDS[s.kind]}${s.user === null ? '' : `, as ${s.user}`})`],
    ['serves', s.transport],
    ['process', s.pid === null ? 'none' : `${String(s.pid)}${since}`],
    [
      'starts',
      s.enabled
        ? s.kind === 'systemd-user'
          ? 'with your session'
          : 'with the machine'
        : 'when told to',
    ],
    ...(s.linger === null ? [] : [['lingers', LINGERS[String(s.linger) as 'true' | 'false']]]),
    ...(s.restarts === null ? [] : [['restarts', String(s.restarts)]]),
    ...(s.last_end === null
      ? []
      : [['before', `${ENDS[s.last_end.how]}, last heard of ${s.last_end.at}`]]),
    ['version', version],
    ['file', s.file],
    ['environment', `${s.environment.file}, captured ${s.environment.captured_at ?? 'never'}`],
    ['log', s.log],
  ];
  return [
    paint(s.state === 'running' ? 'green' : 'red', s.state),
    table(rows, '  '),
    ...s.problems.map((problem) => `${paint('yellow', 'note')}: ${problem}`),
  ].join('\n');
}
