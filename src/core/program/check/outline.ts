import { isJsonObject, type JsonObject, type JsonValue } from '../../domain/json.ts';
import { PROGRAM_LIMITS, STEP_KINDS, type StepKind } from '../../domain/program-document.ts';
import type { Problems } from './problems.ts';

/** The readable units and steps of a document, which need not be valid. */
export interface Outline {
  document: JsonObject;
  units: OutlineUnit[];
}

export interface OutlineUnit {
  path: string;
  /** Empty if it has none. */
  name: string;
  index: number;
  value: JsonObject;
  steps: OutlineStep[];
}

/** A step, and the lists of steps inside it. */
export interface OutlineStep {
  path: string;
  /** Empty if it has none. */
  name: string;
  value: JsonObject;
  /** The first kind among its keys, or undefined. */
  kind: StepKind | undefined;
  /** The value of its kind; empty if it is not an object. */
  body: JsonObject;
  lists: OutlineList[];
  /** The place in the document: a larger number comes later. */
  order: number;
  list: OutlineList;
}

export interface OutlineList {
  path: string;
  /** False: the document has no list there. */
  isGiven: boolean;
  steps: OutlineStep[];
  /** The block that contains the list; undefined for a unit's list. */
  block: OutlineStep | undefined;
  /** For a case of `branch`: its condition. */
  when?: JsonValue | undefined;
}

/** Reads the outline of a document. Reports exceeded limits, and reads no further there. */
export function readOutline(document: JsonObject, problems: Problems): Outline {
  return { document, units: new OutlineReader(problems).units(document['units']) };
}

/** Lists the steps of a list and of the blocks in it, in document order. */
export function* allSteps(steps: readonly OutlineStep[]): Generator<OutlineStep> {
  for (const step of steps) {
    yield step;
    for (const list of step.lists) yield* allSteps(list.steps);
  }
}

/** Returns the text at a key, or an empty text. */
export function textAt(value: JsonObject, key: string): string {
  const text = Object.hasOwn(value, key) ? value[key] : undefined;
  return typeof text === 'string' ? text : '';
}

export function textsAt(value: JsonObject, key: string): { text: string; index: number }[] {
  return listAt(value, key).flatMap((text, index) => (typeof text === 'string' ? [{ text, index }] : []));
}

/** Returns the object at a key, or an empty object. */
export function objectAt(value: JsonObject, key: string): JsonObject {
  const inner = Object.hasOwn(value, key) ? value[key] : undefined;
  return isJsonObject(inner) ? inner : {};
}

/** Returns the list at a key, or an empty list. */
function listAt(value: JsonObject, key: string): JsonValue[] {
  const inner = Object.hasOwn(value, key) ? value[key] : undefined;
  return Array.isArray(inner) ? inner : [];
}

class OutlineReader {
  readonly #problems: Problems;
  #steps = 0;

  constructor(problems: Problems) {
    this.#problems = problems;
  }

  units(value: JsonValue | undefined): OutlineUnit[] {
    const units = Array.isArray(value) ? value : [];
    if (units.length > PROGRAM_LIMITS.steps) {
      this.#problems.add('units', `the program has ${units.length} units, more than ${PROGRAM_LIMITS.steps}`);
    }
    return units.slice(0, PROGRAM_LIMITS.steps).flatMap((unit, index) => {
      if (!isJsonObject(unit)) return [];
      const path = `units[${index}]`;
      const { steps } = this.#list({ path: `${path}.steps`, block: undefined }, unit['steps'], 1);
      return [{ path, name: textAt(unit, 'name'), index, value: unit, steps }];
    });
  }

  #list(place: Omit<OutlineList, 'steps' | 'isGiven'>, value: JsonValue | undefined, level: number): OutlineList {
    const list: OutlineList = { ...place, steps: [], isGiven: Array.isArray(value) };
    const values = Array.isArray(value) ? value : [];
    if (level > PROGRAM_LIMITS.levels) {
      if (values.length > 0) this.#problems.add(list.path, `the steps are nested deeper than ${PROGRAM_LIMITS.levels} levels`);
      return list;
    }
    for (const [index, step] of values.entries()) {
      if (!isJsonObject(step)) continue;
      this.#steps += 1;
      const path = `${list.path}[${index}]`;
      if (this.#steps === PROGRAM_LIMITS.steps + 1) this.#problems.add(path, `the program has more than ${PROGRAM_LIMITS.steps} steps`);
      if (this.#steps > PROGRAM_LIMITS.steps) break;
      list.steps.push(this.#step(step, path, { list, level }));
    }
    return list;
  }

  #step(value: JsonObject, path: string, { list, level }: { list: OutlineList; level: number }): OutlineStep {
    const kind = STEP_KINDS.find((one) => Object.hasOwn(value, one));
    const body = kind === undefined ? {} : objectAt(value, kind);
    const step: OutlineStep = { path, name: textAt(value, 'name'), value, kind, body, lists: [], order: this.#steps, list };
    for (const nested of nestedLists(step)) {
      step.lists.push(this.#list({ path: nested.path, block: step, when: nested.when }, nested.steps, level + 1));
    }
    return step;
  }
}

/** Returns the lists of steps inside a block, as in the document. */
function nestedLists({ kind, body, path }: OutlineStep): { path: string; steps: JsonValue | undefined; when?: JsonValue | undefined }[] {
  switch (kind) {
    case 'parallel':
      return listAt(body, 'branches').map((steps, index) => ({ path: `${path}.parallel.branches[${index}]`, steps }));
    case 'branch':
      return [
        ...listAt(body, 'cases').map((one, index) => ({
          path: `${path}.branch.cases[${index}].steps`,
          steps: isJsonObject(one) ? one['steps'] : undefined,
          when: isJsonObject(one) ? one['when'] : undefined,
        })),
        ...(Object.hasOwn(body, 'else') ? [{ path: `${path}.branch.else`, steps: body['else'] }] : []),
      ];
    case 'forEach':
    case 'repeat':
      return [{ path: `${path}.${kind}.steps`, steps: body['steps'] }];
    default:
      return [];
  }
}

/** Returns the conditions of a step that are evaluated before it does anything: its own, and those of its cases. */
export function conditionsOf({ value, path, kind, lists }: OutlineStep): { value: JsonValue | undefined; path: string }[] {
  const cases = kind === 'branch' ? lists.map((list) => ({ value: list.when, path: list.path.replace(/\.steps$/, '.when') })) : [];
  return [{ value: value['when'], path: `${path}.when` }, ...cases];
}

/** Returns the name of the item of a `forEach`. */
export function itemName({ body }: OutlineStep): string {
  return textAt(body, 'as') || 'item';
}

/** Lists the blocks around a step, innermost first. */
export function blocksAround(step: OutlineStep): OutlineStep[] {
  const blocks: OutlineStep[] = [];
  for (let { block } = step.list; block !== undefined; { block } = block.list) blocks.push(block);
  return blocks;
}

/** Determines which units have certainly ended before a unit begins. */
export class EndedUnits {
  /** True if the units run in order, because none declares needs. */
  readonly inOrder: boolean;
  /** Units that each need the next one, and the last one the first. Empty without a cycle. */
  readonly cycle: readonly OutlineUnit[];
  readonly #needs: ReadonlyMap<OutlineUnit, readonly OutlineUnit[]>;
  /** By unit, one bit for each unit that ends before it. Units that wait for a cycle have no entry. */
  readonly #before = new Map<OutlineUnit, Uint32Array>();

  constructor({ units }: Outline) {
    const byName = new Map(units.toReversed().map((unit) => [unit.name, unit]));
    const needsOf = (unit: OutlineUnit): OutlineUnit[] => {
      const needs = textsAt(unit.value, 'needs').flatMap(({ text }) => byName.get(text) ?? []);
      return [...new Set(needs)].filter((need) => need !== unit);
    };
    this.inOrder = !units.some(({ value }) => 'needs' in value);
    this.#needs = new Map(units.map((unit) => [unit, needsOf(unit)]));
    this.#collect(units);
    this.cycle = this.#cycle(units.find((unit) => !this.#before.has(unit)));
  }

  /** True if `other` has ended when `unit` begins. Also true for units that never begin, because they wait for a cycle. */
  endsBefore(other: OutlineUnit, unit: OutlineUnit): boolean {
    if (this.inOrder) return other.index < unit.index;
    const before = this.#before.get(unit);
    return before === undefined || hasBit(before, other.index);
  }

  /** Visits the units so that each comes after the ones it needs. */
  #collect(units: readonly OutlineUnit[]): void {
    const waitingFor = new Map<OutlineUnit, OutlineUnit[]>(units.map((unit) => [unit, []]));
    const left = new Map(units.map((unit) => [unit, this.#needsOf(unit).length]));
    for (const unit of units) {
      for (const need of this.#needsOf(unit)) waitingFor.get(need)?.push(unit);
    }
    const ready = units.filter((unit) => left.get(unit) === 0);
    for (let unit = ready.pop(); unit !== undefined; unit = ready.pop()) {
      this.#before.set(unit, this.#endedBefore(unit, units.length));
      for (const waiting of waitingFor.get(unit) ?? []) {
        const count = (left.get(waiting) ?? 0) - 1;
        left.set(waiting, count);
        if (count === 0) ready.push(waiting);
      }
    }
  }

  #endedBefore(unit: OutlineUnit, count: number): Uint32Array {
    const before = new Uint32Array(Math.ceil(count / 32));
    for (const need of this.#needsOf(unit)) {
      setBit(before, need.index);
      for (const [index, word] of (this.#before.get(need) ?? []).entries()) before[index] = (before[index] ?? 0) | word;
    }
    return before;
  }

  /** Follows the needs of a unit that never begins until a unit repeats. */
  #cycle(start: OutlineUnit | undefined): OutlineUnit[] {
    const way = new Set<OutlineUnit>();
    for (let unit = start; unit !== undefined; unit = this.#needsOf(unit).find((need) => !this.#before.has(need))) {
      if (way.has(unit)) return [...way].slice([...way].indexOf(unit));
      way.add(unit);
    }
    return [];
  }

  #needsOf(unit: OutlineUnit): readonly OutlineUnit[] {
    return this.#needs.get(unit) ?? [];
  }
}

function setBit(bits: Uint32Array, index: number): void {
  const word = index >>> 5;
  bits[word] = (bits[word] ?? 0) | (1 << (index & 31));
}

function hasBit(bits: Uint32Array, index: number): boolean {
  return ((bits[index >>> 5] ?? 0) & (1 << (index & 31))) !== 0;
}
