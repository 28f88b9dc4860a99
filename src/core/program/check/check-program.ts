import { errorMessage } from '../../domain/errors.ts';
import { isJsonObject, isTooDeep, type JsonObject, type JsonValue } from '../../domain/json.ts';
import { BLOCKS, PROGRAM_LIMITS, type ProgramDocument, STEP_KINDS } from '../../domain/program-document.ts';
import { utf8Length } from '../../domain/text.ts';
import { type Duration, milliseconds } from '../../domain/time.ts';
import { propertiesOf, typesOf } from '../../json-schema/json-schema.ts';
import { parseTemplate, referencesIn, wholeReference } from '../references.ts';
import { exportedSteps, literalsOf, type Place, PlaceCheck, templatesOf, unitTemplates, VisibleSteps } from './check-references.ts';
import { addJsonProblems, checkConditionSchema, checkPart, checkSchema, type Part } from './check-schema.ts';
import {
  allSteps,
  checkNames,
  EndedUnits,
  listAt,
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

/** The problems of a document. Without problems it is a program, which warnings do not keep from running. */
export interface CheckedProgram {
  /** What keeps the program from running. Empty if it may. */
  problems: Problem[];
  /** What is probably a mistake, and does not keep it from running. */
  warnings: Problem[];
  /** A copy of the document as plain JSON. Undefined if there are problems. */
  document: ProgramDocument | undefined;
}

/**
 * Checks a document: its fields, its names, the places of its references, its schemas and settings, and the names of what `known`
 * lists. Reports all problems at once, each with its path. Never throws, and takes time in proportion to the document, for any value.
 */
export function checkProgram(document: unknown, known: KnownNames = {}): CheckedProgram {
  const plain = plainDocument(document);
  if (!plain.ok) return { problems: [{ path: '', message: plain.message }], warnings: [], document: undefined };
  const problems = new Problems(plain.document['lenient'] === true);
  const outline = readOutline(plain.document, problems);
  checkQuietHours(plain.document['quietHours'], problems);
  const ended = new EndedUnits(outline);
  checkShape(outline, problems);
  checkNames(outline, problems);
  checkNeeds(outline, ended, problems);
  checkReferences(outline, ended, problems);
  checkSchemas(outline, problems);
  checkSettings(outline, problems);
  checkKnown(outline, known, problems);
  const found = problems.problems;
  return {
    problems: found,
    warnings: problems.warnings,
    document: found.length === 0 ? asProgram(plain.document) : undefined,
  };
}

/** Checks that quiet hours have a length. */
function checkQuietHours(hours: JsonValue | undefined, problems: Problems): void {
  if (isJsonObject(hours) && typeof hours['from'] === 'string' && hours['from'] === hours['to'])
    problems.add('quietHours', `they begin and end at ${quoted(hours['from'])}: write two times, or leave them out`);
}

/** A document without problems has the shape of a program. */
function asProgram(document: object): ProgramDocument {
  return document as ProgramDocument;
}

/** The most units of a cycle that a message names. */
const MAX_SHOWN_UNITS = 20;

/** Checks the needs of units: each names another unit, and none waits for itself. */
function checkNeeds({ units }: Outline, { cycle }: EndedUnits, problems: Problems): void {
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
  const way =
    cycle.length > MAX_SHOWN_UNITS ? [...cycle.slice(0, MAX_SHOWN_UNITS).map(({ name }) => name), '...'] : cycle.map(({ name }) => name);
  problems.add(`${first.path}.needs`, `units need each other in a cycle: ${[...way, first.name].join(' > ')}`);
}

/** A document as plain JSON, or the reason why it is invalid. */
type PlainDocument = { ok: true; document: JsonObject } | { ok: false; message: string };

/** Copies a document as the JSON that will be stored. Refuses what is no JSON object, too large or nested too deeply. Never throws. */
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

/** Checks all JSON Schemas of a document: of the input, of outputs, and of conditions. */
function checkSchemas({ document, units }: Outline, problems: Problems): void {
  const { input } = document;
  checkSchema(input, 'input', problems);
  if (input !== undefined && isJsonObject(input)) {
    const types = typesOf(input);
    if (types.length > 0 && !types.includes('object')) problems.add('input', 'the input of a program is an object: write "type": "object"');
  }
  for (const { value, path, steps } of units) {
    checkCondition(value['when'], `${path}.when`, problems);
    for (const step of allSteps(steps)) checkStepSchemas(step, problems);
  }
}

function checkStepSchemas({ value, kind, body, path }: OutlineStep, problems: Problems): void {
  checkCondition(value['when'], `${path}.when`, problems);
  if (kind === 'ask' || kind === 'human') checkSchema(body['output'], `${path}.${kind}.output`, problems);
  if (kind === 'repeat') checkCondition(body['until'], `${path}.repeat.until`, problems);
  if (kind !== 'branch') return;
  for (const [index, one] of listAt(body, 'cases').entries()) {
    if (isJsonObject(one)) checkCondition(one['when'], `${path}.branch.cases[${index}].when`, problems);
  }
}

function checkCondition(condition: JsonValue | undefined, path: string, problems: Problems): void {
  if (condition !== undefined && isJsonObject(condition)) checkConditionSchema(condition['is'], `${path}.is`, problems);
}

/** The schema of a step without its kinds, which are checked each with its own. */
const STEP_PART = fields({ name: TEXT }, { ...STEP_FIELDS, ...Object.fromEntries(STEP_KINDS.map((kind) => [kind, {}])) });

/** Checks the fields of a document and their types. */
function checkShape({ document, units }: Outline, problems: Problems): void {
  checkPart(PROGRAM_SCHEMA, { value: document, path: '' }, problems);
  for (const { value, path, steps } of units) {
    checkPart(UNIT_SCHEMA, { value, path }, problems);
    for (const step of allSteps(steps)) checkStepShape(step, problems);
  }
}

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

/** Checks that every reference of a program leads to what has certainly run, or was skipped, when the reference is resolved. */
function checkReferences(outline: Outline, ended: EndedUnits, problems: Problems): void {
  const check = new PlaceCheck(outline, ended, problems);
  for (const unit of outline.units) checkUnitReferences(unit, check);
  const { output } = outline.document;
  if (output !== undefined) check.template({ value: output, path: 'output' }, { visible: new VisibleSteps() });
}

function checkUnitReferences(unit: OutlineUnit, check: PlaceCheck): void {
  const visible = new VisibleSteps();
  check.condition(unit.value['when'], `${unit.path}.when`, { unit, visible });
  for (const template of unitTemplates(unit)) check.template(template, { unit, visible });
  checkListReferences(unit.steps, { unit, visible }, check);
}

/** Checks steps that run one after the other. Each one makes itself visible to those after it. */
function checkListReferences(steps: readonly OutlineStep[], { unit, visible }: Place, check: PlaceCheck): void {
  for (const step of steps) {
    const place: Place = { unit, step, visible };
    checkStepReferences(step, place, check);
    for (const literal of literalsOf(step)) check.literal(literal);
    const fallback = laterFallback(step, steps);
    if (fallback !== undefined) checkStepReferences(fallback, { unit, step: fallback, visible, fallbackOf: step }, check);
    checkInnerSteps(step, place, check);
    for (const exported of exportedSteps([step])) visible.steps.add(exported);
  }
}

/** Checks what a step refers to before it does anything. */
function checkStepReferences(step: OutlineStep, place: Place, check: PlaceCheck): void {
  const { path, kind, body, value } = step;
  check.condition(value['when'], `${path}.when`, place);
  for (const template of templatesOf(step)) check.template(template, place);
  if (kind === 'forEach') check.whole(textAt(body, 'in'), `${path}.forEach.in`, place);
  const wait = kind === 'sleep' ? textAt(body, 'for') : '';
  if (wait.includes('{{')) check.whole(wait, `${path}.sleep.for`, place);
  if (kind === 'branch') for (const one of step.lists) check.condition(one.when, one.path.replace(/\.steps$/, '.when'), place);
}

function checkInnerSteps(step: OutlineStep, { unit, visible }: Place, check: PlaceCheck): void {
  for (const { steps } of step.lists) {
    const inside = new VisibleSteps(visible, step.kind === 'forEach' ? step : undefined);
    checkListReferences(steps, { unit, visible: inside }, check);
    if (step.kind === 'repeat') check.condition(step.body['until'], `${step.path}.repeat.until`, { unit, step, visible: inside });
  }
}

/** Returns the fallback of a step that stands behind it, and so may run before its turn. */
function laterFallback(step: OutlineStep, steps: readonly OutlineStep[]): OutlineStep | undefined {
  const name = textAt(objectAt(step.value, 'refine'), 'fallback');
  return name === '' ? undefined : steps.find((other) => other.name === name && other.order > step.order);
}

/** Options that a block cannot have: its steps have them. */
const NOT_FOR_BLOCKS = ['refine', 'timeout', 'approval', 'review'];

/** Checks what the types of fields do not say: durations, the rules of attempts, and lists that are empty. */
function checkSettings({ document, units }: Outline, problems: Problems): void {
  if (units.length === 0 && Array.isArray(document['units'])) problems.addUnlessLenient('units', 'the program has no unit');
  checkDuration(objectAt(document, 'limits'), 'deadline', { path: 'limits', problems });
  for (const unit of units) {
    if (unit.steps.length === 0 && Array.isArray(unit.value['steps']))
      problems.addUnlessLenient(`${unit.path}.steps`, 'the unit has no step');
    for (const step of allSteps(unit.steps)) checkStepSettings(step, problems);
  }
}

function checkStepSettings(step: OutlineStep, problems: Problems): void {
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

/** Checks that what a program names outside of itself is known, and that literal arguments fit. */
function checkKnown({ document, units }: Outline, known: KnownNames, problems: Problems): void {
  const check = new KnownCheck(known, problems);
  const model = textAt(document, 'model');
  check.model(model, 'model');
  for (const unit of units) {
    check.anchors(unit.value, unit.path);
    for (const step of allSteps(unit.steps)) check.step(step, model !== '');
  }
}

class KnownCheck {
  readonly #known: KnownNames;
  readonly #problems: Problems;
  readonly #tools: ByName<'tools'>;
  readonly #agents: ByName<'agents'>;
  readonly #programs: ByName<'programs'>;
  readonly #anchors: ByName<'anchors'>;

  constructor(known: KnownNames, problems: Problems) {
    this.#known = known;
    this.#problems = problems;
    this.#tools = itemsByName(known.tools);
    this.#agents = itemsByName(known.agents);
    this.#programs = itemsByName(known.programs);
    this.#anchors = itemsByName(known.anchors);
  }

  step({ kind, body, path }: OutlineStep, hasModel: boolean): void {
    const at = `${path}.${kind}`;
    const name = { text: textAt(body, 'name'), path: `${at}.name` };
    const lenientName = { ...name, lenient: true };
    switch (kind) {
      case 'ask':
        if (!hasModel && !('model' in body)) this.#problems.add(at, 'there is no model: write "model" here or at the program');
        this.model(textAt(body, 'model'), `${at}.model`);
        this.anchors(body, at);
        this.tools(body, at);
        return;
      case 'tool':
        return checkArguments(
          this.#find(this.#tools, 'tool', lenientName)?.schema,
          { value: body['arguments'] ?? {}, path: `${at}.arguments` },
          this.#problems,
        );
      case 'agent':
        return checkArguments(
          this.#find(this.#agents, 'agent', name)?.depsSchema,
          { value: body['deps'] ?? {}, path: `${at}.deps` },
          this.#problems,
        );
      case 'program':
        return checkArguments(
          this.#find(this.#programs, 'program', name)?.input,
          { value: body['input'] ?? {}, path: `${at}.input` },
          this.#problems,
        );
      case 'remember':
      case 'recall':
        if (this.#known.hasMemory === false) this.#problems.add(at, 'the worker has no memory: give it one with the option "memory"');
        return;
      default:
    }
  }

  /** Checks `provider/model`. */
  model(name: string, path: string): void {
    if (name === '') return;
    const slash = name.indexOf('/');
    if (slash <= 0 || slash === name.length - 1)
      return this.#problems.add(path, `the model ${quoted(name)} has no provider: write "provider/model"`);
    const provider = name.slice(0, slash);
    const { providers } = this.#known;
    if (providers === undefined || providers.includes(provider) || this.#known.isPartial === true) return;
    this.#problems.unknownName(path, `no provider of models is named ${quoted(provider)}`, { written: provider, known: providers });
  }

  anchors(value: OutlineStep['value'], path: string): void {
    for (const { text, index } of textsAt(value, 'anchors')) {
      this.#find(this.#anchors, 'anchor', { text, path: `${path}.anchors[${index}]`, lenient: true });
    }
  }

  tools(body: OutlineStep['body'], path: string): void {
    for (const { text, index } of textsAt(body, 'tools')) {
      this.#find(this.#tools, 'tool', { text, path: `${path}.tools[${index}]`, lenient: true });
    }
  }

  #find<One>(known: ReadonlyMap<string, One> | undefined, noun: string, { text, path, lenient = false }: NameAt): One | undefined {
    const found = known?.get(text);
    if (known === undefined || found !== undefined || text === '' || this.#known.isPartial === true) return found;
    this.#problems.unknownName(path, `no ${noun} is named ${quoted(text)}`, { written: text, known: known.keys(), lenient });
    return undefined;
  }
}

interface NameAt {
  text: string;
  path: string;
  lenient?: boolean;
}

type Item<Kind extends keyof KnownNames> = NonNullable<KnownNames[Kind]> extends readonly (infer One)[] ? One : never;
type ByName<Kind extends keyof KnownNames> = ReadonlyMap<string, Item<Kind>> | undefined;

function itemsByName<One extends { name: string }>(items: readonly One[] | undefined): ReadonlyMap<string, One> | undefined {
  return items === undefined ? undefined : new Map(items.map((item) => [item.name, item]));
}

/** Checks the literal parts of arguments against a schema. Values that references will have are not known: they fit. */
function checkArguments(schema: JsonObject | undefined, { value, path }: Part, problems: Problems): void {
  if (schema === undefined || !isJsonObject(value)) return;
  addJsonProblems(hasReferences(value) ? literalSchema(schema, value) : schema, { value, path }, problems);
}

/** The keywords that can be checked although parts of the value are not known yet. */
const KEPT_KEYWORDS = ['type', 'required', 'minProperties', 'maxProperties', 'minItems', 'maxItems', '$defs'];

/** Returns a schema that accepts any value where references are, and is as strict as the given one elsewhere. */
function literalSchema(schema: JsonObject, value: JsonValue): JsonObject {
  if (typeof value === 'string') return wholeReference(value) === undefined ? pickKeywords(schema, ['type']) : {};
  if ('$ref' in schema || typeof value !== 'object' || value === null) return {};
  const kept = pickKeywords(schema, KEPT_KEYWORDS);
  if (Array.isArray(value)) return kept;
  const properties = propertiesOf(schema);
  const inner = Object.entries(value).map(([key, member]): [string, JsonValue] => {
    const own = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (own === undefined || !isJsonObject(own) || !hasReferences(member)) return [key, own ?? {}];
    return [key, literalSchema(own, member)];
  });
  const isClosed = schema['additionalProperties'] === false && !('patternProperties' in schema);
  const known = isClosed ? inner.filter(([key]) => Object.hasOwn(properties, key)) : inner;
  return { ...kept, properties: Object.fromEntries(known), ...(isClosed ? { additionalProperties: false } : {}) };
}

function pickKeywords(schema: JsonObject, keywords: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => keywords.includes(keyword)));
}

function hasReferences(value: JsonValue): boolean {
  if (typeof value === 'string') return value.includes('{{') && parseTemplate(value).some((part) => typeof part !== 'string');
  return referencesIn(value).length > 0;
}

/** Everything that a program can name outside of itself. A list that is absent is not checked. */
export interface KnownNames {
  /** The tools with the schemas of their arguments. */
  tools?: readonly { name: string; schema?: JsonObject }[];
  /** The agents with the schemas of their deps. */
  agents?: readonly { name: string; depsSchema?: JsonObject }[];
  /** The programs with the schemas of their input. */
  programs?: readonly { name: string; input?: JsonObject }[];
  /** The anchors. */
  anchors?: readonly { name: string }[];
  /** The names of the providers of models. */
  providers?: readonly string[];
  /** False: there is no memory. */
  hasMemory?: boolean;
  /** True: the lists are not complete. Names that they lack are no problem, and arguments are checked where the schema is known. */
  isPartial?: boolean;
}
