import { type Outline, textsAt } from '../outline.ts';
import { type Problems, quoted } from '../problems.ts';
import type { EndedUnits } from './ended-units.ts';

/** The most units of a cycle that a message names. */
const MAX_SHOWN = 20;

/** Checks the needs of units: each names another unit, and none waits for itself. */
export function checkNeeds({ units }: Outline, { cycle }: EndedUnits, problems: Problems): void {
  const names = new Set(units.map(({ name }) => name));
  for (const { value, path, name } of units) {
    for (const { text, index } of textsAt(value, 'needs')) {
      const at = `${path}.needs[${index}]`;
      if (text === name) problems.add(at, `the unit ${quoted(text)} cannot need itself`);
      else if (!names.has(text)) problems.unknownName(at, `no unit is named ${quoted(text)}`, { written: text, known: names });
    }
  }
  const [first] = cycle;
  if (first === undefined) return;
  const way = cycle.length > MAX_SHOWN ? [...cycle.slice(0, MAX_SHOWN).map(({ name }) => name), '...'] : cycle.map(({ name }) => name);
  problems.add(`${first.path}.needs`, `units need each other in a cycle: ${[...way, first.name].join(' > ')}`);
}
