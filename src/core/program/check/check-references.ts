import { isJsonObject, type JsonObject, type JsonValue } from '../../domain/json.ts';
import { propertiesOf, typesOf } from '../../json-schema/json-schema.ts';
import { parseTemplate, readReference, type Reference, referencesIn, withoutOutput } from '../references.ts';
import {
  allSteps,
  blocksAround,
  conditionsOf,
  type EndedUnits,
  itemName,
  objectAt,
  type Outline,
  type OutlineList,
  type OutlineStep,
  type OutlineUnit,
  textAt,
} from './outline.ts';
import { type Problems, quoted } from './problems.ts';

/** The place of a reference in the program. */
export interface Place {
  /** Absent for the program's output, which is resolved when all units have ended. */
  unit?: OutlineUnit | undefined;
  /** Absent for references of a unit itself. */
  step?: OutlineStep;
  visible: VisibleSteps;
  /** The step is this fallback or inside it, and may run before its own turn. */
  early?: EarlyFallback;
}

/** A step that may run before its turn, and the step whose fallback it is. */
export interface EarlyFallback {
  step: OutlineStep;
  of: OutlineStep;
}

/** The steps of a unit by name, and the steps visible after its end. */
interface UnitSteps {
  unit: OutlineUnit;
  byName: ReadonlyMap<string, OutlineStep>;
  atEnd: ReadonlySet<OutlineStep>;
}

/** Checks the references in one program, each at its place. */
export class PlaceCheck {
  readonly #document: Outline['document'];
  readonly #units: ReadonlyMap<string, UnitSteps>;
  readonly #ended: EndedUnits;
  readonly #problems: Problems;

  constructor({ document, units }: Outline, ended: EndedUnits, problems: Problems) {
    this.#document = document;
    this.#ended = ended;
    this.#problems = problems;
    // For duplicate names of units or steps, which are a separate problem, the first one is meant.
    this.#units = new Map(units.toReversed().map((unit) => [unit.name, stepsOf(unit)]));
  }

  /** Checks the references that a step needs before it does anything. */
  step(step: OutlineStep, place: Place): void {
    const { path, kind, body } = step;
    for (const condition of conditionsOf(step)) this.condition(condition.value, condition.path, place);
    for (const template of templatesAt(step, TEMPLATE_FIELDS)) this.template(template, place);
    if (kind === 'forEach') this.whole(textAt(body, 'in'), `${path}.forEach.in`, place);
    const wait = kind === 'sleep' ? textAt(body, 'for') : '';
    if (wait.includes('{{')) this.whole(wait, `${path}.sleep.for`, place);
  }

  /** Checks the references in all texts of a value. */
  template({ value, path }: Template, place: Place): void {
    for (const placed of referencesIn(value, path)) this.#check(placed.reference, placed.path, place);
    if (place.early !== undefined) return;
    const stray = strayBraces(value);
    if (stray !== undefined) this.#problems.warn(path, `${quoted(stray)} is not a reference, and stays unchanged`);
  }

  /** Checks a text that must be one reference. */
  whole(text: string, path: string, place: Place): void {
    if (text === '') return;
    const reference = readReference(text);
    if (reference !== undefined) return this.#check(reference, path, place);
    if (place.early === undefined) this.#problems.add(path, `${quoted(text)} is not a reference: write one such as "{{Step.items}}"`);
  }

  /** Checks the reference of a condition, if there is one. */
  condition(value: JsonValue | undefined, path: string, place: Place): void {
    if (isJsonObject(value) && typeof value['of'] === 'string') this.whole(value['of'], `${path}.of`, place);
  }

  /** Checks the texts of a unit whose references are resolved when the unit begins. */
  unit({ value, path }: OutlineUnit, place: Place): void {
    this.condition(value['when'], `${path}.when`, place);
    for (const template of pickTemplates(value, path, ['persona', 'context', 'instructions'])) this.template(template, place);
  }

  /** Checks the values of a step that are used literally. */
  literals(step: OutlineStep): void {
    for (const { value, path } of templatesAt(step, LITERAL_FIELDS)) {
      const [first] = referencesIn(value, path);
      if (first === undefined) continue;
      this.#problems.addUnlessLenient(path, `references are not resolved here: ${quoted(first.reference.written)} would stay unchanged`);
    }
  }

  #check(reference: Reference, path: string, place: Place): void {
    if (place.early !== undefined) return this.#inEarly(reference, path, place, place.early);
    const [first, second] = reference.path;
    if (first === 'input')
      return this.#field(reference, { schema: objectAt(this.#document, 'input'), rest: reference.path.slice(1) }, path);
    if (place.visible.hasItem(first)) return;
    const own = place.unit === undefined ? undefined : this.#units.get(place.unit.name);
    const step = own?.byName.get(first);
    const unit = this.#units.get(first);
    if (step !== undefined) {
      if (typeof second === 'string' && unit?.byName.has(second)) {
        const message = `${quoted(reference.written)} is the field ${quoted(second)} of the step ${quoted(first)}, not a step of the unit of that name`;
        this.#problems.warn(path, message);
      }
      this.#step(reference, { step, rest: reference.path.slice(1) }, { path, place });
    } else if (unit === undefined) this.#unknown(reference, path, place);
    else this.#inUnit(reference, unit, { path, place });
  }

  /** Checks a reference that begins with a unit's name. */
  #inUnit(reference: Reference, { unit, byName, atEnd }: UnitSteps, { path, place }: Located): void {
    const [first, second, ...rest] = reference.path;
    const step = typeof second === 'string' ? byName.get(second) : undefined;
    if (second === undefined) return this.#problems.addUnlessLenient(path, `${quoted(reference.written)} is a unit: name one of its steps`);
    if (step === undefined) {
      const message = `${quoted(reference.written)}: the unit ${quoted(first)} has no step ${quoted(String(second))}`;
      return this.#problems.unknownName(path, message, { written: String(second), known: byName.keys(), lenient: true });
    }
    if (unit === place.unit) return this.#step(reference, { step, rest }, { path, place });
    const why = this.#whyNotEnded(unit, place) ?? (atEnd.has(step) ? undefined : whyInvisible(step, undefined));
    if (why !== undefined) return this.#problems.addUnlessLenient(path, `${quoted(reference.written)}: ${why}`);
    this.#field(reference, { schema: outputSchema(step), rest: withoutOutput(rest) }, path);
  }

  /** Checks a reference to a step of the same unit. */
  #step(reference: Reference, { step, rest }: { step: OutlineStep; rest: readonly (string | number)[] }, { path, place }: Located): void {
    if (place.visible.has(step)) return this.#field(reference, { schema: outputSchema(step), rest: withoutOutput(rest) }, path);
    this.#problems.addUnlessLenient(path, `${quoted(reference.written)}: ${whyInvisible(step, place.step)}`);
  }

  /** Checks only whether the step that a reference names has run: everything else is checked in the step's own turn. */
  #inEarly(reference: Reference, path: string, { unit, step: at, visible }: Place, early: EarlyFallback): void {
    const [first, second] = reference.path;
    const own = unit === undefined ? undefined : this.#units.get(unit.name)?.byName;
    if (visible.hasItem(first)) return;
    const step = own?.get(first) ?? (first === unit?.name && typeof second === 'string' ? own?.get(second) : undefined);
    if (step === undefined || visible.has(step)) return;
    const when = `${early.step === at ? 'this step' : quoted(early.step.name)} runs as the fallback of ${quoted(early.of.name)}`;
    this.#problems.addUnlessLenient(path, `${quoted(reference.written)}: ${quoted(step.name)} may not have run when ${when}`);
  }

  #whyNotEnded(other: OutlineUnit, { unit }: Place): string | undefined {
    if (unit === undefined || this.#ended.endsBefore(other, unit)) return undefined;
    if (this.#ended.inOrder) return `the unit ${quoted(other.name)} runs after this one`;
    return `the unit ${quoted(other.name)} may not have ended: add it to "needs" of the unit ${quoted(unit.name)}`;
  }

  #field(reference: Reference, { schema, rest }: { schema: JsonValue; rest: readonly (string | number)[] }, path: string): void {
    const unknown = unknownField(schema, rest);
    if (unknown === undefined) return;
    const message = `${quoted(reference.written)}: ${unknown.message}`;
    this.#problems.unknownName(path, message, { written: unknown.written, known: unknown.known, lenient: true });
  }

  #unknown({ path: [first], written }: Reference, path: string, { unit, visible }: Place): void {
    const owner = unit === undefined ? [...this.#units.values()].find(({ byName }) => byName.has(first)) : undefined;
    if (owner !== undefined) {
      const message = `${quoted(written)}: name the unit of the step, as in "{{${owner.unit.name}.${first}}}"`;
      return this.#problems.addUnlessLenient(path, message);
    }
    const known = [...visible.names(), 'input', ...this.#units.keys()];
    this.#problems.unknownName(path, `${quoted(written)}: nothing is named ${quoted(first)} here`, {
      written: first,
      known,
      lenient: true,
    });
  }
}

/** The path of a reference in the document, and its place in the program. */
interface Located {
  path: string;
  place: Place;
}

function stepsOf(unit: OutlineUnit): UnitSteps {
  const steps = [...allSteps(unit.steps)].toReversed();
  return { unit, byName: new Map(steps.map((step) => [step.name, step])), atEnd: new Set(exportedSteps(unit.steps)) };
}

/** The schema of a step's output, as far as the document contains it. */
function outputSchema({ kind, body }: OutlineStep): JsonValue {
  if (kind !== 'ask' && kind !== 'human') return {};
  return Object.hasOwn(body, 'output') ? objectAt(body, 'output') : { type: 'string' };
}

/** Returns the beginning of the first text after braces without a reference. */
function strayBraces(value: JsonValue): string | undefined {
  if (typeof value === 'string') {
    const text = parseTemplate(value).find((part) => typeof part === 'string' && part.includes('{{'));
    return typeof text === 'string' ? text.slice(text.indexOf('{{')).slice(0, 30) : undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  for (const member of Object.values(value)) {
    const stray = strayBraces(member);
    if (stray !== undefined) return stray;
  }
  return undefined;
}

/** Explains why a step is not visible to another step of its unit, or, without one, outside of its unit. */
function whyInvisible(step: OutlineStep, at: OutlineStep | undefined): string {
  const name = quoted(step.name);
  if (step === at) return 'a step cannot refer to itself';
  if (at !== undefined && blocksAround(at).includes(step)) return `the block ${name} has not ended inside itself`;
  const apart = at === undefined ? undefined : partingList(step, at);
  if (apart?.block?.kind === 'parallel') return `${name} runs in parallel with this step, in another branch of ${quoted(apart.block.name)}`;
  if (apart?.block?.kind === 'branch') return `${name} runs in another case of ${quoted(apart.block.name)}`;
  if (at !== undefined && step.order > at.order) return `${name} runs after this step`;
  const around = at === undefined ? [] : blocksAround(at);
  const hiding = blocksAround(step).findLast((block) => (block.kind === 'branch' || block.kind === 'forEach') && !around.includes(block));
  if (hiding === undefined) return `${name} may not have run`;
  const why = hiding.kind === 'branch' ? 'may not have run' : 'runs once for each item';
  return `${name} ${why}, and is not visible outside of ${quoted(hiding.name)}: refer to ${quoted(hiding.name)} instead`;
}

/** Returns the list of the innermost block that contains both steps, in different lists. */
function partingList(step: OutlineStep, at: OutlineStep): OutlineList | undefined {
  const around = listsAround(at);
  const blocks = new Set(blocksAround(at));
  for (let list: OutlineList | undefined = step.list; list?.block !== undefined; list = list.block.list) {
    if (around.has(list)) return undefined;
    if (blocks.has(list.block)) return list;
  }
  return undefined;
}

function listsAround(step: OutlineStep): Set<OutlineList> {
  const lists = new Set<OutlineList>();
  for (let list: OutlineList | undefined = step.list; list !== undefined; list = list.block?.list) lists.add(list);
  return lists;
}

/** A field that a schema rules out, or does not list although it lists fields. */
interface UnknownField {
  message: string;
  written: string;
  known: string[];
}

/** Keywords that can describe further fields, so that the list of properties is incomplete. */
const OPEN_KEYWORDS = [
  '$ref',
  'anyOf',
  'oneOf',
  'allOf',
  'if',
  'patternProperties',
  'prefixItems',
  'unevaluatedProperties',
  'dependentSchemas',
];

/**
 * Follows a path in the values that a schema describes. Returns the first name or index without a value there. A schema with listed fields
 * has no others, unless it allows them with `additionalProperties`: otherwise no misspelt field would be noticed.
 */
function unknownField(schema: JsonValue, path: readonly (string | number)[]): UnknownField | undefined {
  let current = schema;
  for (const segment of path) {
    if (!isJsonObject(current) || OPEN_KEYWORDS.some((keyword) => keyword in (current as JsonObject))) return undefined;
    const types = typesOf(current);
    const needed = typeof segment === 'number' ? 'array' : 'object';
    if (types.length > 0 && !types.includes(needed)) {
      const what = typeof segment === 'number' ? `item ${segment}` : `field ${quoted(segment)}`;
      return { message: `there is no ${what} in a value of the type ${types.join(' or ')}`, written: '', known: [] };
    }
    if (typeof segment === 'number') {
      current = current['items'] ?? true;
      continue;
    }
    const properties = propertiesOf(current);
    const { additionalProperties } = current;
    const own = Object.hasOwn(properties, segment) ? properties[segment] : undefined;
    if (own === undefined && additionalProperties !== undefined && additionalProperties !== false) return undefined;
    if (own === undefined && Object.keys(properties).length === 0 && additionalProperties !== false) return undefined;
    if (own === undefined) {
      return { message: `there is no field ${quoted(segment)}`, written: segment, known: Object.keys(properties) };
    }
    current = own;
  }
  return undefined;
}

/**
 * The steps that have run at a place in a unit, and the items that have a name there. Each list of steps has its own, nested in its
 * block's.
 */
export class VisibleSteps {
  readonly steps = new Set<OutlineStep>();
  readonly #outer: VisibleSteps | undefined;
  readonly #item: string | undefined;

  constructor(outer?: VisibleSteps, forEach?: OutlineStep) {
    this.#outer = outer;
    this.#item = forEach === undefined ? undefined : itemName(forEach);
  }

  /** True if the step has run, or been skipped. */
  has(step: OutlineStep): boolean {
    return this.steps.has(step) || (this.#outer?.has(step) ?? false);
  }

  hasItem(name: string): boolean {
    return this.#item === name || (this.#outer?.hasItem(name) ?? false);
  }

  /** The names that a reference can begin with here. */
  *names(): Generator<string> {
    for (const { name } of this.steps) yield name;
    if (this.#item !== undefined) yield this.#item;
    if (this.#outer !== undefined) yield* this.#outer.names();
  }
}

/** Lists the steps that are visible after a list of steps: those of the list itself, and those inside blocks that certainly run them. */
export function exportedSteps(steps: readonly OutlineStep[]): OutlineStep[] {
  return steps.flatMap((step) => {
    const isOpen = step.kind === 'parallel' || step.kind === 'repeat';
    return [step, ...(isOpen ? step.lists.flatMap((list) => exportedSteps(list.steps)) : [])];
  });
}

/** A value in which references are resolved, and its path in the document. */
interface Template {
  value: JsonValue;
  path: string;
}

/** The fields in which references are resolved, by the step's kind. */
const TEMPLATE_FIELDS: Readonly<Record<string, readonly string[]>> = {
  ask: ['prompt'],
  tool: ['arguments'],
  agent: ['input', 'deps'],
  program: ['input'],
  human: ['question'],
  remember: ['key', 'value', 'metadata'],
  recall: ['query'],
};

/** The fields that are used literally, although an author may expect references to be resolved there. */
const LITERAL_FIELDS: Readonly<Record<string, readonly string[]>> = {
  ask: ['model', 'type', 'effort', 'tools'],
  tool: ['name'],
  agent: ['name'],
  program: ['name'],
  remember: ['scope'],
  recall: ['scope'],
};

function templatesAt({ kind, body, path }: OutlineStep, names: Readonly<Record<string, readonly string[]>>): Template[] {
  return kind === undefined ? [] : pickTemplates(body, `${path}.${kind}`, names[kind] ?? []);
}

function pickTemplates(object: JsonObject, path: string, keys: readonly string[]): Template[] {
  return keys.flatMap((key) => {
    const value = Object.hasOwn(object, key) ? object[key] : undefined;
    return value === undefined ? [] : [{ value, path: `${path}.${key}` }];
  });
}
