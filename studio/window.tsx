import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { RowHeights } from './heights.ts';

// Rows of which only those on the screen exist. All have the same height but for those that were measured, such as open ones.

/** Rows that are made beyond the edges of the screen. */
const BEYOND = 8;

interface WindowedOptions {
  /** The number of rows. */
  count: number;
  /** The height of a row that was not measured, in pixels. */
  height: number;
  row: (index: number) => JSX.Element;
  keyOf: (index: number) => string;
  label: string;
  /** Changes when rows were added at the end. */
  version: number;
  /** The row that its reader has come for. */
  at?: number | undefined;
}

/** Shows many rows inside of a box that scrolls. At its end it stays there while rows are added. */
export function Windowed({ count, height, row, keyOf, label, version, at }: WindowedOptions): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [heights] = useState(() => new RowHeights(height));
  const [, setRound] = useState(0);
  const redraw = (): void => setRound((before) => before + 1);
  const measure = useHeightsOfRows(heights, redraw);
  const atEnd = useRef(false);
  useLayoutEffect(() => {
    redraw();
    const watch = new ResizeObserver(redraw);
    if (box.current !== null) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => {
    const { current } = box;
    if (current !== null && atEnd.current) current.scrollTop = current.scrollHeight;
  }, [version]);
  useLayoutEffect(() => {
    const { current } = box;
    if (at === undefined || current === null) return;
    current.scrollIntoView({ block: 'nearest' });
    current.scrollTop = heights.topOf(at);
    redraw();
  }, [at]);
  const { scrollTop = 0, clientHeight = 800 } = box.current ?? {};
  const first = Math.max(0, heights.indexAt(scrollTop, count) - BEYOND);
  const last = Math.min(count, heights.indexAt(scrollTop + clientHeight, count) + 1 + BEYOND);
  const shown = Array.from({ length: Math.max(0, last - first) }, (_, index) => first + index);
  const onScroll = (): void => {
    const { current } = box;
    if (current !== null) atEnd.current = current.scrollTop + current.clientHeight > current.scrollHeight - 4;
    redraw();
  };
  return (
    <div class="windowed" ref={box} onScroll={onScroll} tabIndex={0} role="region" aria-label={label}>
      <div style={{ height: `${heights.topOf(count)}px` }}>
        {shown.map((index) => (
          <Placed key={keyOf(index)} index={index} top={heights.topOf(index)} measure={measure}>
            {row(index)}
          </Placed>
        ))}
      </div>
    </div>
  );
}

/** Watches the height of the element of a row. Returns the end of that. */
type Measure = (element: HTMLElement, index: number) => () => void;

/** Keeps the heights of rows as they are measured, by one observer for all rows: dozens of them come and go with each frame that scrolls. */
function useHeightsOfRows(heights: RowHeights, redraw: () => void): Measure {
  const [rows] = useState(() => new Map<Element, number>());
  const [watch] = useState(
    () =>
      new ResizeObserver((entries) => {
        const changed = entries.filter(({ target }) => {
          const index = rows.get(target);
          return index !== undefined && heights.set(index, (target as HTMLElement).offsetHeight);
        });
        if (changed.length > 0) redraw();
      }),
  );
  useEffect(() => () => watch.disconnect(), []);
  const [measure] = useState(() => (element: HTMLElement, index: number) => {
    rows.set(element, index);
    watch.observe(element);
    return () => {
      rows.delete(element);
      watch.unobserve(element);
    };
  });
  return measure;
}

interface PlacedOptions {
  index: number;
  top: number;
  measure: Measure;
  children: JSX.Element;
}

function Placed({ index, top, measure, children }: PlacedOptions): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => (element.current === null ? undefined : measure(element.current, index)), [index]);
  return (
    <div class="placed" ref={element} style={{ transform: `translateY(${top}px)` }}>
      {children}
    </div>
  );
}
