import { isJsonObject, type JsonObject, type JsonValue } from '../../domain/json.ts';
import { PROGRAM_LIMITS, STEP_KINDS, type StepKind } from '../../domain/program-document.ts';
import type { Problems } from './problems.ts';

/** The readable units and steps of a document that need not fit the format. */
export interface Outline {
  document: JsonObject;
  units: OutlineUnit[];
}

/** A unit with its steps. */
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
  /** The first kind that it has as a key; undefined if it has none. */
  kind: StepKind | undefined;
  /** The value of its kind; empty if it is no object. */
  body: JsonObject;
  lists: OutlineList[];
  /** The place in the document: a larger number comes later. */
  order: number;
  /** The list that has the step. */
  list: OutlineList;
}

/** A list of steps. */
export interface OutlineList {
  path: string;
  /** False: the document has no list there. */
  isGiven: boolean;
  steps: OutlineStep[];
  /** The block that has the list; undefined for the list of a unit. */
  block: OutlineStep | undefined;
  /** For a case of `branch`: its condition. */
  when?: JsonValue | undefined;
}

/** Reads the outline of a document. Reports what is over the limits, and reads no further there. */
export function readOutline(document: JsonObject, problems: Problems): Outline {
  return { document, units: new OutlineReader(problems).units(document['units']) };
}

/** Lists the steps of a list and of the blocks in it, in the order of the document. */
export function* allSteps(steps: readonly OutlineStep[]): Generator<OutlineStep> {
  for (const step of steps) {
    yield step;
    for (const list of step.lists) yield* allSteps(list.steps);
  }
}

/** Returns the text at a key; an empty one if there is none. */
export function textAt(value: JsonObject, key: string): string {
  const text = Object.hasOwn(value, key) ? value[key] : undefined;
  return typeof text === 'string' ? text : '';
}

/** Returns the texts of a list at a key, with their indexes. */
export function textsAt(value: JsonObject, key: string): { text: string; index: number }[] {
  return listAt(value, key).flatMap((text, index) => (typeof text === 'string' ? [{ text, index }] : []));
}

/** Returns the object at a key; an empty one if there is none. */
export function objectAt(value: JsonObject, key: string): JsonObject {
  const inner = Object.hasOwn(value, key) ? value[key] : undefined;
  return isJsonObject(inner) ? inner : {};
}

/** Returns the list at a key; an empty one if there is none. */
export function listAt(value: JsonObject, key: string): JsonValue[] {
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

/** The lists of steps inside a block as the document has them. */
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
