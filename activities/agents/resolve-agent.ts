import { anchorInstruction } from '../../src/anchors/anchor-instruction.ts';
import { type AgentDocument, rulesOf, withoutDocument } from '../../src/core/domain/agent/agent-document.ts';
import type { ToolSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { TRANSFER_TO_AGENT } from '../../src/core/domain/handoffs/handoff-policy.ts';
import { MEMORY_TOOLS } from '../../src/core/domain/memory/memory-tools.ts';
import { SKILL_TOOLS } from '../../src/core/domain/skills/skill-snapshot.ts';
import type { HookSnapshot } from '../../src/core/domain/hooks/hook-snapshot.ts';
import type { JsonObject } from '../../src/core/domain/json/json.ts';
import { depsProblem } from '../../src/core/domain/record/deps-problem.ts';
import { boundNotices } from '../../src/core/domain/record/notice.ts';
import { errorMessage, LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { parseDeps } from '../../src/define/options/parse-deps.ts';
import { withOverrides } from '../../src/define/options/with-overrides.ts';
import { RESERVED_NAMES } from '../../src/define/options/reserved-names.ts';
import { type ChildInputAnswer, type DataView, QUERIES, type ResolveAgentInput, type ResolveAgentOutput } from '../../src/core/protocol.ts';
import { attempt } from '../attempts/attempt.ts';
import { buildSnapshot } from './build-snapshot.ts';
import { documentAgent } from './document-agent.ts';
import { checkSnapshotSize } from './check-snapshot-size.ts';
import { checkInjected, injectedValues } from './injected-values.ts';
import { firstOfFlow, requireDeps } from '../handoffs/first-of-flow.ts';
import { namedAgent } from '../handoffs/named-agent.ts';
import { transferTargets } from '../handoffs/transfer-targets.ts';
import { failingAs } from '../failures/failure.ts';
import { openSession } from '../hooks/session-hooks.ts';
import { type ListedMcpTools, listMcpTools } from '../mcp/list-tools.ts';
import { pinSkills } from '../skills/skill-fields.ts';
import { openingOfCall } from '../run-queries/opening-of-call.ts';
import { workerFacts } from './worker-facts.ts';
import { queryRun } from '../run-queries/access.ts';
import { dataFor } from '../run-queries/data.ts';
import type { ActivityRuntime } from '../runtime.ts';

/**
 * Creates the first activity of a run: it resolves the agent by name, and its instructions for these deps, to the
 * snapshot that the run is pinned to.
 */
export function resolveAgentActivity(runtime: ActivityRuntime): (input: ResolveAgentInput) => Promise<ResolveAgentOutput> {
  const { aborts, heartbeatMs, notifyEnded } = runtime;
  // A run whose agent cannot be resolved has no snapshot to say that its end must be notified: the failure says it.
  const details = notifyEnded === undefined ? undefined : { notifyEnded: true };
  return failingAs(
    'invalid_agent',
    (input) => attempt(aborts, { heartbeatMs }, ({ signal }) => resolveAgent(runtime, input, signal)),
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
  const skills = await pinSkills(runtime, agent.name, () => inputOf(input, opening));
  const hooks = runtime.registry.hooks(agent, input.hooks);
  const parsedDeps = parseDeps(agent, deps);
  const texts = [...(await resolveInstructions(agent, parsedDeps)), ...anchorTexts(runtime, document), ...skills.instructions];
  const opened = await openRun(runtime, input, { agent: agent.name, hooks, deps, signal }, texts);
  const snapshot = buildSnapshot(agent, {
    instructions: opened.instructions,
    injected: await injectedValues(agent, parsedDeps),
    ...(document === undefined ? {} : { checks: rulesOf(document) }),
    capabilities: runtime.registry.provider(agent.model).capabilities,
    ...workerFacts(runtime),
    childCheckMs: runtime.childCheckMs,
    searchAttributes: searchAttributes.agentAndStatus,
    waitingForAttribute: searchAttributes.waitingFor,
    tags: input.tags,
    live: input.live,
    tagAttribute: searchAttributes.tag ?? false,
    ...(input.limits === undefined ? {} : { limits: input.limits }),
    ...(input.left === undefined ? {} : { left: input.left }),
    ...(input.priced ? { priced: true } : {}),
    ...(input.permissions === undefined ? {} : { permissions: input.permissions }),
    hooks,
    hookRecords: opened.records,
    mcpTools,
    skills,
    handoffs: transferTargets(runtime.registry, agent),
    flow: known.flow,
  });
  checkSnapshotSize(snapshot);
  await checkInjected(runtime, snapshot);
  runtime.snapshots.add(snapshot);
  const pinned = document === undefined ? snapshot : withoutDocument(snapshot, document);
  return { ...pinned, ...(opening === undefined ? {} : { opening }), ...(notices.length === 0 ? {} : { notices }) };
}

/** Returns the text of the input of the run: a run that has begun with messages has none. */
async function inputOf(input: ResolveAgentInput, opening: ChildInputAnswer | undefined): Promise<string> {
  if (opening?.input !== undefined) return opening.input;
  const { input: text = '' } = await queryRun<DataView>(input, QUERIES.data, null);
  return text;
}

/** The run that begins, with the hooks of its agent. */
interface OpeningRun {
  agent: string;
  hooks: HookSnapshot[];
  deps: JsonObject;
  signal: AbortSignal;
}

/** Calls the hooks at the start of a run, with the instructions of its agent. An agent that takes over goes on with a run. */
function openRun(
  runtime: ActivityRuntime,
  run: ResolveAgentInput,
  { agent: name, hooks, deps, signal }: OpeningRun,
  instructions: string[],
): ReturnType<typeof openSession> {
  const begun = run.from === undefined ? hooks : [];
  const { principal } = run;
  const input = { ...(run.run === undefined ? {} : { run: run.run }), deps, ...(principal === undefined ? {} : { principal }) };
  const scope = { runtime, run, snapshot: { name, hooks: begun }, signal, data: () => dataFor(runtime, input) };
  return openSession(scope, instructions);
}

/** Returns the texts of the anchors that a document names. */
function anchorTexts({ anchors }: ActivityRuntime, document: AgentDocument | undefined): string[] {
  const { anchors: names = [], lenient } = document ?? {};
  return anchors.named(names, { lenient: lenient === true }).map(anchorInstruction);
}

/** Returns the agent with the overrides of this run. Throws `invalid_input` for overrides that are not valid. */
function applyOverrides(agent: AnyAgent, input: ResolveAgentInput): AnyAgent {
  try {
    return withOverrides(agent, input);
  } catch (error) {
    throw new LonghaulError('invalid_input', `The run cannot start: ${errorMessage(error)}`);
  }
}

/**
 * Returns the tools of the agent's MCP servers, and what a person should know of them. Their texts are recorded in history, so secrets
 * are redacted.
 */
async function toolsOfServers(
  runtime: ActivityRuntime,
  { name: agentName, tools, mcp = [], code, memory }: AnyAgent,
  stop: AbortSignal,
): Promise<ListedMcpTools> {
  if (mcp.length === 0) return { tools: [], notices: [] };
  const taken = new Set([
    ...RESERVED_NAMES,
    ...SKILL_TOOLS,
    ...(memory?.tools ? MEMORY_TOOLS : []),
    TRANSFER_TO_AGENT,
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
