import type { FlowKind } from '../domain/agent.ts';
import { jsonBytes } from '../domain/byte-budgets.ts';
import type { ContentPart } from '../domain/content.ts';
import { HOOK_EVENTS } from '../domain/hooks.ts';
import { isJsonObject, type JsonObject } from '../domain/json.ts';
import { PRINCIPAL, type Principal } from '../domain/run.ts';
import { AT_LEAST_ONE, DURATION, TEXT } from '../domain/shape.ts';
import { checkJson, type JsonProblem, problemsText } from '../json-schema/check-json-schema.ts';

/** Bytes of JSON that a principal may have: it is carried through the run, and given to each child. */
const PRINCIPAL_BYTES = 8_000;

/** Returns why a principal is too large; empty if it is not. */
export function principalSizeProblem(principal: Principal | undefined): string[] {
  const bytes = principal === undefined ? 0 : jsonBytes(principal);
  return bytes > PRINCIPAL_BYTES
    ? [`principal: ${bytes} bytes of JSON, over ${PRINCIPAL_BYTES}: pass ids as claims, and let tools look up the rest`]
    : [];
}

/** Lists the media parts that do not have exactly one source. `path` leads to the content. */
export function mediaProblems(content: string | readonly ContentPart[], path: string): JsonProblem[] {
  if (typeof content === 'string') return [];
  return content.flatMap((one, index) => {
    if (one.type === 'text' || (one.url === undefined) !== (one.data === undefined)) return [];
    return [
      { path: `${path}[${index}]`, message: `expected exactly one of "url" and "data", got ${one.url === undefined ? 'neither' : 'both'}` },
    ];
  });
}

/** The JSON Schema of the hooks in a snapshot. */
export const HOOKS_SCHEMA: JsonObject = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      name: TEXT,
      on: { enum: [...HOOK_EVENTS] },
      of: TEXT,
      tier: { const: 'remote' },
      timeoutMs: DURATION,
      failClosed: { const: true },
    },
    required: ['name', 'on'],
  },
};

const FLOW_KIND: JsonObject = { enum: ['sequential', 'loop', 'parallel'] satisfies FlowKind[] };

/** The JSON Schema of the order of agents in the input of a run. */
export const FLOW_INPUT_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    kind: FLOW_KIND,
    agents: { type: 'array', items: { type: 'string', minLength: 1, maxLength: 100 }, minItems: 1, maxItems: 100, uniqueItems: true },
    maxIterations: { ...AT_LEAST_ONE, maximum: 10_000 },
    until: { type: 'object' },
  },
  required: ['kind', 'agents'],
  additionalProperties: false,
};

/**
 * Returns why a value is no principal whose names can be recorded: half of a surrogate pair would become another name. Undefined if it is
 * one.
 */
export function principalProblem(value: unknown): string | undefined {
  const problems = isJsonObject(value) ? checkJson(PRINCIPAL, value) : [{ path: '', message: 'expected an object' }];
  if (problems.length > 0) return `"principal": ${problemsText(problems)}`;
  const { tenant = '', user = '' } = value as Principal;
  if (tenant.isWellFormed() && user.isWellFormed()) return undefined;
  return '"principal" has half of a surrogate pair in a name: write a text of whole characters';
}
