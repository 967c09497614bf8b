import { RIGHTS, type Right } from '../actions/page/web-tokens.ts';
import { problem } from './answers.ts';
import type { routes } from './routes.ts';

/** Rights of a request, and the person whose they are. */
export interface Admitted {
  /** The name under which they read and write; absent for the operator, who writes as the session does. */
  person?: string;
  /** The id of a person's token. */
  token?: string;
  rights: ReadonlySet<Right>;
}

/**
 * The right that each route takes. `read`: what the bus holds; `watch`: what runs print and change on this machine;
 * `write`: messages of one's own; `operate`: this machine's dispatcher; `decide`: what is proposed to one.
 */
export const RIGHT_OF: Readonly<Record<keyof typeof routes, Right>> = {
  session: 'read',
  now: 'read',
  channels: 'read',
  inbox: 'read',
  messages: 'read',
  message: 'read',
  file: 'read',
  thread: 'read',
  proposal: 'read',
  search: 'read',
  actors: 'read',
  hosts: 'read',
  schedules: 'read',
  sessions: 'read',
  cost: 'read',
  flow: 'read',
  skills: 'read',
  skill: 'read',
  subscriptions: 'read',
  broken_files: 'read',
  memories: 'read',
  memory: 'read',
  memory_log: 'read',
  events: 'read',
  openapi: 'read',
  metrics: 'read',
  run_output: 'watch',
  branch: 'watch',
  send: 'write',
  upload: 'write',
  seen: 'write',
  retry: 'operate',
  drop: 'operate',
  pause: 'operate',
  resume: 'operate',
  run_schedule: 'operate',
  pause_schedule: 'operate',
  resume_schedule: 'operate',
  pause_subscription: 'operate',
  resume_subscription: 'operate',
  create_channel: 'operate',
  archive_channel: 'operate',
  restore_channel: 'operate',
  endSession: 'operate',
  decide: 'decide',
  // Webhooks show a secret of their own instead of a token.
  event: 'operate',
  wake: 'operate',
};

/** Reason why a read-only server takes nothing. */
export const READ_ONLY = 'this server is read-only; start it without --read-only to write';

const REFUSALS: Readonly<Record<Right, readonly [Parameters<typeof problem>[0], string]>> = {
  read: ['refused', 'this window may not read'],
  watch: [
    'refused',
    'this window is read-only, and what runs print and change is not on the bus; see it with: crosstalk watch, crosstalk worktree diff',
  ],
  write: ['read_only', READ_ONLY],
  operate: ['read_only', READ_ONLY],
  decide: [
    'refused',
    'this page may not decide, as other machines can reach it; decide in a terminal of this machine: crosstalk approve, crosstalk deny',
  ],
};

/** Refuses a request that takes a right which somebody does not have. */
export function refusalOf({ person }: Admitted, right: Right): Response {
  if (person === undefined) return problem(...REFUSALS[right]);
  const rights = RIGHTS.filter((one) => one === 'read' || one === right).join();
  return problem(
    'forbidden',
    `the token of ${person} has no right to ${right}; one that has it is made on this machine with: crosstalk web token add --as ${person} --rights ${rights}`,
  );
}
