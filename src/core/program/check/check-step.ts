import { errorMessage } from '../../domain/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../domain/json.ts';
import { BLOCKS, STEP_KINDS } from '../../domain/program-document.ts';
import { type Duration, milliseconds } from '../../domain/time.ts';
import { checkCondition, checkPart, checkSchema } from './check-schema.ts';
import { allSteps, conditionsOf, objectAt, type OutlineList, type OutlineStep, textAt, textsAt } from './outline.ts';
import { type Problems, quoted } from './problems.ts';
import { fields, KIND_SCHEMAS, STEP_FIELDS, TEXT } from './program-schema.ts';

/** The schema of a step without its kinds, which are checked each with its own. */
const STEP_PART = fields({ name: TEXT }, { ...STEP_FIELDS, ...Object.fromEntries(STEP_KINDS.map((kind) => [kind, {}])) });

/** Checks the fields of a step and their types: of its kind, and of the step around it. */
export function checkStepShape({ value, path }: OutlineStep, problems: Problems): void {
  const kinds = STEP_KINDS.filter((kind) => Object.hasOwn(value, kind));
  const [kind] = kinds;
  if (kind === undefined) problems.add(path, `the step has no kind: write one of ${STEP_KINDS.join(', ')}`);
  if (kinds.length > 1) problems.add(path, `the step has ${kinds.length} kinds, ${kinds.map(quoted).join(' and ')}: make a step of each`);
  checkPart(STEP_PART, { value, path }, problems);
  for (const one of kinds) {
    const body = value[one] ?? null;
    const schema = KIND_SCHEMAS[one];
    if (isJsonObject(body)) checkPart(schema, { value: body, path: `${path}.${one}` }, problems);
    else checkPart({ type: 'object' }, { value: body, path: `${path}.${one}` }, problems);
  }
}

/** Checks the JSON Schemas of a step: of its output, and of conditions. */
export function checkStepSchemas(step: OutlineStep, problems: Problems): void {
  const { kind, body, path } = step;
  for (const condition of conditionsOf(step)) checkCondition(condition.value, condition.path, problems);
  if (kind === 'repeat') checkCondition(body['until'], `${path}.repeat.until`, problems);
  if (kind === 'ask' || kind === 'human') checkSchema(body['output'], `${path}.${kind}.output`, problems);
}

/** Options that a block cannot have: its steps have them. */
const NOT_FOR_BLOCKS = ['refine', 'timeout', 'approval', 'review'];

/** Checks what the types of the fields of a step do not say: durations, the rules of attempts, and lists that are empty. */
export function checkStepSettings(step: OutlineStep, problems: Problems): void {
  const { value, kind, body, path, lists } = step;
  checkDuration(value, 'timeout', { path, problems });
  for (const option of ['approval', 'review']) {
    checkDuration(objectAt(value, option), 'deadline', { path: `${path}.${option}`, problems });
  }
  if (kind === undefined) return;
  const inside = { path: `${path}.${kind}`, problems };
  if (kind === 'human') checkDuration(body, 'deadline', inside);
  if (kind === 'sleep' && !textAt(body, 'for').includes('{{')) checkDuration(body, 'for', inside);
  if (kind === 'agent' || kind === 'program' || kind === 'ask')
    checkDuration(objectAt(body, 'limits'), 'deadline', { path: `${path}.${kind}.limits`, problems });
  if (kind === 'ask') checkAsk(body, `${path}.ask`, problems);
  for (const list of lists) if (list.isGiven && list.steps.length === 0) problems.add(list.path, 'the list has no step');
  if (isBlock(kind)) {
    for (const option of NOT_FOR_BLOCKS) {
      if (option in value)
        problems.add(`${path}.${option}`, `a block of the kind "${kind}" cannot have "${option}": write it at its steps`);
    }
  }
  checkFallback(step, problems);
}

function checkAsk(body: JsonObject, path: string, problems: Problems): void {
  checkRange(objectAt(body, 'range'), `${path}.range`, problems);
  const names = textsAt(body, 'tools');
  for (const { text, index } of names) {
    const first = names.findIndex((one) => one.text === text);
    if (first < index) problems.add(`${path}.tools[${index}]`, `the tool ${quoted(text)} is there twice`);
  }
  if ('limits' in body && !('tools' in body)) {
    problems.add(`${path}.limits`, 'one model call has no separate limits: write them with "tools", or "limits" of the program');
  }
}

function checkFallback({ value, name, path, list }: OutlineStep, problems: Problems): void {
  const refine = objectAt(value, 'refine');
  const fallback = textAt(refine, 'fallback');
  const isFallback = refine['onExhaustion'] === 'fallback';
  if (isFallback && !('fallback' in refine))
    problems.addUnlessLenient(`${path}.refine`, '"onExhaustion" is "fallback": name a step in "fallback"');
  if (fallback === '') return;
  const at = `${path}.refine.fallback`;
  if (!isFallback) problems.addUnlessLenient(at, 'the fallback is never taken: write "onExhaustion": "fallback" too');
  const target = list.steps.find((step) => step.name === fallback);
  if (fallback === name) problems.add(at, 'a step cannot be its own fallback');
  else if (target === undefined) {
    const known = list.steps.map((step) => step.name);
    problems.unknownName(at, `no step of the same list is named ${quoted(fallback)}`, {
      written: fallback,
      known,
      lenient: !isStepOfUnit(list, fallback),
    });
  } else if (fallbacksFrom(target).includes(name)) problems.add(at, `${quoted(fallback)} falls back to this step in turn`);
}

/** True if any list of the unit of a list has a step of that name. */
function isStepOfUnit(list: OutlineList, name: string): boolean {
  let outermost = list;
  while (outermost.block !== undefined) outermost = outermost.block.list;
  return [...allSteps(outermost.steps)].some((step) => step.name === name);
}

/** Lists the names of the fallbacks of a step, each the fallback of the one before. */
function fallbacksFrom(step: OutlineStep): string[] {
  const byName = new Map(step.list.steps.map((one) => [one.name, one]));
  const names = new Set<string>();
  let current: OutlineStep | undefined = step;
  while (current !== undefined) {
    const next = textAt(objectAt(current.value, 'refine'), 'fallback');
    if (next === '' || names.has(next)) break;
    names.add(next);
    current = byName.get(next);
  }
  return [...names];
}

function checkRange({ min, max }: JsonObject, path: string, problems: Problems): void {
  if (typeof min === 'number' && typeof max === 'number' && min > max)
    problems.add(path, `"min" is ${min}, more than "max", which is ${max}`);
}

/** Checks a duration in words or milliseconds, if there is one. */
export function checkDuration(object: JsonObject, key: string, { path, problems }: { path: string; problems: Problems }): void {
  const value: JsonValue | undefined = Object.hasOwn(object, key) ? object[key] : undefined;
  if (typeof value !== 'number' && typeof value !== 'string') return;
  try {
    milliseconds(value as Duration, 'the duration');
  } catch (error) {
    problems.add(`${path}.${key}`, errorMessage(error));
  }
}

function isBlock(kind: string): boolean {
  return BLOCKS.some((block) => block === kind);
}
