import { z } from 'zod';
import { anchorInstruction } from '../../src/anchors/anchors.ts';
import { mayCall } from '../../src/core/code/callable-tools.ts';
import { type AgentDocument, type AgentSnapshot, rulesOf, type ToolSnapshot, withoutDocument } from '../../src/core/domain/agent.ts';
import { defined, isJsonObject, type JsonObject } from '../../src/core/domain/json.ts';
import { DEFAULT_STEPS } from '../../src/core/domain/limits.ts';
import { type ModelCapabilities, type ModelClient, modelName } from '../../src/core/domain/model.ts';
import { errorMessage, LonghaulError } from '../../src/core/domain/errors.ts';
import { BYTE_BUDGETS, jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { depsProblem } from '../../src/core/domain/deps.ts';
import { boundNotices } from '../../src/core/domain/run.ts';
import { injectionProblem } from '../../src/core/domain/execution.ts';
import { type ChildInputAnswer, type DataView, QUERIES, type ResolveAgentInput, type ResolveAgentOutput } from '../../src/core/protocol.ts';
import { type AnyAgent, type OutputDefinition, parseDeps } from '../../src/define/agent-definition.ts';
import { RESERVED_TOOL_NAMES } from '../../src/define/define-tool.ts';
import { withOverrides } from '../../src/define/model-settings.ts';
import type { AnyTool } from '../../src/define/tool-definition.ts';
import { portableSchema } from '../../src/schema/portable-schema.ts';
import { isObjectSchema, toStrictJsonSchema, toStrictPart } from '../../src/schema/strict-json-schema.ts';
import { openParts, pinParts, WORKER_PARTS } from '../all-parts.ts';
import { runAttempt } from '../attempts/attempt.ts';
import { codeExecutor } from '../code/run-code.ts';
import { failingAs } from '../attempts/failure.ts';
import { tenantDigest } from '../governor/tenant-digest.ts';
import { firstOfFlow, namedAgent, requireDeps } from './handoffs.ts';
import { type ListedMcpTools, listMcpTools } from '../mcp/list-tools.ts';
import { ASK_ATTEMPTS, ASK_TIMEOUT_MS } from '../programs/resolve-program.ts';
import { openingOfCall, queryRun } from '../run-queries/query-run.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { buildSnapshot, checkSnapshotSize, workerFacts } from './build-snapshot.ts';
import type { FallbackPolicy } from '../../src/core/domain/fallback.ts';
import { contextTokens } from '../../src/model/models.ts';

/**
 * Creates the first activity of a run: it resolves the agent by name, with its instructions for these deps, to the run's pinned snapshot.
 */
export function resolveAgentActivity(runtime: ActivityRuntime): (input: ResolveAgentInput) => Promise<ResolveAgentOutput> {
  const { aborts, heartbeatMs, notifyEnded } = runtime;
  // A run whose agent cannot be resolved has no snapshot with this flag, so the failure says that `notifyEnded` must be called.
  const details = notifyEnded === undefined ? undefined : { notifyEnded: true };
  return failingAs(
    'invalid_agent',
    (input) => runAttempt(aborts, { heartbeatMs }, ({ signal }) => resolveAgent(runtime, input, signal)),
    details,
  );
}

async function resolveAgent(runtime: ActivityRuntime, input: ResolveAgentInput, signal: AbortSignal): Promise<ResolveAgentOutput> {
  const isQueried = input.depsByReference === true || input.ofDocument === true;
  const opening = input.ofCall === undefined ? undefined : await openingOfCall(input.ofCall);
  const { deps: own, document } = isQueried ? await queryRun<DataView>(input, QUERIES.data, null) : { deps: input.deps ?? {} };
  const deps = opening?.deps ?? own;
  const known = document === undefined ? namedAgent(runtime.registry, input) : documentAgent(runtime, input.agent, document);
  const agent = firstOfFlow(runtime.registry, applyOverrides(known, input));
  // The client refuses such deps before the start; runs that start in another way are checked here.
  const problem = depsProblem(deps);
  if (problem !== undefined) throw new LonghaulError('invalid_input', `The run cannot start: ${problem}`);
  requireDeps(runtime.registry, known, deps);
  const searchAttributes = await runtime.searchAttributes();
  const { tools: mcpTools, notices } = await toolsOfServers(runtime, agent, signal);
  const pinned = await pinParts({ runtime, input, agent, deps, signal, text: () => inputOf(input, opening) });
  const parsedDeps = parseDeps(agent, deps);
  const texts = [...(await resolveInstructions(agent, parsedDeps)), ...anchorTexts(runtime, document)];
  const { instructions, parts } = await openParts(pinned, texts);
  const snapshot = buildSnapshot(agent, {
    instructions,
    injected: await injectedValues(agent, parsedDeps),
    ...(document === undefined ? {} : { checks: rulesOf(document) }),
    ...modelsOfAgent(agent, runtime.registry),
    ...workerFacts(runtime),
    childCheckMs: runtime.childCheckMs,
    searchAttributes: searchAttributes.agentAndStatus,
    waitingForAttribute: searchAttributes.waitingFor,
    tags: input.tags,
    tenantDigest: await tenantDigest(runtime, input),
    live: input.live,
    tagAttribute: searchAttributes.tag ?? false,
    startedAttribute: searchAttributes.started ?? false,
    ...defined({ limits: input.limits, left: input.left }),
    ...(input.priced ? { priced: true } : {}),
    mcpTools,
    parts,
    flow: known.flow,
  });
  checkSnapshotSize(snapshot);
  await checkInjected(runtime, snapshot);
  runtime.snapshots.add(snapshot);
  const whole = document === undefined ? snapshot : withoutDocument(snapshot, document);
  return { ...whole, ...defined({ opening }), ...(notices.length === 0 ? {} : { notices }) };
}

/** Returns the text of the run's input: none for a run that began with messages. */
async function inputOf(input: ResolveAgentInput, opening: ChildInputAnswer | undefined): Promise<string> {
  if (opening?.input !== undefined) return opening.input;
  const { input: text = '' } = await queryRun<DataView>(input, QUERIES.data, null);
  return text;
}

/** Returns the texts of the anchors that a document names. */
function anchorTexts({ anchors }: ActivityRuntime, document: AgentDocument | undefined): string[] {
  const { anchors: names = [], lenient } = document ?? {};
  return anchors.named(names, { lenient: lenient === true }).map(anchorInstruction);
}

/** Returns the agent with the overrides of this run. Throws `invalid_input` for invalid overrides. */
function applyOverrides(agent: AnyAgent, input: ResolveAgentInput): AnyAgent {
  try {
    return withOverrides(agent, input);
  } catch (error) {
    throw new LonghaulError('invalid_input', `The run cannot start: ${errorMessage(error)}`);
  }
}

/**
 * Returns the tools of the agent's MCP servers, and notices about them for a person. The texts are recorded in history, so secrets are
 * redacted.
 */
async function toolsOfServers(runtime: ActivityRuntime, agent: AnyAgent, stop: AbortSignal): Promise<ListedMcpTools> {
  const { name: agentName, tools, mcp = [], code } = agent;
  if (mcp.length === 0) return { tools: [], notices: [] };
  const taken = new Set([
    ...RESERVED_TOOL_NAMES,
    ...WORKER_PARTS.flatMap((part) => part.toolNames?.(agent) ?? []),
    ...tools.map(({ name }) => name),
    ...runtime.otherActivities,
  ]);
  const listed = await listMcpTools({ pool: runtime.mcp, servers: mcp, taken, language: code?.executor.language, stop });
  const notices = boundNotices(
    listed.notices.map((notice) => ({ ...notice, message: runtime.secrets.redact(notice.message).toWellFormed() })),
  );
  for (const { message } of notices) runtime.logOnce(`Agent "${agentName}": ${message}`);
  return { tools: listed.tools.map((tool) => ({ ...tool, ...redactedTexts(runtime, tool) })), notices };
}

function redactedTexts({ secrets }: ActivityRuntime, { description, parameters, schema }: ToolSnapshot): Partial<ToolSnapshot> {
  return secrets.redactJson({ description, parameters, schema }) as Pick<ToolSnapshot, 'description' | 'parameters' | 'schema'>;
}

async function resolveInstructions(agent: AnyAgent, deps: unknown): Promise<string[]> {
  const { instructions } = agent;
  if (typeof instructions !== 'function') return asList(instructions);
  try {
    return asList(await instructions(deps as never));
  } catch (error) {
    throw new LonghaulError('instructions_failed', `The instructions of agent "${agent.name}" failed: ${errorMessage(error)}`, {
      cause: error,
    });
  }
}

function asList(instructions: string | readonly string[]): string[] {
  return typeof instructions === 'string' ? [instructions] : [...instructions];
}

/** Returns the initial values of an agent's code for these deps. Throws `invalid_agent` for anything but a bounded JSON object. */
async function injectedValues({ name, code }: AnyAgent, deps: unknown): Promise<JsonObject | undefined> {
  if (code?.inject === undefined) return undefined;
  const values = await callInject(name, () => code.inject?.({ deps: deps as never }));
  const problem = injectionProblem(values, 'its result');
  if (problem !== undefined) throw unusableValues(name, problem);
  if (!isJsonObject(values)) throw unusableValues(name, 'its result is not an object: return {name: value}');
  const bytes = jsonBytes(values);
  if (bytes > BYTE_BUDGETS.injected) {
    throw unusableValues(
      name,
      `its result has ${bytes} bytes of JSON, over ${BYTE_BUDGETS.injected}: inject less, or let a tool look it up`,
    );
  }
  return values;
}

/** Throws `invalid_agent` if the executor cannot inject the values because of their names. */
async function checkInjected(runtime: ActivityRuntime, snapshot: AgentSnapshot): Promise<void> {
  if (snapshot.code?.injected === undefined) return;
  try {
    const executor = await codeExecutor(runtime, snapshot);
    await executor.close();
  } catch (error) {
    throw unusableValues(snapshot.name, errorMessage(error));
  }
}

async function callInject(agent: string, inject: () => unknown): Promise<unknown> {
  try {
    return await inject();
  } catch (error) {
    throw new LonghaulError('invalid_agent', `"code.inject" of agent "${agent}" failed: ${errorMessage(error)}`, { cause: error });
  }
}

function unusableValues(agent: string, problem: string): LonghaulError {
  return new LonghaulError('invalid_agent', `"code.inject" of agent "${agent}" returned values that its code cannot have: ${problem}`);
}

/**
 * Returns the agent that a document describes, with the tools that this worker has for programs. Throws `unknown_tool`: another worker may
 * have the tool. The steps of a lenient program may name tools that no worker has.
 */
function documentAgent({ programs, registry }: ActivityRuntime, name: string, document: AgentDocument): AnyAgent {
  const { model, instructions, settings = {}, output, lenient } = document;
  const tools = document.tools.map((toolName): AnyTool => {
    const tool = programs.tool(toolName);
    if (tool !== undefined && mayCall('model', tool)) return tool;
    if (tool !== undefined) {
      throw new LonghaulError(
        'invalid_agent',
        `Step "${document.step}" names the tool "${toolName}", which only code may call: steps run no code`,
      );
    }
    const missing = registry.missingTool({ agentName: name, ofProgram: true }, toolName);
    throw lenient ? new LonghaulError('unknown_tool', missing.message) : missing;
  });
  return {
    kind: 'longhaul.agent',
    name,
    model: modelName(`step "${document.step}"`, model),
    instructions,
    tools,
    onUnknownOutcome: 'report',
    ...(output === undefined ? {} : { output: outputOf(output) }),
    settings,
    window: {},
    limits: { steps: DEFAULT_STEPS, finalAttempt: false },
    parallel: true,
    modelTimeoutMs: ASK_TIMEOUT_MS,
    modelMaxAttempts: ASK_ATTEMPTS,
  };
}

/**
 * Returns the output definition of a step. An invalid answer is not sent back to the model: the step is retried if its `refine` says so.
 */
function outputOf(schema: JsonObject): OutputDefinition {
  const isObject = isObjectSchema(schema);
  const strict = isObject ? toStrictJsonSchema(schema) : toStrictPart(schema);
  return {
    zod: z.unknown(),
    schema,
    providerSchema: strict.strict ? strict.schema : portableSchema(schema),
    strict: strict.strict,
    mode: isObject ? undefined : 'final_answer',
    maxRetries: 0,
  };
}

/** The pinned models of an agent: the capabilities that all of them share, and the list if there are several. */
interface ModelsOfAgent {
  capabilities: ModelCapabilities;
  fallback?: FallbackPolicy;
}

/** The model clients of a worker. */
interface Providers {
  provider(model: string): ModelClient;
}

/** Returns the models of an agent. Throws `unknown_provider` if this worker lacks a provider. */
export function modelsOfAgent({ model, fallback }: Pick<AnyAgent, 'model' | 'fallback'>, providers: Providers): ModelsOfAgent {
  if (fallback === undefined) return { capabilities: providers.provider(model).capabilities };
  const { models, on, coolDownMs, maxWaitMs, returnAt } = fallback;
  const listed = models.map((one) => ({ model: one, contextTokens: contextTokens(one, providers.provider(one).capabilities) }));
  return {
    capabilities: {
      // The form of the answer is pinned: every model of the list must be able to give it.
      structuredOutput: models.every((one) => providers.provider(one).capabilities.structuredOutput),
      contextTokens: Math.min(...listed.map((one) => one.contextTokens)),
    },
    fallback: { models: listed, ...defined({ on: on === undefined ? undefined : [...on], coolDownMs, maxWaitMs, returnAt }) },
  };
}
