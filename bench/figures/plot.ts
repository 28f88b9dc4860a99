/** A line of a plot. */
export interface Series {
  label: string;
  color: string;
  points: readonly { x: number; y: number }[];
  /** The reason why the line ends, written next to a cross at its last point. */
  end?: string;
}

/** A plot of lines. */
export interface Plot {
  title: string;
  subtitle: string;
  x: Axis;
  y: Axis;
  series: readonly Series[];
  /** A horizontal line across the plot, with its name. */
  level?: { y: number; label: string };
}

/** An axis: its name, its scale, and the format of its values. */
export interface Axis {
  label: string;
  scale: Scale;
  format: (value: number) => string;
}

const WIDTH = 880;
const HEIGHT = 460;
const LEFT = 78;
const RIGHT = 246;
const TOP = 64;
const BOTTOM = 56;
const LEGEND_LINE = 26;
const LEGEND_NOTE = 15;
const INK = '#1f2328';
const PALE_INK = '#59636e';
const GRID = '#e4e7eb';
const CROSS = 5;

const across = (share: number): number => LEFT + share * (WIDTH - LEFT - RIGHT);
const up = (share: number): number => HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);

/** The plot as an SVG image with a white background and a legend at its right in the order of the lines' ends. */
export function svgPlot(plot: Plot): string {
  const { title, subtitle, series } = plot;
  const byHeight = series.toSorted((left, right) => (right.points.at(-1)?.y ?? 0) - (left.points.at(-1)?.y ?? 0));
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" role="img" aria-label="${escaped(title)}">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    text({ x: LEFT, y: 28, size: 17, weight: 600 }, title),
    text({ x: LEFT, y: 48, size: 12.5, fill: PALE_INK }, subtitle),
    ...xAxis(plot.x),
    ...yAxis(plot.y),
    ...(plot.level === undefined ? [] : level(plot.level, plot.y)),
    ...series.toReversed().flatMap((one) => line(one, plot)),
    ...legend(byHeight),
    '</svg>',
  ].join('\n')}\n`;
}

function xAxis({ label, scale, format }: Axis): string[] {
  const middle = across(0.5);
  return [
    ...scale.ticks.map((tick) => text({ x: across(scale.place(tick)), y: up(0) + 19, anchor: 'middle', fill: PALE_INK }, format(tick))),
    text({ x: middle, y: HEIGHT - 14, anchor: 'middle' }, label),
  ];
}

function yAxis({ label, scale, format }: Axis): string[] {
  const grid = scale.ticks.flatMap((tick) => {
    const y = up(scale.place(tick));
    return [
      `<path d="M${point(across(0), y)}H${round(across(1))}" stroke="${tick === scale.ticks[0] ? PALE_INK : GRID}" fill="none"/>`,
      text({ x: LEFT - 9, y: y + 4, anchor: 'end', fill: PALE_INK }, format(tick)),
    ];
  });
  const y = up(0.5);
  return [...grid, `<g transform="rotate(-90 18 ${round(y)})">${text({ x: 18, y, anchor: 'middle' }, label)}</g>`];
}

function level({ y: value, label }: { y: number; label: string }, { scale }: Axis): string[] {
  const y = up(scale.place(value));
  return [
    `<path d="M${point(across(0), y)}H${round(across(1))}" stroke="${PALE_INK}" stroke-dasharray="5 4" fill="none"/>`,
    text({ x: across(0) + 8, y: y - 6, fill: PALE_INK }, label),
  ];
}

function line({ color, points, end }: Series, { x, y }: Plot): string[] {
  const places = points.map((one) => [across(x.scale.place(one.x)), up(y.scale.place(one.y))] as const);
  const last = places.at(-1);
  if (last === undefined) return [];
  const path = `<path d="M${places.map(([left, top]) => point(left, top)).join('L')}" stroke="${color}" stroke-width="2.2" stroke-linejoin="round" fill="none"/>`;
  if (end === undefined) return [path];
  const [left, top] = last;
  const cross = `M${point(left - CROSS, top - CROSS)}l${2 * CROSS} ${2 * CROSS}m0 ${-2 * CROSS}l${-2 * CROSS} ${2 * CROSS}`;
  return [path, `<path d="${cross}" stroke="${color}" stroke-width="2.6" fill="none"/>`];
}

function legend(series: readonly Series[]): string[] {
  const x = across(1) + 18;
  let y = TOP + 8;
  return series.flatMap(({ label, color, end }) => {
    const lines = [`<path d="M${point(x, y)}h20" stroke="${color}" stroke-width="3" fill="none"/>`, text({ x: x + 27, y: y + 4 }, label)];
    if (end !== undefined) lines.push(text({ x: x + 27, y: (y += LEGEND_NOTE) + 4, size: 11, fill: color }, `✕ ${end}`));
    y += LEGEND_LINE;
    return lines;
  });
}

interface TextStyle {
  x: number;
  y: number;
  size?: number;
  weight?: number;
  fill?: string;
  anchor?: 'start' | 'middle' | 'end';
}

function text({ x, y, size = 12, weight = 400, fill = INK, anchor = 'start' }: TextStyle, content: string): string {
  return `<text x="${round(x)}" y="${round(y)}" font-size="${size}" font-weight="${weight}" fill="${fill}" text-anchor="${anchor}">${escaped(content)}</text>`;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

function point(x: number, y: number): string {
  return `${round(x)} ${round(y)}`;
}

/** Tenths of a pixel are enough, and keep the file small. */
function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** The mapping of values to positions on an axis, and the values that are written next to it. */
interface Scale {
  /** From 0 (the low end) to 1. */
  place: (value: number) => number;
  ticks: number[];
}

/** The mantissas of round numbers. */
const ROUND = [1, 2, 5, 10];

/** From 0 to a round number not below `max`, with about this many ticks. `max` is above 0. */
export function linearScale(max: number, ticks: number): Scale {
  const rough = max / ticks;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = (ROUND.find((mantissa) => mantissa * power >= rough) ?? 10) * power;
  const count = Math.ceil(max / step - Number.EPSILON);
  return {
    place: (value) => value / (count * step),
    ticks: Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12))),
  };
}

/** Powers of ten from the one not above `min` to the one not below `max`; both are above 0. */
export function logScale(min: number, max: number): Scale {
  const low = Math.floor(Math.log10(min));
  const high = Math.max(low + 1, Math.ceil(Math.log10(max)));
  return {
    place: (value) => (Math.log10(value) - low) / (high - low),
    ticks: Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index)),
  };
}
