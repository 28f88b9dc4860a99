import type { EndedUnits } from '../names/ended-units.ts';
import { objectAt, type Outline, type OutlineStep, type OutlineUnit, textAt } from '../outline.ts';
import type { Problems } from '../problems.ts';
import { type Place, PlaceCheck } from './place-check.ts';
import { literalsOf, templatesOf, unitTemplates } from './templates.ts';
import { exportedSteps, VisibleSteps } from './visible-steps.ts';

/** Checks that every reference of a program leads to what has certainly run, or was skipped, when the reference is resolved. */
export function checkReferences(outline: Outline, ended: EndedUnits, problems: Problems): void {
  const check = new PlaceCheck(outline, ended, problems);
  for (const unit of outline.units) checkUnit(unit, check);
  const { output } = outline.document;
  if (output !== undefined) check.template({ value: output, path: 'output' }, { visible: new VisibleSteps() });
}

function checkUnit(unit: OutlineUnit, check: PlaceCheck): void {
  const visible = new VisibleSteps();
  check.condition(unit.value['when'], `${unit.path}.when`, { unit, visible });
  for (const template of unitTemplates(unit)) check.template(template, { unit, visible });
  checkList(unit.steps, { unit, visible }, check);
}

/** Checks steps that run one after the other. Each one makes itself visible to those after it. */
function checkList(steps: readonly OutlineStep[], { unit, visible }: Place, check: PlaceCheck): void {
  for (const step of steps) {
    const place: Place = { unit, step, visible };
    checkOwn(step, place, check);
    for (const literal of literalsOf(step)) check.literal(literal);
    const fallback = laterFallback(step, steps);
    if (fallback !== undefined) checkOwn(fallback, { unit, step: fallback, visible, fallbackOf: step }, check);
    checkInside(step, place, check);
    for (const exported of exportedSteps([step])) visible.steps.add(exported);
  }
}

/** Checks what a step refers to before it does anything. */
function checkOwn(step: OutlineStep, place: Place, check: PlaceCheck): void {
  const { path, kind, body, value } = step;
  check.condition(value['when'], `${path}.when`, place);
  for (const template of templatesOf(step)) check.template(template, place);
  if (kind === 'forEach') check.whole(textAt(body, 'in'), `${path}.forEach.in`, place);
  const wait = kind === 'sleep' ? textAt(body, 'for') : '';
  if (wait.includes('{{')) check.whole(wait, `${path}.sleep.for`, place);
  if (kind === 'branch') for (const one of step.lists) check.condition(one.when, one.path.replace(/\.steps$/, '.when'), place);
}

function checkInside(step: OutlineStep, { unit, visible }: Place, check: PlaceCheck): void {
  for (const { steps } of step.lists) {
    const inside = new VisibleSteps(visible, step.kind === 'forEach' ? step : undefined);
    checkList(steps, { unit, visible: inside }, check);
    if (step.kind === 'repeat') check.condition(step.body['until'], `${step.path}.repeat.until`, { unit, step, visible: inside });
  }
}

/** Returns the fallback of a step that stands behind it, and so may run before its turn. */
function laterFallback(step: OutlineStep, steps: readonly OutlineStep[]): OutlineStep | undefined {
  const name = textAt(objectAt(step.value, 'refine'), 'fallback');
  return name === '' ? undefined : steps.find((other) => other.name === name && other.order > step.order);
}
