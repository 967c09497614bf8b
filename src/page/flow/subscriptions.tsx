import type { JSX } from 'preact';
import type { WebFlow, WebSubscription, WebSubscriptions } from '../../api/api.ts';
import { get } from '../live/api.ts';
import { useLoaded } from '../live/use-live.ts';
import { OriginLanes } from './origin-lanes.tsx';
import type { TimeSpan } from './scale.ts';

/** Lane for each subscription, with the tasks that it has produced. Nothing is shown where there is none. */
export function SubscriptionLanes(props: {
  flow: WebFlow;
  span: TimeSpan;
  width: number;
}): JSX.Element | null {
  const { value } = useLoaded<WebSubscriptions>(
    'subscriptions',
    (signal) => get<WebSubscriptions>('subscriptions', {}, signal),
    ['reset', 'messages'],
  );
  const origins = (value?.subscriptions ?? []).map((one) => ({
    path: one.path,
    name: one.name,
    state: stateOf(one),
    isBad: one.problems.length > 0,
    title: titleOf(one),
  }));
  return <OriginLanes what="subscriptions" field="subscription" origins={origins} {...props} />;
}

function stateOf({ problems, enabled, fired, source }: WebSubscription): string {
  if (problems.length > 0) return 'cannot be read';
  if (fired) return 'has fired, once';
  if (!enabled) return 'paused';
  const [kind, of = ''] = (source ?? '').split(':');
  return kind === 'answer' ? `answers of ${of}` : `event ${of}`;
}

function titleOf({ problems, source, to, match }: WebSubscription): string {
  if (problems.length > 0) return problems.join('\n');
  return `${source ?? ''}${match === null ? '' : ` with ${match}`}, to ${to ?? ''}`;
}
