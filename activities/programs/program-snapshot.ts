import type { AgentSnapshot, ChildLimits, OwnLimits, ToolSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { plainLimits } from '../../src/core/domain/agent/limit-options.ts';
import type { LimitChanges, RunLimits } from '../../src/core/domain/agent/limits.ts';
import { narrowLimits } from '../../src/core/domain/agent/narrow-limits.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { JsonObject } from '../../src/core/domain/json/json.ts';
import type { ModelPrice } from '../../src/core/domain/model/price.ts';
import { allSteps, modelsOf } from '../../src/core/domain/program/all-steps.ts';
import { DEFAULT_MODEL_CALLS, type ProgramDocument } from '../../src/core/domain/program/document.ts';
import { REVIEW } from '../../src/core/program/interpreter/review.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { AnyTool } from '../../src/define/tools/tool-definition.ts';
import { priceOf, type PriceTable } from '../../src/model/prices.ts';
import { commonFields, type CommonInputs, snapshotDigest, toolSnapshot } from '../agents/build-snapshot.ts';

/** The longest time of one attempt of a model call of a program, and the number of its attempts. */
export const ASK_TIMEOUT_MS = 600_000;
export const ASK_ATTEMPTS = 5;

/** Everything that the snapshot of a program needs besides its document. */
interface ProgramSnapshotInputs extends CommonInputs {
  /** Returns a tool of the worker. */
  tool: (name: string) => AnyTool | undefined;
  /** The agents and programs of the worker. */
  definitions: ChildDefinitions;
  limits?: LimitChanges | undefined;
  /** The amounts that are left of the limits of the parent. */
  left?: LimitChanges | undefined;
  /** Milliseconds between two checks that a child is alive. */
  childCheckMs: number;
  prices: PriceTable;
}

/** Builds the snapshot of a program: the document, and everything that its run needs of the worker, pinned for the run. */
export function programSnapshot(program: ProgramDocument, inputs: ProgramSnapshotInputs): AgentSnapshot {
  const limits = narrowLimits(limitsOf(program, inputs.limits), inputs.left);
  const prices = pricesOf(program, limits, inputs.prices);
  const shared = childLimits(program, limits, inputs.definitions);
  const content: Omit<AgentSnapshot, 'digest'> = {
    version: 1,
    name: program.name,
    instructions: [],
    model: program.model ?? '',
    tools: [...namedTools(program, inputs), ...questions(program)],
    parallel: true,
    settings: {},
    limits,
    timing: {
      heartbeatMs: inputs.heartbeatMs,
      modelTimeoutMs: ASK_TIMEOUT_MS,
      modelMaxAttempts: ASK_ATTEMPTS,
      childCheckMs: inputs.childCheckMs,
    },
    ...(prices === undefined ? {} : { prices }),
    ...commonFields(inputs),
    ...(shared === undefined ? {} : { childLimits: shared }),
    program,
  };
  return { ...content, digest: snapshotDigest(content) };
}

function limitsOf(program: ProgramDocument, overrides: LimitChanges | undefined): RunLimits {
  return {
    steps: DEFAULT_MODEL_CALLS,
    finalAttempt: false,
    ...plainLimits(`program "${program.name}"`, program.limits ?? {}),
    ...(program.onLimit === 'ask' ? { onLimit: 'ask' as const } : {}),
    ...overrides,
  };
}

/** Returns the prices of all models of a program. Throws `invalid_program` if a limit in dollars cannot be enforced. */
function pricesOf(program: ProgramDocument, { costUsd }: RunLimits, overrides: PriceTable): Record<string, ModelPrice> | undefined {
  const prices: Record<string, ModelPrice> = {};
  for (const model of modelsOf(program)) {
    const price = priceOf(model, overrides);
    if (price !== undefined) prices[model] = price;
    else if (costUsd !== undefined) {
      throw new LonghaulError(
        'invalid_program',
        `The limit "costUsd" of program "${program.name}" cannot be enforced: the price of model "${model}" is not known`,
      );
    }
  }
  return Object.keys(prices).length === 0 ? undefined : prices;
}

function namedTools(program: ProgramDocument, { tool }: ProgramSnapshotInputs): ToolSnapshot[] {
  const names = new Set(allSteps(program).flatMap(({ step }) => step.tool?.name ?? []));
  return [...names].flatMap((name) => {
    const found = tool(name);
    return found === undefined ? [] : [toolSnapshot(found)];
  });
}

/** Returns what people decide about, as tools: the decision is checked against their schemas. */
function questions(program: ProgramDocument): ToolSnapshot[] {
  return allSteps(program).flatMap(({ unit, step }) => {
    const name = `${unit.name}.${step.name}`;
    const asked: ToolSnapshot[] = [];
    if (step.human !== undefined) asked.push(question(name, { answer: step.human.output ?? { type: 'string' } }));
    // A question and its approval have one name: what is answered in place of the question is an answer to it.
    else if (step.approval !== undefined && step.tool === undefined) asked.push(question(name, {}));
    if (step.review !== undefined) asked.push(question(`${name}${REVIEW}`, { schema: { type: 'object', required: ['output'] } }));
    return asked;
  });
}

function question(name: string, { schema = { type: 'object' }, answer }: { schema?: JsonObject; answer?: JsonObject }): ToolSnapshot {
  const policy = { timeoutMs: 1, maxAttempts: 1, parallel: true, strict: false, description: '' };
  return { ...policy, name, parameters: schema, schema, ...(answer === undefined ? {} : { answer }) };
}

/** The agents and programs of a worker. */
interface ChildDefinitions {
  agents: readonly AnyAgent[];
  programs: readonly ProgramDocument[];
}

/**
 * Returns the limits of the agents and programs that steps of a program run; undefined if the program has no limit to share
 * with them. They say how much of a shared limit a child is given, and bind no child: another worker may know it with others.
 */
function childLimits(program: ProgramDocument, limits: RunLimits, { agents, programs }: ChildDefinitions): ChildLimits | undefined {
  const { steps: most, finalAttempt: _, deadlineMs: __, onLimit: ___, ...others } = limits;
  if (most === DEFAULT_MODEL_CALLS && Object.keys(others).length === 0) return undefined;
  const steps = allSteps(program).map(({ step }) => step);
  const agentNames = new Set(steps.flatMap(({ agent }) => agent?.name ?? []));
  const programNames = new Set(steps.flatMap(({ program: called }) => called?.name ?? []));
  if (agentNames.size + programNames.size === 0) return undefined;
  const tools = Object.keys(limits.toolCallsByName ?? {});
  return {
    agents: Object.fromEntries(agents.filter(({ name }) => agentNames.has(name)).map((agent) => [agent.name, ofAgent(agent, tools)])),
    programs: Object.fromEntries(
      programs.filter(({ name }) => programNames.has(name)).map((one) => [one.name, withoutDeadline(ofProgram(one))]),
    ),
  };
}

/** Returns the limits of an agent. It needs no calls of the limited tools that it does not have. */
function ofAgent({ limits, tools, mcp = [] }: AnyAgent, limitedTools: readonly string[]): OwnLimits {
  const { finalAttempt, steps, ...others } = limits;
  const lacking = mcp.length > 0 ? [] : limitedTools.filter((tool) => tools.every(({ name }) => name !== tool));
  const byName = { ...others.toolCallsByName, ...Object.fromEntries(lacking.map((tool) => [tool, 0])) };
  return withoutDeadline({
    ...others,
    steps: steps + (finalAttempt ? 1 : 0),
    ...(Object.keys(byName).length === 0 ? {} : { toolCallsByName: byName }),
  });
}

function ofProgram({ name, limits = {}, onLimit }: ProgramDocument): OwnLimits {
  return { ...plainLimits(`program "${name}"`, limits), ...(onLimit === 'ask' ? { onLimit } : {}) };
}

function withoutDeadline({ deadlineMs: _, ...limits }: OwnLimits): OwnLimits {
  return limits;
}
