import { isJsonObject } from '../../src/core/domain/json.ts';

/** Differences between two measurements, which may be below zero. */
const DIFFERENCES = /(?:Added|Growth)$/;

/** Figures that are counted, not measured. */
const COUNTS =
  /^(?:completed|failed|switched|wrongModelItems|doubleBilled|deltas|lost|duplicated|events|eventsAdded|bytes|historyBytes|historyBytesAdded|executions|exportGaps|gaps|finished|misplaced|rounds|runs|steps|readers|starts|idleRuns|sessions|messages)$/;

/** Lists the figures of a measurement that cannot be, each with its path: a time below zero, no number at all, a count with a fraction. */
export function impossibleFigures(figures: unknown, path = ''): string[] {
  if (typeof figures === 'number') return problemsOf(path, figures).map((problem) => `${path} is ${figures}, which is ${problem}`);
  if (Array.isArray(figures)) return figures.flatMap((one: unknown, index) => impossibleFigures(one, `${path}[${index}]`));
  if (!isJsonObject(figures)) return [];
  return Object.entries(figures).flatMap(([key, value]) => impossibleFigures(value, path === '' ? key : `${path}.${key}`));
}

function problemsOf(path: string, figure: number): string[] {
  const name =
    path
      .replaceAll(/\[\d+\]/g, '')
      .split('.')
      .at(-1) ?? '';
  if (!Number.isFinite(figure)) return ['no number'];
  if (figure < 0 && !DIFFERENCES.test(name)) return ['below zero'];
  return COUNTS.test(name) && !Number.isInteger(figure) ? ['no whole number'] : [];
}
