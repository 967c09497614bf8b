import type { Time } from './now.ts';

/** `POST /api/dead-letters/{id}/drop`: the dead letters that were forgotten. */
export interface WebDropped {
  dropped: string[];
}

/** `POST /api/pause` and `POST /api/resume`: whether this machine starts runs. */
export interface WebPaused {
  /** Null where runs start. */
  paused: { since: Time; by: string } | null;
}

/** `POST /api/schedules/{name}/…` and `POST /api/subscriptions/{name}/…`: the change of a file. */
export interface WebEdited {
  name: string;
  path: string;
  /** `queued`: not at the remote yet. */
  state: 'published' | 'queued';
}

/** `POST /api/schedules/{name}/run`: the message that was sent. */
export interface WebFired {
  name: string;
  channel: string;
  relPath: string;
  state: 'sent' | 'queued';
}

/** Body of `POST /api/channels`. */
export interface WebChannelRequest {
  name: string;
  /** Id, unique id prefix or name of the channel below which it is made. */
  parent?: string;
  description?: string;
}

/** `POST /api/channels`, and `/archive` and `/restore` of one. */
export interface WebChannelChanged {
  id: string;
  name: string;
  archived: boolean;
}
