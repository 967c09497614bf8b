import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { WebFlow } from '../../api/api.ts';
import { useKeys } from '../keys/use-keys.ts';
import { useNavigation } from '../route/navigation.ts';
import { pathOf } from '../route/route.ts';
import { pictureOf } from './layout.ts';
import { arrowKey, barKey, marksOf, type Mark } from './marks.ts';
import { EDGE, type TimeSpan } from './scale.ts';
import { ArrowShape, BarShape, Grid } from './shapes.tsx';

interface Props {
  flow: WebFlow;
  span: TimeSpan;
  now: number;
  width: number;
  onWheel: (event: WheelEvent, share: number) => void;
}

const AXIS = 24;
const ARROWS: Readonly<Record<string, 1 | -1>> = {
  ArrowRight: 1,
  ArrowDown: 1,
  ArrowLeft: -1,
  ArrowUp: -1,
};

/**
 * Shows who did what and when: a lane for each name, bars for runs, arrows for messages. One mark is
 * a tab stop, and keys walk from it to the others.
 */
export function Timeline({ flow, span, now, width, onWheel }: Props): JSX.Element {
  const { go } = useNavigation();
  const { from, to } = span;
  const picture = useMemo(
    () => pictureOf(flow, { from, to }, width - EDGE, now),
    [flow, from, to, width, now],
  );
  const marks = useMemo(() => marksOf(picture, now), [picture, now]);
  const [pointed, setPointed] = useState<string | undefined>(undefined);
  const [focused, setFocused] = useState<string | undefined>(undefined);
  /** Whether a mark has the focus; the last one that had it stays the tab stop. */
  const [inside, setInside] = useState(false);
  const box = useRef<SVGSVGElement>(null);
  const shown = marks.find(({ key }) => key === (pointed ?? (inside ? focused : undefined)));
  const first = marks.find(({ key }) => key === focused)?.key ?? marks.at(-1)?.key;

  const elementOf = (key: string): SVGElement | undefined =>
    [...(box.current?.querySelectorAll<SVGElement>('[data-mark]') ?? [])].find(
      ({ dataset }) => dataset['mark'] === key,
    );
  const step = (by: 1 | -1): boolean => {
    const at = marks.findIndex(({ key }) => key === focused);
    const next = marks[at < 0 ? marks.length - 1 : at + by];
    if (next === undefined) return at >= 0;
    setPointed(undefined);
    setFocused(next.key);
    elementOf(next.key)?.focus();
    return true;
  };
  useKeys('flow', (action) => {
    if (action === 'next') return step(1);
    return action === 'previous' ? step(-1) : false;
  });
  // A listener that may prevent scrolling has to declare that when it is added.
  const wheel = useRef(onWheel);
  wheel.current = onWheel;
  useEffect(() => {
    const element = box.current;
    const turned = (event: WheelEvent): void => {
      const { left, width: wide } = element?.getBoundingClientRect() ?? {
        left: 0,
        width: EDGE + 1,
      };
      wheel.current(event, Math.min(1, (event.clientX - left) / (wide - EDGE)));
    };
    element?.addEventListener('wheel', turned, { passive: false });
    return () => element?.removeEventListener('wheel', turned);
  }, []);

  const markAt = ({ target }: Event): Mark | undefined => {
    const key =
      target instanceof Element
        ? target.closest<SVGElement>('[data-mark]')?.dataset['mark']
        : undefined;
    return marks.find((one) => one.key === key);
  };
  // The shapes stay as they are while a pointer or the focus moves over them.
  const shapes = useMemo(() => {
    const byKey = new Map(marks.map((mark) => [mark.key, mark]));
    const around = (key: string, shape: JSX.Element): JSX.Element => {
      const mark = byKey.get(key);
      return (
        <a
          key={key}
          data-mark={key}
          tabindex={key === first ? 0 : -1}
          aria-label={mark === undefined ? '' : `${mark.words}. ${mark.more}`}
          href={mark === undefined ? '#' : addressOf(mark)}
        >
          {shape}
        </a>
      );
    };
    return [
      ...picture.bars.map((bar) => around(barKey(bar), <BarShape bar={bar} />)),
      ...picture.arrows.map((arrow) => around(arrowKey(arrow), <ArrowShape arrow={arrow} />)),
    ];
  }, [picture, marks, first]);
  const grid = useMemo(
    () => <Grid picture={picture} span={{ from, to }} width={width} />,
    [picture, from, to, width],
  );
  return (
    <div class="timeline">
      <ul class="plain lanes" aria-label="Lanes">
        {picture.lanes.map(({ name, hosts, height }) => (
          <li key={name} style={{ height: `${String(height)}px` }}>
            <bdi class="who">{name}</bdi>
            <span class="dim">{hosts.join(', ')}</span>
          </li>
        ))}
        {picture.others > 0 && <li class="dim">and {picture.others} more names</li>}
      </ul>
      <div class="drawing">
        <svg
          ref={box}
          width={width}
          height={picture.height + AXIS}
          role="group"
          aria-label="Timeline: j and k or the arrow keys go through runs and messages, Enter opens one"
          onMouseOver={(event) => {
            setPointed(markAt(event)?.key);
          }}
          onMouseLeave={() => {
            setPointed(undefined);
          }}
          onFocusIn={(event) => {
            setInside(true);
            setFocused(markAt(event)?.key ?? focused);
          }}
          onFocusOut={() => {
            setInside(false);
          }}
          onKeyDown={(event) => {
            const by = ARROWS[event.key];
            const isPlain = !event.ctrlKey && !event.altKey && !event.metaKey && !event.shiftKey;
            if (by !== undefined && isPlain && step(by)) event.preventDefault();
          }}
          onClick={(event) => {
            const mark = markAt(event);
            if (mark?.relPath === undefined || event.ctrlKey || event.metaKey) return;
            event.preventDefault();
            go({ view: 'message', channel: mark.channel, relPath: mark.relPath });
          }}
        >
          {grid}
          {shapes}
        </svg>
        {shown !== undefined && (
          <p class={`tip${shown.x > width / 2 ? ' left' : ''}`} style={tipPlace(shown, width)}>
            <strong>{shown.words}</strong>
            <br />
            {shown.more}
          </p>
        )}
      </div>
    </div>
  );
}

function tipPlace({ x, y }: Mark, width: number): Record<string, string> {
  const top = `${String(y + 8)}px`;
  const at = Math.min(width, Math.max(0, x));
  return x > width / 2
    ? { top, right: `${String(width - at)}px` }
    : { top, left: `${String(at)}px` };
}

function addressOf({ channel, relPath }: Mark): string {
  return relPath === undefined
    ? pathOf({ view: 'channel', channel })
    : pathOf({ view: 'message', channel, relPath });
}
