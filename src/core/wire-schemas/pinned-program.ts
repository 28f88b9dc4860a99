import { isJsonObject, type JsonObject } from '../domain/json/json.ts';
import { STEP_KINDS } from '../domain/program/document.ts';

/** The JSON Schema of the document in a snapshot, except for its steps: `pinnedStepsProblem` checks those. */
export const PINNED_PROGRAM_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    version: { const: 1 },
    name: { type: 'string', minLength: 1 },
    input: { type: 'object' },
    units: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        properties: { name: { type: 'string' }, steps: { type: 'array', minItems: 1 } },
        required: ['name', 'steps'],
      },
    },
  },
  required: ['version', 'name', 'units'],
};

/**
 * Describes the first step of a document that is none, at any level of its blocks. The run walks through all of them. The activity
 * that pinned the document has checked everything else.
 */
export function pinnedStepsProblem(steps: unknown): string | undefined {
  if (!Array.isArray(steps)) return 'a list of steps is missing';
  for (const step of steps) {
    const problem = stepProblem(step);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function stepProblem(step: unknown): string | undefined {
  if (!isJsonObject(step) || typeof step['name'] !== 'string') return 'a step has no name';
  const kind = STEP_KINDS.find((one) => one in step);
  const body = kind === undefined ? undefined : step[kind];
  if (!isJsonObject(body)) return `step "${step['name']}" has no kind`;
  for (const list of listsOf(kind ?? '', body)) {
    const problem = pinnedStepsProblem(list);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Returns what should be the lists of steps in a block. */
function listsOf(kind: string, body: JsonObject): unknown[] {
  if (kind === 'forEach' || kind === 'repeat') return [body['steps']];
  if (kind === 'parallel') return Array.isArray(body['branches']) ? body['branches'] : [undefined];
  if (kind !== 'branch') return [];
  const cases = Array.isArray(body['cases']) ? body['cases'].map((one) => (isJsonObject(one) ? one['steps'] : undefined)) : [undefined];
  return 'else' in body ? [...cases, body['else']] : cases;
}
