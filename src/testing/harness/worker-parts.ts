import type { Anchor } from '../../anchors/anchors.ts';
import type { ProgramOptions } from '../../client/start-workflow.ts';
import { agentModels, summaryModelsOf } from '../../core/domain/agent.ts';
import { ModelCallError } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import { type ModelCallContext, type ModelClient, type ModelResponse, unknownHostedTool } from '../../core/domain/model.ts';
import { modelsOf } from '../../core/domain/program-document.ts';
import { type AnyAgent, withSubAgents } from '../../define/agent-definition.ts';
import { sharedOptionsOf } from '../../define/all-parts.ts';
import type { Resources, RunContext } from '../../define/context.ts';
import type { AnyProgram } from '../../define/program/program-definition.ts';
import type { AnyTool } from '../../define/tool-definition.ts';
import { inMemory } from '../../memory/file-memory.ts';
import type { SecretSource } from '../../secrets/secret-sources.ts';
import { rejectedOnAbort } from '../../temporal/waiting.ts';
import type { Fault, Occurrence } from '../test-plan.ts';
import type { EffectsLedger, ProgramTestOptions, TestOptions, TestWorkerParts } from '../tested-run.ts';
import type { Harness, Plan } from './harness.ts';
import { providersOfTest } from './test-models.ts';
import { realSleep } from '../../temporal/real-timers.ts';

/** The parts of a test's worker, in memory and on a server. */
export interface WorkerParts extends TestWorkerParts {
  agents: readonly AnyAgent[];
  programs?: readonly AnyProgram[];
  anchors?: readonly Anchor[];
  providers: Readonly<Record<string, ModelClient>>;
  resources: Resources;
  secrets?: SecretSource | readonly SecretSource[];
}

/** Returns the parts of a worker for one run of an agent. Throws a UsageError for a test without a model. */
export function workerParts(harness: Harness, agent: AnyAgent, options: TestOptions, ledger: EffectsLedger): WorkerParts {
  const agents = withSubAgents(reachableAgents([agent, ...(options.agents ?? [])]));
  const models = agents.flatMap(modelsOfAgent);
  return {
    agents: agents.map((one) => harnessAgent(one, harness.plan)),
    ...commonParts(harness, { what: `agent "${agent.name}"`, models }, options, ledger),
  };
}

/** Returns the parts of a worker that agents and programs share. Throws a UsageError for a test without a model. */
function commonParts(
  harness: Harness,
  { what, models }: { what: string; models: readonly string[] },
  options: TestWorkerParts & Pick<TestOptions, 'model' | 'resources' | 'secrets'>,
  ledger: EffectsLedger,
): Omit<WorkerParts, 'agents'> {
  const { model, resources, secrets, memory, payloadStore, prices, authorize, notify, notifyEnded, streams } = options;
  const refusals = new Map<Fault, number>();
  const clients = new Map<ModelClient, ModelClient>();
  const providers = Object.entries(providersOfTest(what, model, models)).map(([name, given]): [string, ModelClient] => {
    const client = clients.get(given) ?? harnessModel(harness, given, refusals);
    clients.set(given, client);
    return [name, client];
  });
  return {
    providers: Object.fromEntries(providers),
    resources: { ledger, ...resources },
    ...(secrets === undefined ? {} : { secrets: secretSource(secrets) }),
    ...sharedOptionsOf(options),
    ...defined({ memory, payloadStore, prices, authorize, notify, notifyEnded, streams }),
  };
}

/** Returns the names of the models that an agent may call. */
function modelsOfAgent(agent: AnyAgent): string[] {
  return [...agentModels(agent), ...summaryModelsOf(agent)];
}

/** Returns the source of secrets. Values by name are wrapped in a source. */
function secretSource(secrets: NonNullable<TestOptions['secrets']>): SecretSource | readonly SecretSource[] {
  if (Array.isArray(secrets) || typeof secrets === 'function') return secrets;
  if ('read' in secrets && typeof secrets.read === 'function') return secrets as SecretSource;
  const values = new Map(Object.entries(secrets));
  return (name) => values.get(name);
}

/** Returns agents and, recursively, their handoff targets and the agents of their flows, except those given by name. Each name once. */
export function reachableAgents(agents: readonly AnyAgent[]): AnyAgent[] {
  const found = new Map<string, AnyAgent>();
  const add = (agent: AnyAgent): void => {
    if (found.has(agent.name)) return;
    found.set(agent.name, agent);
    for (const { agent: next } of agent.handoffs ?? []) if (next !== undefined) add(next);
    for (const next of agent.flowAgents ?? []) add(next);
  };
  for (const agent of agents) add(agent);
  return [...found.values()];
}

/** Returns the agent with its tools delayed as the test plans. */
function harnessAgent<Agent extends AnyAgent>(agent: Agent, plan: Plan): Agent {
  const delayed = new Set(plan.of('delay').map(({ tool }) => tool));
  if (delayed.size === 0) return agent;
  return { ...agent, tools: agent.tools.map((tool) => (delayed.has(tool.name) ? slowTool(tool, plan) : tool)) };
}

function slowTool(tool: AnyTool, plan: Plan): AnyTool {
  const execute = async (args: never, context: RunContext<never, never>): Promise<unknown> => {
    for (const fault of plan.of('delay')) {
      if (fault.tool !== tool.name || (fault.step ?? context.step) !== context.step) continue;
      plan.happened(fault);
      await realSleep(fault.ms, { signal: context.signal });
    }
    return tool.execute(args, context);
  };
  return { ...tool, execute };
}

/**
 * Returns the model of a test, which records requests, refuses calls as planned, and sends planned messages during a
 * call.
 */
function harnessModel(harness: Harness, model: ModelClient, refusals: Map<Fault, number>): ModelClient {
  return {
    capabilities: model.capabilities,
    // A scripted model has no rate limit: planned refusals must not wait in real time.
    rateLimitKey: (request, context) => model.rateLimitKey?.(request, context),
    unknownHostedTool: (request, context) => unknownHostedTool(model, request, context),
    call: async (request, context) => {
      const step = harness.step.getStore();
      refuse(harness, refusals, step);
      harness.requests.push(structuredClone(request));
      const due = step === undefined ? [] : harness.plan.takeOccurrences({ step });
      return due.length === 0 ? model.call(request, context) : callWhile(harness, due, () => model.call(request, context), context);
    },
  };
}

function refuse({ plan }: Harness, refusals: Map<Fault, number>, step: number | undefined): void {
  for (const fault of plan.of('rate_limit')) {
    const before = refusals.get(fault) ?? 0;
    if (before >= fault.times || (fault.step !== undefined && (step ?? 0) < fault.step)) continue;
    refusals.set(fault, before + 1);
    if (before + 1 === fault.times) plan.happened(fault);
    const { retryAfterMs } = fault;
    throw new ModelCallError('model_rate_limited', 'The provider of this test limits the rate (429)', { retryAfterMs });
  }
}

/**
 * Returns the answer after the planned messages are sent. A cancellation or an interrupt always ends the call, even
 * if the model has answered: the run may receive it a moment later.
 */
async function callWhile(
  harness: Harness,
  due: readonly Occurrence[],
  call: () => Promise<ModelResponse>,
  { signal }: Pick<ModelCallContext, 'signal'>,
): Promise<ModelResponse> {
  const answer = call();
  // It may be aborted before it is awaited.
  answer.catch(() => undefined);
  for (const occurrence of due) await harness.say(occurrence);
  return due.some(({ givesUp }) => givesUp !== undefined) ? rejectedOnAbort(signal) : answer;
}

/** Returns the parts of a worker for one run of a program. Throws a UsageError for a test without a model. */
export function programParts(harness: Harness, program: AnyProgram, options: ProgramTestOptions, ledger: EffectsLedger): WorkerParts {
  const { document } = program;
  const documents = [document, ...program.programs.map((one) => one.document)];
  const models = [
    ...documents.flatMap((one) => [...modelsOf(one), ...(one.model === undefined ? [] : [one.model])]),
    ...program.agents.flatMap(modelsOfAgent),
  ];
  return {
    agents: program.agents,
    programs: [program],
    memory: options.memory ?? inMemory(),
    ...defined({ anchors: options.anchors }),
    ...commonParts(harness, { what: `program "${program.name}"`, models }, options, ledger),
  };
}

export function programStart({ input, deps, state, principal, limits, deadline, tags }: ProgramTestOptions): ProgramOptions {
  return defined({ input, deps, state, principal, limits, deadline, tags });
}
