import { allSteps, isBlock, type ProgramDocument } from '../../../src/core/domain/program-document.ts';
import type { Pass } from '../pass.ts';

/** The steps where no run can be hit. A block is hit at the steps inside it. */
export function stepsWithoutPoint(document: ProgramDocument, points: readonly string[]): string[] {
  const steps = allSteps(document).filter(({ step }) => !isBlock(step));
  const addresses = steps.map(({ unit, step }) => `${unit.name}.${step.name}`);
  // A point ends with the address, the index of an item or round, or the number of the attempt.
  return addresses.filter((address) => !points.some((point) => point.split(/[ [:]/).includes(address)));
}

/**
 * A sample of the points: in the pass of the workers one point of each step, and one of each other thing that happens, also in
 * children; in the pass of the servers another point of every third of them.
 */
export function samplePoints(points: readonly string[], pass: Pass): string[] {
  const groups = [...Map.groupBy(points, subjectOf).values()];
  const isWorker = pass === 'worker';
  const chosen = groups.filter((_, index) => isWorker || index % 3 === 0);
  const sampled = new Set(chosen.map((group, index) => group[(index + (isWorker ? 0 : 1)) % group.length]));
  return points.filter((point) => sampled.has(point));
}

/** The thing that a point belongs to: a step in all its items, rounds and attempts, or what else the point names. */
function subjectOf(point: string): string {
  const [, child = '', name = ''] = /^(.+: )?(.+)$/.exec(point) ?? [];
  const [last = ''] = name
    .replace(/ #\d+$/, '')
    .split(' ')
    .slice(-1);
  return `${child}${last.replace(/\[.*$|#\d+$/, '').replace(/\.review$/, '')}`;
}
