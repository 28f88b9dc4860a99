import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { digits, TEXTS } from './texts.ts';

interface Amount {
  step: number;
  tokens: number;
  cost: number | undefined;
}

/** Returns a mark of the axis of costs, which is never written with an exponent. */
const costMark = (cost: number): string => `$${cost.toLocaleString('en', { maximumSignificantDigits: 4, useGrouping: false })}`;

/** Returns the pixels that the marks of an axis need: those of calls that cost little are long. */
const widthOf = (_: uPlot, marks: readonly string[] | null): number => Math.max(60, ...(marks ?? []).map(({ length }) => 14 + 7 * length));

/** Draws tokens and cost by step. Returns the end of it. */
export function drawChart(place: HTMLElement, amounts: readonly Amount[]): () => void {
  const hasCost = amounts.some(({ cost }) => cost !== undefined);
  const style = getComputedStyle(place);
  const [ink, first, second] = ['--dim', '--accent', '--ask'].map((name) => style.getPropertyValue(name).trim());
  const axis = { stroke: ink, grid: { stroke: style.getPropertyValue('--line').trim(), width: 1 }, ticks: { show: false } };
  const chart = new uPlot(
    {
      width: place.clientWidth || 320,
      height: 160,
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false }, tokens: {}, cost: {} },
      axes: [
        { ...axis, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000] },
        { ...axis, scale: 'tokens', size: 60, values: (_, all) => all.map(digits) },
        ...(hasCost
          ? [{ ...axis, scale: 'cost', side: 1 as const, size: widthOf, values: (_: uPlot, all: number[]) => all.map(costMark) }]
          : []),
      ],
      series: [
        {},
        { label: TEXTS.columns.tokens, scale: 'tokens', stroke: first, width: 2, points: { show: amounts.length < 60 } },
        ...(hasCost ? [{ label: TEXTS.columns.cost, scale: 'cost', stroke: second, width: 2, dash: [6, 4], points: { show: false } }] : []),
      ],
    },
    [
      amounts.map(({ step }) => step),
      amounts.map(({ tokens }) => tokens),
      ...(hasCost ? [amounts.map(({ cost }) => cost ?? null)] : []),
    ] as uPlot.AlignedData,
    place,
  );
  const watch = new ResizeObserver(() => chart.setSize({ width: place.clientWidth, height: 160 }));
  watch.observe(place);
  return () => {
    watch.disconnect();
    chart.destroy();
  };
}
