import { isJsonObject, type JsonObject, type JsonValue, memberPath } from '../domain/json.ts';
import type { ConditionDocument, ProgramDocument } from '../domain/program-document.ts';
import { checkJson } from '../json-schema/check-json-schema.ts';
import type { ProgramState } from '../domain/program-run.ts';
import { addressText, indexOf, type Loop, parseAddress, type ProgramIndex, type StepAddress } from './program-index.ts';

/** Returns the value that a reference leads to. */
export type Lookup = (reference: Reference) => Found;

/** A template with resolved references, or the reason why that is impossible. */
type Resolved<Value> = { ok: true; value: Value } | { ok: false; reference: string; problem: string };

/** How to treat references without a value. */
interface ResolveOptions {
  /** True: they stay as written. Otherwise the first one is the problem. */
  lenient?: boolean | undefined;
}

/** The maximum characters inserted by the references of one template: a document can reference the same long value any number of times. */
const MAX_INSERTED = 4_000_000;

/**
 * Replaces the references of a text in one pass: braces in an inserted value remain text. A text is inserted unchanged, and any other value
 * as JSON: null as `null`, lists and objects without spaces.
 */
export function interpolate(template: string, lookup: Lookup, options: ResolveOptions = {}): Resolved<string> {
  return resolvedOrProblem(() => interpolated(template, new Insertions(lookup, options)));
}

/**
 * Resolves the references in all texts of a value, including in lists and objects, but not in keys. A text that is one whole reference
 * becomes the value with its type; any other text is interpolated.
 */
export function resolveValue(value: JsonValue, lookup: Lookup, options: ResolveOptions = {}): Resolved<JsonValue> {
  return resolvedOrProblem(() => resolved(value, new Insertions(lookup, options)));
}

/** Returns the text that represents a value in a template. */
export function insertedText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

class Unresolved extends Error {
  readonly reference: string;

  constructor({ written }: Reference, problem: string) {
    super(problem);
    this.reference = written;
  }
}

function resolvedOrProblem<Value>(resolve: () => Value): Resolved<Value> {
  try {
    return { ok: true, value: resolve() };
  } catch (error) {
    if (error instanceof Unresolved) return { ok: false, reference: error.reference, problem: error.message };
    throw error;
  }
}

/** Looks up references, and bounds the total characters that they insert. */
class Insertions {
  readonly #lookup: Lookup;
  readonly #isLenient: boolean;
  #inserted = 0;

  constructor(lookup: Lookup, { lenient = false }: ResolveOptions) {
    this.#lookup = lookup;
    this.#isLenient = lenient;
  }

  at(reference: Reference): { value: JsonValue; text: string } {
    const found = this.#lookup(reference);
    if (!found.found && !this.#isLenient) {
      throw new Unresolved(reference, `the reference "${reference.written}" leads to no value`);
    }
    const value = found.found ? found.value : reference.written;
    const text = insertedText(value);
    this.#inserted += text.length;
    if (this.#inserted <= MAX_INSERTED) return { value, text };
    throw new Unresolved(reference, `the references up to "${reference.written}" insert more than ${MAX_INSERTED} characters`);
  }
}

function interpolated(template: string, insertions: Insertions): string {
  return parseTemplate(template)
    .map((part) => (typeof part === 'string' ? part : insertions.at(part).text))
    .join('');
}

function resolved(value: JsonValue, insertions: Insertions): JsonValue {
  if (typeof value === 'string') {
    const whole = wholeReference(value);
    return whole === undefined ? interpolated(value, insertions) : insertions.at(whole).value;
  }
  if (Array.isArray(value)) return value.map((item) => resolved(item, insertions));
  return isJsonObject(value) ? resolvedObject(value, insertions) : value;
}

function resolvedObject(object: JsonObject, insertions: Insertions): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, member]) => [key, resolved(member, insertions)]));
}

/** True if the value of the reference fits the schema. False for a reference without a value. */
export function conditionHolds({ of, is }: ConditionDocument, lookup: Lookup): boolean {
  const reference = readReference(of);
  const found = reference === undefined ? undefined : lookup(reference);
  return found?.found === true && checkJson(is, found.value).length === 0;
}

/** The value that a reference leads to, if any. */
type Found = { found: true; value: JsonValue } | { found: false };

const NOTHING: Found = { found: false };

/**
 * Follows the names and indexes of a path inside a value. A name is an own key of an object, and an index a place in a list; texts have
 * neither. A path into null leads to null: a step that was skipped, or found nothing, has no parts.
 */
export function valueAt(value: JsonValue, path: readonly (string | number)[]): Found {
  let current = value;
  for (const segment of path) {
    if (current === null) return { found: true, value: null };
    if (typeof current !== 'object') return NOTHING;
    if (Array.isArray(current) !== (typeof segment === 'number') || !Object.hasOwn(current, segment)) return NOTHING;
    current = (current as Record<string | number, JsonValue>)[segment] ?? null;
  }
  return { found: true, value: current };
}

/**
 * Follows the part of a reference after a step's name inside the step's output. The name `output` directly after the step's name always
 * means the output itself, regardless of the value: `{{Step.output}}` is the whole output, `{{Step.output.score}}` and `{{Step.score}}` are
 * its key `score`, and `{{Step.output.output}}` is its key `output`.
 */
export function outputAt(output: JsonValue, path: readonly (string | number)[]): Found {
  return valueAt(output, withoutOutput(path));
}

/** Removes a leading `output` from the part of a reference after a step's name. */
export function withoutOutput(path: readonly (string | number)[]): readonly (string | number)[] {
  return path[0] === 'output' ? path.slice(1) : path;
}

/** A reference, and the path of the text that contains it. */
interface PlacedReference {
  reference: Reference;
  path: string;
}

/** Lists the references in all texts of a value, in order. `path` leads to the value in its document. */
export function referencesIn(value: JsonValue | undefined, path = ''): PlacedReference[] {
  if (typeof value === 'string') {
    return parseTemplate(value).flatMap((part) => (typeof part === 'string' ? [] : [{ reference: part, path }]));
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => referencesIn(item, memberPath(path, index)));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) => referencesIn(member, memberPath(path, key)));
}

/** A part of a template: unchanged text or a reference. */
type TemplatePart = string | Reference;

/** Splits a template into texts and references. Braces without a reference remain text. Takes time in proportion to the template. */
export function parseTemplate(template: string): TemplatePart[] {
  const parts: TemplatePart[] = [];
  let from = 0;
  for (let at = template.indexOf('{{'); at >= 0; at = template.indexOf('{{', at)) {
    const reference = referenceAt(template, at);
    if (reference === undefined) {
      at += 1;
      continue;
    }
    if (at > from) parts.push(template.slice(from, at));
    parts.push(reference);
    at += reference.written.length;
    from = at;
  }
  if (from < template.length) parts.push(template.slice(from));
  return parts;
}

/** Returns the reference if the template is exactly one reference, or undefined. */
export function wholeReference(template: string): Reference | undefined {
  const reference = referenceAt(template, 0);
  return reference?.written === template ? reference : undefined;
}

/** A reference to a value: the names and indexes that lead to it. */
export interface Reference {
  /** The text as written in the document, such as `{{ Step.output.items[0] }}`. */
  written: string;
  /** The names and list indexes: `['Step', 'output', 'items', 0]`. The first is a name. */
  path: readonly [string, ...(string | number)[]];
}

/** The maximum characters of a reference between its braces. */
const MAX_REFERENCE_LENGTH = 500;

/** A name in a reference: any text without separators. */
const NAME = /[^.[\]{}"\p{Cc}]+/uy;

/** `.name`, `[0]`, or `["name"]` for a key with characters that a name cannot have. */
const SEGMENT = /\.([^.[\]{}"\p{Cc}]+)|\[(\d{1,9})\]|\[("(?:[^"\\\p{Cc}]|\\[^\p{Cc}])*")\]/uy;

/** Reads a text that is one reference, with or without braces. Returns undefined for any other text. */
export function readReference(text: string): Reference | undefined {
  const written = text.trim();
  if (written.startsWith('{{')) return referenceAt(written, 0)?.written === written ? referenceAt(written, 0) : undefined;
  const path = pathOf(written);
  return path === undefined ? undefined : { written, path };
}

/** Reads the reference whose braces open at `start`, or returns undefined. */
function referenceAt(text: string, start: number): Reference | undefined {
  const end = closingBraces(text, start);
  if (end === undefined) return undefined;
  const path = pathOf(text.slice(start + 2, end).trim());
  return path === undefined ? undefined : { written: text.slice(start, end + 2), path };
}

/** True for a text that can be a name in a reference. */
export function isReferenceName(text: string): boolean {
  NAME.lastIndex = 0;
  return text === text.trim() && NAME.exec(text)?.[0] === text;
}

/**
 * Finds the closing braces of a reference. The search ends at the next brace outside of quotes, so that reading all references of a text
 * takes linear time.
 */
function closingBraces(text: string, start: number): number | undefined {
  if (!text.startsWith('{{', start)) return undefined;
  let isQuoted = false;
  for (let index = start + 2; index <= start + 2 + MAX_REFERENCE_LENGTH && index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted && character === '\\') index += 1;
    else if (!isQuoted && character === '{') return undefined;
    else if (!isQuoted && character === '}') return text[index + 1] === '}' ? index : undefined;
  }
  return undefined;
}

function pathOf(body: string): Reference['path'] | undefined {
  if (body.length > MAX_REFERENCE_LENGTH) return undefined;
  NAME.lastIndex = 0;
  const first = NAME.exec(body)?.[0];
  if (first === undefined || first !== first.trim()) return undefined;
  const path: [string, ...(string | number)[]] = [first];
  for (let index = first.length; index < body.length; index = SEGMENT.lastIndex) {
    SEGMENT.lastIndex = index;
    const segment = segmentOf(SEGMENT.exec(body));
    if (segment === undefined) return undefined;
    path.push(segment);
  }
  return path;
}

function segmentOf(match: RegExpExecArray | null): string | number | undefined {
  const [, name, index, quoted] = match ?? [];
  if (name !== undefined) return name === name.trim() ? name : undefined;
  if (index !== undefined) return Number(index);
  return quoted === undefined ? undefined : unquoted(quoted);
}

function unquoted(json: string): string | undefined {
  try {
    return String(JSON.parse(json));
  } catch {
    return undefined;
  }
}

// Programs: the values of references.

type ProgramValues = Pick<ProgramState, 'document' | 'input' | 'steps'>;

/** Returns the look-up for the references of a step. */
export function lookupAt(program: ProgramValues, at: StepAddress): Lookup {
  return lookupIn(scopeOf(program), at);
}

/**
 * Returns the look-up for references in a scope. A skipped step has the value null; in a lenient program, a reference to it has no value,
 * as in AXON.
 */
function lookupIn(values: ScopeValues, at: StepAddress): Lookup {
  return ({ path }) => {
    const root = rootOf(values, at, path);
    if (root === undefined || (root.value === undefined && values.index.document.lenient === true)) return { found: false };
    const rest = path.slice(root.names);
    return root.address === undefined ? valueAt(root.value ?? null, rest) : outputAt(root.value ?? null, rest);
  };
}

/** Resolves a text that is one reference, with or without braces, or returns undefined if it has no value. */
export function resolveReference(program: ProgramValues, reference: string, at: StepAddress): JsonValue | undefined {
  return resolveIn(scopeOf(program), reference, at);
}

/** Returns the ids of the outputs that the references of a value need, by step address. An activity finds the outputs by these ids. */
export function outputIds(program: ProgramValues, at: StepAddress, value: JsonValue): Record<string, string> {
  const references = referencesIn(value).map(({ reference }) => reference);
  return Object.fromEntries(
    addressesOf(program, at, references).flatMap((address) => {
      const id = program.steps.get(address)?.outputId;
      return id === undefined ? [] : [[address, id]];
    }),
  );
}

/** Returns the addresses of the steps whose outputs the references of a value need, including references without braces. */
export function neededAddresses(program: ProgramValues, at: StepAddress, value: JsonValue): string[] {
  return addressesOf(program, at, [...referencesIn(value).map(({ reference }) => reference), ...bareReferences(value)]);
}

/** Returns the addresses of the steps whose outputs references lead to. An item needs the list of its `forEach`. */
function addressesOf(program: ProgramValues, at: StepAddress, references: readonly Reference[]): string[] {
  // Addresses do not depend on values, which may be in the payload store.
  const values: ScopeValues = { ...scopeOf(program), outputOf: () => null };
  const addresses = new Set<string>();
  const add = (reference: Reference, from: StepAddress): void => {
    const loop: ListLoop | undefined = loopOfItem(values.index, from, reference.path[0]);
    const list = loop === undefined ? undefined : readReference(loop.in);
    if (loop !== undefined && list !== undefined) return add(list, loop.at);
    const address = rootOf(values, from, reference.path)?.address;
    if (address !== undefined) addresses.add(address);
  };
  for (const reference of references) add(reference, at);
  return [...addresses];
}

/** The context variable with the program's input. */
const INPUT = 'input';

/** Creates a context from a program's input and outputs by step address. */
export function contextOf(input: JsonObject, outputs: Iterable<readonly [address: string, output: JsonValue]>): UnitContext {
  const context = new UnitContext();
  context.setVariable(INPUT, input);
  for (const [address, output] of outputs) context.setResult(address, output);
  return context;
}

/** Returns the look-up for references of a step, from a context with the referenced outputs by step address, as an activity has it. */
export function lookupOf(document: ProgramDocument, context: UnitContext, at: StepAddress): Lookup {
  const index = indexOf(document);
  const values: ScopeValues = {
    index,
    input: context.variable(INPUT),
    outputOf: (address) => (context.hasResult(address) ? context.result(address) : undefined),
    roundsOf: (address) => lastRound(index, context.completedSteps, address),
    resolve: (reference, from) => resolveIn(values, reference, from),
  };
  return lookupIn(values, at);
}

/** Returns the number of rounds of a `repeat`, as found in the addresses of the outputs of its steps. */
function lastRound(index: ProgramIndex, outputs: readonly string[], address: string): number {
  const { unit, step: block, indexes } = parseAddress(address);
  const depth = indexes.length;
  let rounds = 0;
  for (const text of outputs) {
    const one = parseAddress(text);
    const isInside = one.unit === unit && index.find(unit, one.step)?.loops[depth]?.name === block;
    if (isInside && indexes.every((item, at) => one.indexes[at] === item)) rounds = Math.max(rounds, (one.indexes[depth] ?? -1) + 1);
  }
  return rounds;
}

/** Creates the scope of a program from its steps' outputs. */
function scopeOf({ document, input, steps }: ProgramValues): ScopeValues {
  const values: ScopeValues = {
    index: indexOf(document),
    input,
    outputOf: (address) => {
      const { output, spilled } = steps.get(address) ?? {};
      if (output === undefined && spilled !== undefined) throw new TypeError(`The output of step "${address}" was not loaded`);
      return output;
    },
    roundsOf: (address) => steps.get(address)?.rounds ?? 0,
    resolve: (reference, at) => resolveIn(values, reference, at),
  };
  return values;
}

function resolveIn(values: ScopeValues, text: string, at: StepAddress): JsonValue | undefined {
  const reference = readReference(text);
  const found = reference === undefined ? undefined : lookupIn(values, at)(reference);
  return found?.found ? found.value : undefined;
}

function rootOf(values: ScopeValues, at: StepAddress, path: Reference['path']): RootValue | undefined {
  const [first, second] = path;
  return resolveRoot(values, at, typeof second === 'string' ? [first, second] : [first]);
}

/** Forgets the steps inside a block, in one of its items or rounds, that no reference can name any more. */
export function forgetInside({ steps, document }: Pick<ProgramState, 'steps' | 'document'>, { unit, step, indexes }: StepAddress): void {
  for (const name of indexOf(document).get(unit, step).inside) {
    const address = addressText({ unit, step: name, indexes });
    steps.delete(address);
    for (const at of steps.keys()) if (at.startsWith(`${address}[`)) steps.delete(at);
  }
}

/** The values that a step's references can name, by step address. */
interface ScopeValues {
  index: ProgramIndex;
  input: JsonValue;
  /** Returns the output of a step's execution, or undefined. */
  outputOf: (address: string) => JsonValue | undefined;
  /** Returns the number of rounds of a `repeat` that have begun; 0 if it has not begun. */
  roundsOf: (address: string) => number;
  /** Resolves the reference to the list of a `forEach`, as its steps see it. */
  resolve: (reference: string, at: StepAddress) => JsonValue | undefined;
}

/** The value of a reference's first names, and the number of these names. */
interface RootValue {
  /** Undefined if the step has not run or has no output. */
  value: JsonValue | undefined;
  names: number;
  /** The address of the step that produced the value. Absent for the input and for items. */
  address?: string;
}

/**
 * Resolves the root of a reference at a step: `input`, the item of a surrounding `forEach`, a step of the same unit, or a step of another
 * unit. Undefined if the names have no meaning there.
 */
function resolveRoot(values: ScopeValues, at: StepAddress, names: readonly string[]): RootValue | undefined {
  const [first = '', second] = names;
  if (first === 'input') return { value: values.input, names: 1 };
  const loop = loopOfItem(values.index, at, first);
  if (loop !== undefined) {
    const list = values.resolve(loop.in, loop.at);
    return { value: Array.isArray(list) ? list[at.indexes[loop.depth] ?? 0] : undefined, names: 1 };
  }
  if (values.index.find(at.unit, first) !== undefined) return { ...stepValue(values, at, at.unit, first), names: 1 };
  if (second === undefined || values.index.find(first, second) === undefined) return undefined;
  return { ...stepValue(values, at, first, second), names: 2 };
}

/** A `forEach` around a step. */
interface ListLoop {
  /** The reference to its list. */
  in: string;
  /** Its address. */
  at: StepAddress;
  /** Its index among the loops around the step. */
  depth: number;
}

/** Returns the innermost `forEach` around a step that gives its item this name. */
function loopOfItem(index: ProgramIndex, at: StepAddress, name: string): ListLoop | undefined {
  const loops = loopsAround(index, at);
  const depth = loops.findLastIndex((loop) => loop.kind === 'forEach' && loop.as === name);
  const loop = loops[depth];
  return loop?.in === undefined
    ? undefined
    : { in: loop.in, at: { unit: at.unit, step: loop.name, indexes: at.indexes.slice(0, depth) }, depth };
}

function loopsAround(index: ProgramIndex, { unit, step }: StepAddress): readonly Loop[] {
  return index.find(unit, step)?.loops ?? [];
}

/** Returns the output of the execution of a step that another step sees: the one in the same item and round. */
function stepValue(values: ScopeValues, at: StepAddress, unit: string, step: string): Pick<RootValue, 'value' | 'address'> {
  const address = addressText({ unit, step, indexes: indexesOf(values, at, unit, step) });
  return { value: values.outputOf(address), address };
}

/** Returns the indexes of the execution. From outside of a `repeat`, its last round. */
function indexesOf(values: ScopeValues, at: StepAddress, unit: string, step: string): number[] {
  const loops = values.index.get(unit, step).loops;
  const own = unit === at.unit ? loopsAround(values.index, at) : [];
  const indexes: number[] = [];
  for (const [depth, loop] of loops.entries()) {
    const isShared = own[depth]?.name === loop.name && indexes.every((index, before) => index === at.indexes[before]);
    const shared = isShared ? at.indexes[depth] : undefined;
    const rounds = values.roundsOf(addressText({ unit, step: loop.name, indexes: [...indexes] }));
    indexes.push(shared ?? Math.max(0, rounds - 1));
  }
  return indexes;
}

const MESSAGE_ROLES = ['system', 'user', 'assistant'] as const;

/** A message in a unit's conversation. */
interface ContextMessage {
  role: (typeof MESSAGE_ROLES)[number];
  content: string;
}

/** The content of a context at one moment, unaffected by later changes. */
interface ContextSnapshot {
  results: Record<string, JsonValue>;
  variables: Record<string, JsonValue>;
  messageCount: number;
}

/** The reason why a context refuses a call: it has no entry of that name, or cannot accept the given value. */
export class ContextError extends Error {
  override readonly name = 'ContextError';
  readonly reason: 'missing' | 'invalid';

  constructor(reason: ContextError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The values that a unit's steps work with: results of steps, variables, and the messages to and from the model. */
export class UnitContext {
  readonly systemPrompt: string;
  readonly #results = new NamedValues('result of a step');
  readonly #variables = new NamedValues('variable');
  #messages: ContextMessage[] = [];

  constructor(systemPrompt = '') {
    this.systemPrompt = systemPrompt;
  }

  /** Stores the result of a step. Throws a ContextError for an empty name. */
  setResult(step: string, result: JsonValue): void {
    this.#results.set(step, result);
  }

  /** Returns the result of a step. Throws a ContextError if it has none. */
  result(step: string): JsonValue {
    return this.#results.get(step);
  }

  hasResult(step: string): boolean {
    return this.#results.has(step);
  }

  /** The names of the steps with a result, in the order of their results. */
  get completedSteps(): string[] {
    return this.#results.names;
  }

  /** Sets a variable. Throws a ContextError for an empty name. */
  setVariable(name: string, value: JsonValue): void {
    this.#variables.set(name, value);
  }

  /** Returns the value of a variable. Throws a ContextError if it is not set. */
  variable(name: string): JsonValue {
    return this.#variables.get(name);
  }

  hasVariable(name: string): boolean {
    return this.#variables.has(name);
  }

  /** Adds a message. Throws a ContextError for an unknown role, and for an empty text, which no provider accepts. */
  append(role: string, content: string): void {
    const known = MESSAGE_ROLES.find((one) => one === role);
    if (known === undefined) throw new ContextError('invalid', `"${role}" is not a role of a message: it is ${MESSAGE_ROLES.join(', ')}`);
    if (content === '') throw new ContextError('invalid', 'Message content must not be empty');
    this.#messages.push({ role: known, content });
  }

  get messages(): readonly ContextMessage[] {
    return this.#messages;
  }

  snapshot(): ContextSnapshot {
    return { results: this.#results.copy(), variables: this.#variables.copy(), messageCount: this.#messages.length };
  }

  /** Forgets everything except the system prompt. */
  reset(): void {
    this.#results.clear();
    this.#variables.clear();
    this.#messages = [];
  }
}

class NamedValues {
  readonly #what: string;
  readonly #values = new Map<string, JsonValue>();

  constructor(what: string) {
    this.#what = what;
  }

  set(name: string, value: JsonValue): void {
    if (name === '') throw new ContextError('invalid', `The name of a ${this.#what} must not be empty`);
    this.#values.set(name, value);
  }

  get(name: string): JsonValue {
    const value = this.#values.get(name);
    if (value !== undefined) return value;
    throw new ContextError('missing', `There is no ${this.#what} "${name}" (there are: ${this.names.join(', ') || 'none'})`);
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  get names(): string[] {
    return [...this.#values.keys()];
  }

  copy(): Record<string, JsonValue> {
    return Object.fromEntries([...this.#values].map(([name, value]) => [name, deepCopy(value)]));
  }

  clear(): void {
    this.#values.clear();
  }
}

function deepCopy(value: JsonValue): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}

/** Returns the references without braces, of conditions and lists. */
export function bareReferences(value: JsonValue): Reference[] {
  if (Array.isArray(value)) return value.flatMap(bareReferences);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const own = (key === 'of' || key === 'in') && typeof member === 'string' ? readReference(member) : undefined;
    return [...(own === undefined ? [] : [own]), ...bareReferences(member)];
  });
}
