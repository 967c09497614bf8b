import type { JSX } from 'preact';
import type { WebArrow, WebFlow } from '../../api/api.ts';
import { useNavigation } from '../route/navigation.ts';
import { pathOf } from '../route/route.ts';
import { EDGE, placeOf, type TimeSpan } from './scale.ts';

const HEIGHT = 36;
/** Most lanes: anybody who can push can add files. */
const MOST = 30;
/** Pixels within which messages are drawn as one. */
const TOGETHER = 4;

/** Lane of a source that sends messages automatically. */
interface Origin {
  /** The path of its file. */
  path: string;
  name: string;
  state: string;
  isBad: boolean;
  /** Everything about it, for a tooltip. */
  title: string;
}

interface Props {
  /** Name of these sources, in the plural. */
  what: string;
  origins: readonly Origin[];
  /** The field of a message that names its origin. */
  field: 'schedule' | 'subscription';
  flow: WebFlow;
  span: TimeSpan;
  width: number;
}

/** A lane for each of them, with its messages; nothing where there are none. */
export function OriginLanes({
  what,
  origins,
  field,
  flow,
  span,
  width,
}: Props): JSX.Element | null {
  if (origins.length === 0) return null;
  const shown = origins.slice(0, MOST);
  const more = origins.length - shown.length;
  const title = `${what.charAt(0).toUpperCase()}${what.slice(1)}`;
  return (
    <section class={`origins ${what}`} aria-label={title}>
      <div class="timeline">
        <ul class="plain lanes" aria-label={title}>
          {shown.map((one) => (
            <li key={one.path} style={{ height: `${String(HEIGHT)}px` }} title={one.title}>
              <bdi class="who">{one.name}</bdi>
              <bdi class={one.isBad ? 'bad dim' : 'dim'}>{one.state}</bdi>
            </li>
          ))}
          {more > 0 && (
            <li class="dim">
              and {more} more {what}
            </li>
          )}
        </ul>
        <div class="drawing">
          <svg
            width={width}
            height={shown.length * HEIGHT}
            role="group"
            aria-label={`What ${what} have sent`}
          >
            {shown.map(({ name, path }, index) => (
              <Lane
                key={path}
                name={name}
                field={field}
                top={index * HEIGHT}
                isEven={index % 2 === 0}
                {...{ flow, span, width }}
              />
            ))}
          </svg>
        </div>
      </div>
    </section>
  );
}

interface LaneProps {
  name: string;
  field: Props['field'];
  top: number;
  isEven: boolean;
  flow: WebFlow;
  span: TimeSpan;
  width: number;
}

function Lane({ name, field, top, isEven, flow, span, width }: LaneProps): JSX.Element {
  const { go } = useNavigation();
  const fired = flow.messages.filter((message) => message[field] === name);
  return (
    <>
      <rect class={`lane${isEven ? ' even' : ''}`} y={top} width={width} height={HEIGHT} />
      {apart(fired, span, width).map(({ message, x, count }) => {
        const { channel, relPath } = message;
        const view = { view: 'message', channel, relPath } as const;
        return (
          <a
            key={relPath}
            href={pathOf(view)}
            aria-label={`${name} sent ${count > 1 ? `${String(count)} messages until` : 'a message'} ${message.timestamp}`}
            onClick={(event) => {
              if (event.ctrlKey || event.metaKey) return;
              event.preventDefault();
              go(view);
            }}
          >
            <circle class="fired" cx={x} cy={top + HEIGHT / 2} r={count > 1 ? 6 : 4} />
          </a>
        );
      })}
    </>
  );
}

/**
 * Returns the messages sent within a period, with their places; those that would be drawn on one spot are put
 * together.
 */
function apart(
  fired: readonly WebArrow[],
  span: TimeSpan,
  width: number,
): { message: WebArrow; x: number; count: number }[] {
  const spots: { message: WebArrow; x: number; count: number }[] = [];
  for (const message of fired) {
    const at = Date.parse(message.timestamp);
    if (at < span.from || at > span.to) continue;
    const x = placeOf(at, span, width - EDGE);
    const last = spots.at(-1);
    if (last !== undefined && x - last.x < TOGETHER)
      Object.assign(last, { message, count: last.count + 1 });
    else spots.push({ message, x, count: 1 });
  }
  return spots;
}
