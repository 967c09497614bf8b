import type { DispatcherApp } from '../../bus/app.ts';
import type { ActiveHost } from '../../bus/approvals.ts';
import type { ChannelLinks } from '../../bus/channel-links.ts';
import type { CrossChannelLinks } from '../../bus/cross-channel-links.ts';
import type { Publisher } from '../../bus/publisher.ts';
import type { StalledJobs, ErrorTracker } from '../../bus/stalled-jobs.ts';
import type { Subscriptions } from '../automation/subscriptions.ts';
import type { Extra, Extras } from '../extras/extras.ts';
import type { Gated } from '../gates/gated.ts';
import type { Deliveries } from '../intake/deliveries.ts';
import type { MissingParents } from '../intake/missing-parents.ts';
import type { Permissions } from '../permission/permissions.ts';
import type { Pools } from '../pools/pools.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Transcribing } from '../transcribing/transcribing.ts';
import type { ServeRun } from './endpoint.ts';
import type { Guards } from './guards.ts';
import type { Job, JobResult } from './job.ts';

/** One of the features that the engine calls at their points. */
export type EngineExtra = Extra<Job, JobResult>;

/** Engine that takes in mail, runs agents and records their outcomes; constructed in actions/dispatching. */
export interface Engine extends DispatcherApp {
  /** Links between messages of a channel, and into others. */
  links: ChannelLinks;
  crossings: CrossChannelLinks;
  deliveries: Deliveries;
  lacking: MissingParents;
  /** The host that is served, if one is. */
  hosts: { readonly active: ActiveHost | undefined };
  guards: Guards;
  publisher: Publisher;
  /** The mail that waits for somebody to approve a plan. */
  gated: Gated;
  /** Features that are called at their points of the dispatcher. */
  extras: Extras<Job, JobResult>;
  /** Tasks that follow on answers. */
  subscriptions: Subscriptions;
  transcribing: Transcribing;
  sessions: Sessions;
  permissions: Permissions;
  /** Claims of mail that one of several hosts takes. */
  pools: Pools;
  /** Carries out the request of a run. */
  serveRun: ServeRun;
  /** Outcomes, by dispatch id, that could not be written to disk yet. */
  unrecorded: ErrorTracker;
  /** Jobs that fail through no fault of their CLI. */
  stalled: StalledJobs;
  /** Aborted when the runs under way must end. */
  stop: AbortController;
}
