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
}

/** Shows many rows inside of a box that scrolls. At its end it stays there while rows are added. */
export function Windowed({ count, height, row, keyOf, label, version }: WindowedOptions): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [heights] = useState(() => new RowHeights(height));
  const [, setRound] = useState(0);
  const redraw = (): void => setRound((before) => before + 1);
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
          <Placed
            key={keyOf(index)}
            top={heights.topOf(index)}
            onHeight={(measured) => {
              if (heights.set(index, measured)) redraw();
            }}
          >
            {row(index)}
          </Placed>
        ))}
      </div>
    </div>
  );
}

function Placed({ top, onHeight, children }: { top: number; onHeight: (height: number) => void; children: JSX.Element }): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  const report = useRef(onHeight);
  report.current = onHeight;
  useEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    const watch = new ResizeObserver(() => report.current(current.offsetHeight));
    watch.observe(current);
    return () => watch.disconnect();
  }, []);
  return (
    <div class="placed" ref={element} style={{ transform: `translateY(${top}px)` }}>
      {children}
    </div>
  );
}
