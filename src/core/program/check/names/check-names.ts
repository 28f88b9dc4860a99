import { isReferenceName } from '../../references/reference.ts';
import { allSteps, type Outline, type OutlineStep, type OutlineUnit, textAt } from '../outline.ts';
import { type Problems, quoted } from '../problems.ts';

/** Names with a meaning of their own in references: the input of the program, the output of a step, the item of `forEach`. */
const RESERVED: readonly string[] = ['input', 'output', 'item'];

/** The most characters of a name. */
const MAX_LENGTH = 100;

/** Checks the names of the program, its units and steps, and the names of items. */
export function checkNames({ document, units }: Outline, problems: Problems): void {
  const name = textAt(document, 'name');
  const why = name === '' ? undefined : nameProblem(name);
  if (why !== undefined) problems.add('name', why);
  const known = new Map<string, string>();
  for (const unit of units) {
    checkName(unit, known, { noun: 'unit', problems });
    checkSteps(unit, problems);
  }
  for (const unit of units) checkItems(unit, known, problems);
}

function checkSteps({ steps }: OutlineUnit, problems: Problems): void {
  const known = new Map<string, string>();
  for (const step of allSteps(steps)) checkName(step, known, { noun: 'step', problems });
}

interface NameCheck {
  noun: string;
  problems: Problems;
}

function checkName({ name, path }: Pick<OutlineStep, 'name' | 'path'>, known: Map<string, string>, { noun, problems }: NameCheck): void {
  if (name === '') return;
  const why = nameProblem(name) ?? reservedProblem(name);
  if (why !== undefined) problems.add(`${path}.name`, why);
  const first = known.get(name);
  if (first === undefined) known.set(name, path);
  else problems.add(`${path}.name`, `${first} is also named ${quoted(name)}: give each ${noun} its own name`);
}

/** The name of an item hides steps and units of that name, and the items of blocks around it. */
function checkItems({ steps }: OutlineUnit, units: ReadonlyMap<string, string>, problems: Problems): void {
  const names = new Set([...allSteps(steps)].map(({ name }) => name));
  for (const step of allSteps(steps)) {
    if (step.kind !== 'forEach') continue;
    const item = itemName(step);
    const path = `${step.path}.forEach.as`;
    const why = nameProblem(item) ?? (item === 'item' ? undefined : reservedProblem(item));
    if (why !== undefined) problems.add(path, why);
    else if (item !== 'item' && (names.has(item) || units.has(item))) {
      problems.add(path, `${quoted(item)} is also the name of a ${names.has(item) ? 'step' : 'unit'}: give the item its own name`);
    }
    const outer = blocksAround(step).find((block) => block.kind === 'forEach' && itemName(block) === item);
    if (outer !== undefined) {
      problems.warn(step.path, `${quoted(item)} is also the item of ${quoted(outer.name)}, which is hidden here: name it with "as"`);
    }
  }
}

/** Returns the name of the item of a `forEach`. */
export function itemName({ body }: OutlineStep): string {
  return textAt(body, 'as') || 'item';
}

/** Lists the blocks around a step, the innermost first. */
export function blocksAround(step: OutlineStep): OutlineStep[] {
  const blocks: OutlineStep[] = [];
  for (let { block } = step.list; block !== undefined; { block } = block.list) blocks.push(block);
  return blocks;
}

function nameProblem(name: string): string | undefined {
  if (name.length > MAX_LENGTH) return `the name has ${name.length} characters: write at most ${MAX_LENGTH}`;
  if (isReferenceName(name) && !/\p{Cs}/u.test(name)) return undefined;
  return `${quoted(name)} cannot be a name: write one line without . [ ] { } and quotes, and without blanks at its ends`;
}

function reservedProblem(name: string): string | undefined {
  return RESERVED.includes(name) ? `${quoted(name)} has another meaning in references: choose another name` : undefined;
}
