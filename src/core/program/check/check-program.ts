import { errorMessage } from '../../domain/errors.ts';
import { isJsonObject, isTooDeep, type JsonObject, type JsonValue } from '../../domain/json.ts';
import { clockMinutes } from '../../domain/quiet-hours.ts';
import { BLOCKS, PROGRAM_LIMITS, type ProgramDocument, STEP_KINDS } from '../../domain/program-document.ts';
import { utf8Length } from '../../domain/text.ts';
import { type Duration, milliseconds } from '../../domain/time.ts';
import { propertiesOf, typesOf } from '../../json-schema/json-schema.ts';
import { isReferenceName } from '../references.ts';
import { KnownCheck, type KnownNames } from './check-known.ts';
import { type EarlyFallback, exportedSteps, type Place, PlaceCheck, VisibleSteps } from './check-references.ts';
import { checkCondition, checkPart, checkSchema } from './check-schema.ts';
import {
  allSteps,
  blocksAround,
  conditionsOf,
  EndedUnits,
  itemName,
  objectAt,
  type Outline,
  type OutlineList,
  type OutlineStep,
  type OutlineUnit,
  readOutline,
  textAt,
  textsAt,
} from './outline.ts';
import { type Problem, Problems, quoted } from './problems.ts';
import { fields, KIND_SCHEMAS, PROGRAM_SCHEMA, STEP_FIELDS, TEXT, UNIT_SCHEMA } from './program-schema.ts';

/** The problems of a document. Without problems it is a program; warnings do not prevent it from running. */
export interface CheckedProgram {
  /** The problems that prevent the program from running. Empty if it may run. */
  problems: Problem[];
  /** Probable mistakes that do not prevent it from running. */
  warnings: Problem[];
  /** A copy of the document as plain JSON. Undefined if there are problems. */
  document: ProgramDocument | undefined;
}

/**
 * Checks a document in one walk over its units and steps: its fields against JSON Schemas, and then its meaning. Reports all problems at
 * once, each with its path. Never throws, and takes time in proportion to the document, for any value. `known`: the outside names that the
 * document may use.
 */
export function checkProgram(document: unknown, known: KnownNames = {}): CheckedProgram {
  const plain = plainDocument(document);
  if (!plain.ok) return { problems: [{ path: '', message: plain.message }], warnings: [], document: undefined };
  const problems = new Problems(plain.document['lenient'] === true);
  const outline = readOutline(plain.document, problems);
  new ProgramCheck(outline, known, problems).document();
  const found = problems.problems;
  return {
    problems: found,
    warnings: problems.warnings,
    document: found.length === 0 ? asProgram(plain.document) : undefined,
  };
}

/** A document without problems has the shape of a program. */
function asProgram(document: object): ProgramDocument {
  return document as ProgramDocument;
}

/** A document as plain JSON, or the reason why it is invalid. */
type PlainDocument = { ok: true; document: JsonObject } | { ok: false; message: string };

/**
 * Copies a document as the JSON that will be stored. Refuses a value that is not a JSON object, too large or nested too deeply. Never
 * throws.
 */
function plainDocument(value: unknown): PlainDocument {
  try {
    const { jsonLevels } = PROGRAM_LIMITS;
    if (isTooDeep(value, jsonLevels)) return notADocument(`the document is nested deeper than ${jsonLevels} levels`);
    const text = JSON.stringify(value);
    if (text === undefined) return notADocument(`expected an object, got ${typeof value}`);
    const bytes = utf8Length(text);
    if (bytes > PROGRAM_LIMITS.bytes) {
      return notADocument(`the document has ${bytes} bytes of JSON, more than ${PROGRAM_LIMITS.bytes}: split it into several programs`);
    }
    const document: unknown = JSON.parse(text);
    if (isJsonObject(document)) return { ok: true, document };
    return notADocument(`expected an object, got ${Array.isArray(document) ? 'array' : document === null ? 'null' : typeof document}`);
  } catch (error) {
    return notADocument(`the document is not JSON: ${errorMessage(error)}`);
  }
}

function notADocument(message: string): PlainDocument {
  return { ok: false, message };
}

/** The place of a list of steps. Its scope has the steps that a reference may name there; each step and each block extends it. */
interface ListPlace extends Place {
  unit: OutlineUnit;
  /** The steps of the unit by name. Duplicate names are a separate problem, and mean the first step. */
  names: ReadonlyMap<string, OutlineStep>;
}

/** The walk over a document, in order. Each part is checked in its place, with the scope there. */
class ProgramCheck {
  readonly #outline: Outline;
  readonly #problems: Problems;
  readonly #ended: EndedUnits;
  readonly #references: PlaceCheck;
  readonly #known: KnownCheck;
  readonly #units: ReadonlyMap<string, OutlineUnit>;

  constructor(outline: Outline, known: KnownNames, problems: Problems) {
    this.#outline = outline;
    this.#problems = problems;
    this.#ended = new EndedUnits(outline);
    this.#references = new PlaceCheck(outline, this.#ended, problems);
    this.#known = new KnownCheck(known, problems);
    this.#units = firstByName(outline.units);
  }

  document(): void {
    const { document, units } = this.#outline;
    const problems = this.#problems;
    checkPart(PROGRAM_PART, { value: document, path: '' }, problems);
    const name = textAt(document, 'name');
    this.#add('name', name === '' ? undefined : nameProblem(name));
    this.#known.model(textAt(document, 'model'), 'model');
    checkInputSchema(document['input'], problems);
    checkDuration(objectAt(document, 'limits'), 'deadline', { path: 'limits', problems });
    checkQuietHours(objectAt(document, 'quietHours'), problems);
    if (units.length === 0 && Array.isArray(document['units'])) problems.addUnlessLenient('units', 'the program has no unit');
    for (const unit of units) this.#unit(unit);
    const { output } = document;
    if (output !== undefined) this.#references.template({ value: output, path: 'output' }, { visible: new VisibleSteps() });
  }

  #unit(unit: OutlineUnit): void {
    const { value, path, steps } = unit;
    checkPart(UNIT_SCHEMA, { value, path }, this.#problems);
    this.#name(unit, 'unit', this.#units);
    this.#needs(unit);
    this.#known.anchors(value, path);
    const place: ListPlace = { unit, visible: new VisibleSteps(), names: firstByName([...allSteps(steps)]) };
    checkCondition(value['when'], `${path}.when`, this.#problems);
    this.#references.unit(unit, place);
    if (steps.length === 0 && Array.isArray(value['steps'])) this.#problems.addUnlessLenient(`${path}.steps`, 'the unit has no step');
    this.#list(steps, place);
  }

  /** Checks steps that run in order. Each one becomes visible to later ones. */
  #list(steps: readonly OutlineStep[], place: ListPlace): void {
    const fallbacks = earlyFallbacks(steps);
    for (const step of steps) {
      this.#step(step, place);
      for (const early of fallbacks.get(step) ?? []) this.#asFallback(early.step, { ...place, early });
      for (const exported of exportedSteps([step])) place.visible.steps.add(exported);
    }
  }

  #step(step: OutlineStep, list: ListPlace): void {
    const place = { ...list, step };
    checkStepShape(step, this.#problems);
    this.#name(step, 'step', list.names);
    this.#attemptName(step, list.names);
    this.#itemName(step, list.names);
    checkStepSchemas(step, this.#problems);
    checkStepSettings(step, this.#problems);
    this.#known.step(step, textAt(this.#outline.document, 'model') !== '');
    this.#references.step(step, place);
    this.#references.literals(step);
    for (const { steps } of step.lists) {
      const inside = { ...place, visible: new VisibleSteps(list.visible, step.kind === 'forEach' ? step : undefined) };
      this.#list(steps, inside);
      if (step.kind === 'repeat') this.#references.condition(step.body['until'], `${step.path}.repeat.until`, inside);
    }
  }

  /** Checks the references of a step, and of those inside it, in the place of the step that falls back to it. */
  #asFallback(step: OutlineStep, list: ListPlace): void {
    const place = { ...list, step };
    this.#references.step(step, place);
    for (const { steps } of step.lists) {
      const inside = { ...place, visible: new VisibleSteps(list.visible, step.kind === 'forEach' ? step : undefined) };
      for (const inner of steps) {
        this.#asFallback(inner, inside);
        for (const exported of exportedSteps([inner])) inside.visible.steps.add(exported);
      }
      if (step.kind === 'repeat') this.#references.condition(step.body['until'], `${step.path}.repeat.until`, inside);
    }
  }

  #name<One extends Pick<OutlineStep, 'name' | 'path'>>(one: One, noun: string, names: ReadonlyMap<string, One>): void {
    const { name, path } = one;
    if (name === '') return;
    this.#add(`${path}.name`, nameProblem(name) ?? reservedProblem(name));
    const first = names.get(name) ?? one;
    if (first !== one) this.#problems.add(`${path}.name`, `${first.path} is also named ${quoted(name)}: give each ${noun} its own name`);
  }

  /** The calls and runs of further attempts are named after the step and the attempt. */
  #attemptName({ name, path }: OutlineStep, names: ReadonlyMap<string, OutlineStep>): void {
    const [, step = '', attempt = ''] = /^(.+)#(\d+)$/u.exec(name) ?? [];
    if (attempt === '' || !names.has(step)) return;
    this.#problems.add(
      `${path}.name`,
      `${quoted(name)} is the name of attempt ${attempt} of the step ${quoted(step)}: choose another name`,
    );
  }

  /** The name of an item hides steps and units with the same name, and the items of outer blocks. */
  #itemName(step: OutlineStep, names: ReadonlyMap<string, OutlineStep>): void {
    if (step.kind !== 'forEach') return;
    const item = itemName(step);
    const path = `${step.path}.forEach.as`;
    const why = nameProblem(item) ?? (item === 'item' ? undefined : reservedProblem(item));
    if (why !== undefined) this.#problems.add(path, why);
    else if (item !== 'item' && (names.has(item) || this.#units.has(item))) {
      this.#problems.add(path, `${quoted(item)} is also the name of a ${names.has(item) ? 'step' : 'unit'}: give the item its own name`);
    }
    const outer = blocksAround(step).find((block) => block.kind === 'forEach' && itemName(block) === item);
    if (outer !== undefined) {
      this.#problems.warn(step.path, `${quoted(item)} is also the item of ${quoted(outer.name)}, which is hidden here: name it with "as"`);
    }
  }

  /** Checks that the units needed by a unit exist. A cycle is reported at its first unit. */
  #needs(unit: OutlineUnit): void {
    const { value, path, name } = unit;
    const { cycle } = this.#ended;
    if (cycle[0] === unit) this.#add(`${path}.needs`, cycleProblem(cycle));
    for (const { text, index } of textsAt(value, 'needs')) {
      const at = `${path}.needs[${index}]`;
      const known = this.#units.keys();
      if (text === name) this.#problems.add(at, `the unit ${quoted(text)} cannot need itself`);
      else if (!this.#units.has(text)) this.#problems.unknownName(at, `no unit is named ${quoted(text)}`, { written: text, known });
    }
  }

  #add(path: string, problem: string | undefined): void {
    if (problem !== undefined) this.#problems.add(path, problem);
  }
}

function firstByName<One extends { name: string }>(all: readonly One[]): Map<string, One> {
  return new Map(all.toReversed().map((one) => [one.name, one]));
}

function checkInputSchema(input: JsonValue | undefined, problems: Problems): void {
  checkSchema(input, 'input', problems);
  const types = input !== undefined && isJsonObject(input) ? typesOf(input) : [];
  if (types.length > 0 && !types.includes('object')) problems.add('input', 'the input of a program is an object: write "type": "object"');
}

/** The schema of a program, without the form of the times of its quiet hours, which are checked separately. */
const PROGRAM_PART: JsonObject = {
  ...PROGRAM_SCHEMA,
  properties: { ...propertiesOf(PROGRAM_SCHEMA), quietHours: fields({ from: TEXT, to: TEXT, zone: TEXT }) },
};

/** Quiet hours must have a length, and a zone that exists. A worker pins its offsets when a run begins. */
function checkQuietHours(quietHours: JsonObject, problems: Problems): void {
  for (const name of ['from', 'to']) {
    const time = textAt(quietHours, name);
    if (time === '' || clockMinutes(time) !== undefined) continue;
    problems.add(`quietHours.${name}`, `the time is ${quoted(time)}: write one from "00:00" to "23:59"`);
  }
  const [from, zone] = [textAt(quietHours, 'from'), textAt(quietHours, 'zone')];
  if (from !== '' && from === textAt(quietHours, 'to'))
    problems.add('quietHours', `they begin and end at ${quoted(from)}: write two times, or leave them out`);
  if (zone !== '' && !isZone(zone))
    problems.add('quietHours.zone', `no time zone is named ${quoted(zone)}: write its IANA name, such as "Europe/Berlin"`);
}

function isZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** The maximum number of units of a cycle in a message. */
const MAX_SHOWN_UNITS = 20;

/** A unit must not wait for itself. */
function cycleProblem(cycle: readonly OutlineUnit[]): string | undefined {
  const [first] = cycle;
  if (first === undefined) return undefined;
  const names = cycle.slice(0, MAX_SHOWN_UNITS).map(({ name }) => name);
  const way = [...names, ...(cycle.length > MAX_SHOWN_UNITS ? ['...'] : []), first.name];
  return `units need each other in a cycle: ${way.join(' > ')}`;
}

/**
 * Returns the steps of a list that may run before their turn, each as the fallback of another, by the earliest step in whose place they may
 * run: its later fallback, the fallback of that, and so on. An earlier fallback has run, and its output is taken.
 */
function earlyFallbacks(steps: readonly OutlineStep[]): ReadonlyMap<OutlineStep, EarlyFallback[]> {
  const byName = firstByName(steps);
  const nextOf = (step: OutlineStep): OutlineStep | undefined => byName.get(textAt(objectAt(step.value, 'refine'), 'fallback'));
  const found = new Map<OutlineStep, EarlyFallback[]>();
  const early = new Set<OutlineStep>();
  for (const first of steps) {
    const chain: EarlyFallback[] = [];
    let of = first;
    for (let step = nextOf(of); step !== undefined && step.order > first.order && !early.has(step); step = nextOf(of)) {
      early.add(step);
      chain.push({ step, of });
      of = step;
    }
    found.set(first, chain);
  }
  return found;
}

/** Names with a special meaning in references: the program's input, a step's output, the item of `forEach`. */
const RESERVED_NAMES: readonly string[] = ['input', 'output', 'item'];

/** The maximum characters of a name. */
const MAX_NAME_LENGTH = 100;

function nameProblem(name: string): string | undefined {
  if (name.length > MAX_NAME_LENGTH) return `the name has ${name.length} characters: write at most ${MAX_NAME_LENGTH}`;
  if (isReferenceName(name) && !/\p{Cs}/u.test(name)) return undefined;
  return `${quoted(name)} cannot be a name: write one line without . [ ] { } and quotes, and without blanks at its ends`;
}

function reservedProblem(name: string): string | undefined {
  return RESERVED_NAMES.includes(name) ? `${quoted(name)} has another meaning in references: choose another name` : undefined;
}

/** The schema of a step without its kinds, which are checked separately. */
const STEP_PART = fields({ name: TEXT }, { ...STEP_FIELDS, ...Object.fromEntries(STEP_KINDS.map((kind) => [kind, {}])) });

/** Checks the fields of a step and their types, both of its kind and of the step itself. */
function checkStepShape({ value, path }: OutlineStep, problems: Problems): void {
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

/** Checks the JSON Schemas of a step: of its output, and in conditions. */
function checkStepSchemas(step: OutlineStep, problems: Problems): void {
  const { kind, body, path } = step;
  for (const condition of conditionsOf(step)) checkCondition(condition.value, condition.path, problems);
  if (kind === 'repeat') checkCondition(body['until'], `${path}.repeat.until`, problems);
  if (kind === 'ask' || kind === 'human') checkSchema(body['output'], `${path}.${kind}.output`, problems);
}

/** Options that a block cannot have: its steps have them. */
const NOT_FOR_BLOCKS = ['refine', 'timeout', 'approval', 'review'];

/** Checks what types cannot express: durations, the rules of attempts, and empty lists. */
function checkStepSettings(step: OutlineStep, problems: Problems): void {
  const { value, kind, body, path, lists } = step;
  checkDuration(value, 'timeout', { path, problems });
  for (const option of ['approval', 'review']) {
    checkDuration(objectAt(value, option), 'deadline', { path: `${path}.${option}`, problems });
  }
  if (kind === undefined) return;
  const inside = { path: `${path}.${kind}`, problems };
  if ((kind === 'human' || kind === 'sleep') && 'timeout' in value) {
    const instead = kind === 'human' ? 'write "deadline" of "human"' : 'leave it out';
    problems.add(`${path}.timeout`, `a step of the kind "${kind}" only waits and has no "timeout": ${instead}`);
  }
  if (kind === 'human') {
    checkDuration(body, 'deadline', inside);
    if (body['onDeadline'] === 'approve')
      problems.add(`${path}.human.onDeadline`, 'a deadline cannot answer a question: leave "onDeadline" out, or write "reject"');
  }
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

/** True if any list in the unit of this list has a step of that name. */
function isStepOfUnit(list: OutlineList, name: string): boolean {
  let outermost = list;
  while (outermost.block !== undefined) outermost = outermost.block.list;
  return [...allSteps(outermost.steps)].some((step) => step.name === name);
}

/** Lists the chain of a step's fallbacks by name, each the fallback of the previous one. */
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

/** Checks an optional duration, as text or milliseconds. */
function checkDuration(object: JsonObject, key: string, { path, problems }: { path: string; problems: Problems }): void {
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
