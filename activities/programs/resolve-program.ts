import { activityInfo, getClient } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { ActivityFunctions } from '../../src/core/activity-requests/contracts.ts';
import type { AgentSnapshot, ChildLimits, OwnLimits, ToolSnapshot } from '../../src/core/domain/agent.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { type LimitChanges, narrowLimits, plainLimits, type RunLimits } from '../../src/core/domain/limits.ts';
import { LonghaulError } from '../../src/core/domain/errors.ts';
import { jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import {
  allSteps,
  DEFAULT_MODEL_CALLS,
  modelsOf,
  type ProgramDocument,
  type StepDocument,
} from '../../src/core/domain/program-document.ts';
import type { EarlierRun, ProgramState, StoredOutput } from '../../src/core/domain/program-run.ts';
import { DEFAULT_CHILD_CHECK_MS } from '../../src/core/domain/run-input.ts';
import { isSameIdentity, type Principal } from '../../src/core/domain/run.ts';
import { checkJson, problemsText } from '../../src/core/json-schema/check-json-schema.ts';
import { objectWith } from '../../src/core/json-schema/json-schema.ts';
import { fromProblem } from '../../src/core/program/check/check-from.ts';
import { checkProgram } from '../../src/core/program/check/check-program.ts';
import { invalidProgram } from '../../src/core/program/check/problems.ts';
import { editSchema, REVIEW_SUFFIX } from '../../src/core/program/approvals.ts';
import { ITEMS_SUFFIX } from '../../src/core/program/stored-outputs.ts';
import { QUERIES, type ReadProgramInput, type ResolveProgramInput, type StepValuesAnswer } from '../../src/core/protocol.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { pinnedQuietHours } from '../../src/define/quiet-hours.ts';
import type { AnyTool } from '../../src/define/tool-definition.ts';
import { executionBeginning } from '../../src/history/execution-reader.ts';
import { readExecution } from '../../src/history/read-run.ts';
import type { PriceTable } from '../../src/model/models.ts';
import { describeRun, runNotFound } from '../../src/temporal/run-workflow.ts';
import {
  checkSnapshotSize,
  commonFields,
  type CommonInputs,
  parkingFields,
  pricesOf,
  snapshotDigest,
  toolSnapshot,
  workerFacts,
} from '../agents/build-snapshot.ts';
import { runAttempt } from '../attempts/attempt.ts';
import { failingAs } from '../attempts/failure.ts';
import { tenantDigest } from '../governor/tenant-digest.ts';
import { queryRun } from '../run-queries/query-run.ts';
import type { ActivityRuntime } from '../runtime.ts';
import type { OutputStore } from './step-values.ts';

/** The activities for a program as a whole. */
export function programActivities(runtime: ActivityRuntime): Pick<ActivityFunctions, 'resolveProgram' | 'readProgram'> {
  return { resolveProgram: resolveProgramActivity(runtime), readProgram: readProgramActivity(runtime) };
}

/**
 * Creates the first activity of a program's run: checks the program and its input, and pins the data that the run needs from the worker.
 */
function resolveProgramActivity(runtime: ActivityRuntime): (input: ResolveProgramInput) => Promise<AgentSnapshot> {
  const { aborts, heartbeatMs, notifyEnded } = runtime;
  const details = notifyEnded === undefined ? undefined : { notifyEnded: true };
  return failingAs('invalid_program', (input) => runAttempt(aborts, { heartbeatMs }, () => resolveProgram(runtime, input)), details);
}

async function resolveProgram(runtime: ActivityRuntime, input: ResolveProgramInput): Promise<AgentSnapshot> {
  const { program: given } = await queryRun<StepValuesAnswer>(input, QUERIES.stepValues, { program: true });
  const document = input.program === undefined ? given?.document : runtime.programs.document(input.program);
  if (document === undefined) throw new LonghaulError('invalid_program', 'The run has neither the name of a program nor a document');
  requireChecked(runtime, document);
  const problems = document.input === undefined ? [] : checkJson(document.input, given?.input ?? {});
  if (problems.length > 0) {
    throw new LonghaulError('invalid_input', `The input of program "${document.name}" does not fit: ${problemsText(problems)}`);
  }
  const unknown = input.from === undefined ? undefined : fromProblem(document, input.from);
  if (unknown !== undefined) throw new LonghaulError('invalid_input', unknown);
  const known = await runtime.searchAttributes();
  const snapshot = programSnapshot(document, {
    tool: (name) => runtime.programs.tool(name),
    definitions: { agents: runtime.registry.agents, programs: runtime.programs.documents },
    limits: input.limits,
    left: input.left,
    childCheckMs: runtime.childCheckMs ?? DEFAULT_CHILD_CHECK_MS,
    ...workerFacts(runtime),
    searchAttributes: known.agentAndStatus,
    waitingForAttribute: known.waitingFor,
    tags: input.tags,
    tenantDigest: await tenantDigest(runtime, { ...input, principal: true }),
    live: input.live,
    tagAttribute: known.tag ?? false,
    startedAttribute: known.started ?? false,
  });
  checkSnapshotSize(snapshot);
  runtime.snapshots.add(snapshot);
  if (input.program !== undefined) return snapshot;
  const { program: _, ...withoutDocument } = snapshot;
  return withoutDocument;
}

/** Throws `invalid_program` with all problems of a document. */
function requireChecked({ programs, anchors, memory, registry }: ActivityRuntime, document: ProgramDocument): void {
  const { problems } = checkProgram(document, {
    tools: programs.tools,
    agents: registry.agents,
    programs: programs.documents,
    anchors: anchors.names.map((name) => ({ name })),
    providers: registry.providerNames,
    hasMemory: memory !== undefined,
  });
  if (problems.length > 0) throw invalidProgram(document.name, problems);
}

/** The time limit of one attempt of a program's model call, and the number of attempts. */
export const ASK_TIMEOUT_MS = 600_000;
export const ASK_ATTEMPTS = 5;

/** The inputs of a program's snapshot in addition to its document. */
interface ProgramSnapshotInputs extends CommonInputs {
  /** Returns a tool of the worker. */
  tool: (name: string) => AnyTool | undefined;
  /** The agents and programs of the worker. */
  definitions: ChildDefinitions;
  limits?: LimitChanges | undefined;
  /** The remaining amounts of the parent's limits. */
  left?: LimitChanges | undefined;
  /** Milliseconds between two checks that a child is still running. */
  childCheckMs: number;
  prices: PriceTable;
}

/** Builds the snapshot of a program: the document, and the data that its run needs from the worker, pinned for the run. */
export function programSnapshot(program: ProgramDocument, inputs: ProgramSnapshotInputs): AgentSnapshot {
  const limits = narrowLimits(limitsOf(program, inputs.limits), inputs.left);
  const prices = pricesOf(
    modelsOf(program),
    limits,
    { prices: inputs.prices },
    (unenforced) => new LonghaulError('invalid_program', unenforced(`of program "${program.name}"`)),
  );
  const shared = childLimits(program, limits, inputs);
  const content: Omit<AgentSnapshot, 'digest'> = {
    version: 1,
    name: program.name,
    instructions: [],
    model: program.model ?? '',
    tools: [...namedTools(program, inputs), ...questionTools(program)],
    parallel: true,
    settings: {},
    limits,
    timing: {
      heartbeatMs: inputs.heartbeatMs,
      modelTimeoutMs: ASK_TIMEOUT_MS,
      modelMaxAttempts: ASK_ATTEMPTS,
      ...parkingFields(inputs),
      childCheckMs: inputs.childCheckMs,
    },
    ...defined({ prices }),
    ...commonFields(inputs),
    ...(program.quietHours === undefined ? {} : { quietHours: pinnedQuietHours(program.quietHours) }),
    ...defined({ childLimits: shared }),
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

function namedTools(program: ProgramDocument, { tool }: ProgramSnapshotInputs): ToolSnapshot[] {
  const names = new Set(allSteps(program).flatMap(({ step }) => step.tool?.name ?? []));
  return [...names].flatMap((name) => {
    const found = tool(name);
    return found === undefined ? [] : [toolSnapshot(found)];
  });
}

/** Returns the subjects of people's decisions as tools, whose schemas check the decisions. */
function questionTools(program: ProgramDocument): ToolSnapshot[] {
  return allSteps(program).flatMap(({ unit, step }) => {
    const name = `${unit.name}.${step.name}`;
    const asked: ToolSnapshot[] = [];
    const output = outputOf(step);
    // A question and its approval share a name. An answer in place of the step, or of its output, is its output.
    if (step.human !== undefined || (step.approval !== undefined && step.tool === undefined))
      asked.push(questionTool(name, { schema: editSchema(step), ...defined({ answer: output }) }));
    if (step.review !== undefined)
      asked.push(questionTool(`${name}${REVIEW_SUFFIX}`, { schema: objectWith('output', output ?? {}), ...defined({ answer: output }) }));
    return asked;
  });
}

/** Returns the schema of a step's output, if the document says what it is. */
function outputOf({ ask, human }: StepDocument): JsonObject | undefined {
  const asked = ask ?? human;
  return asked && (asked.output ?? { type: 'string' });
}

function questionTool(name: string, { schema, answer }: { schema: JsonObject; answer?: JsonObject }): ToolSnapshot {
  const policy = { timeoutMs: 1, maxAttempts: 1, parallel: true, strict: false, description: '' };
  return { ...policy, name, parameters: schema, schema, ...defined({ answer }) };
}

/** The agents and programs of a worker. */
interface ChildDefinitions {
  agents: readonly AnyAgent[];
  programs: readonly ProgramDocument[];
}

/**
 * Returns the limits of the agents and programs that steps of a program run; undefined if the program has no limit to share with them. They
 * only determine a child's share of a limit and do not bind the child: another worker may define it with other limits.
 */
function childLimits(
  program: ProgramDocument,
  limits: RunLimits,
  { definitions: { agents, programs }, tool }: Pick<ProgramSnapshotInputs, 'definitions' | 'tool'>,
): ChildLimits | undefined {
  const { steps: most, finalAttempt: _, deadlineMs: __, onLimit: ___, ...others } = limits;
  if (most === DEFAULT_MODEL_CALLS && Object.keys(others).length === 0) return undefined;
  const steps = allSteps(program).map(({ step }) => step);
  const agentNames = new Set(steps.flatMap(({ agent }) => agent?.name ?? []));
  const programNames = new Set(steps.flatMap(({ program: called }) => called?.name ?? []));
  const agentTools = new Set(steps.flatMap(({ ask }) => ask?.tools ?? []).filter((name) => tool(name)?.agent !== undefined));
  if (agentNames.size + programNames.size + agentTools.size === 0) return undefined;
  const tools = Object.keys(limits.toolCallsByName ?? {});
  return {
    agents: Object.fromEntries(agents.filter(({ name }) => agentNames.has(name)).map((agent) => [agent.name, limitsOfAgent(agent, tools)])),
    programs: Object.fromEntries(
      programs.filter(({ name }) => programNames.has(name)).map((one) => [one.name, withoutDeadline(limitsOfProgram(one))]),
    ),
    ...(agentTools.size === 0 ? {} : { agentTools: [...agentTools] }),
  };
}

/** Returns the limits of an agent. It needs no calls of the limited tools that neither it nor an agent below it can have. */
function limitsOfAgent({ limits, tools, mcp = [], handoffs = [], flow }: AnyAgent, limitedTools: readonly string[]): OwnLimits {
  const { finalAttempt, steps, ...others } = limits;
  const mayHaveOthers = mcp.length > 0 || handoffs.length > 0 || flow !== undefined || tools.some(({ agent }) => agent !== undefined);
  const lacking = mayHaveOthers ? [] : limitedTools.filter((tool) => tools.every(({ name }) => name !== tool));
  const byName = { ...others.toolCallsByName, ...Object.fromEntries(lacking.map((tool) => [tool, 0])) };
  return withoutDeadline({
    ...others,
    steps: steps + (finalAttempt ? 1 : 0),
    ...(Object.keys(byName).length === 0 ? {} : { toolCallsByName: byName }),
  });
}

function limitsOfProgram({ name, limits = {}, onLimit }: ProgramDocument): OwnLimits {
  return { ...plainLimits(`program "${name}"`, limits), ...(onLimit === 'ask' ? { onLimit } : {}) };
}

function withoutDeadline({ deadlineMs: _, ...limits }: OwnLimits): OwnLimits {
  return limits;
}

/** The maximum bytes of results that a run reuses: they are carried until the steps that need them have begun. */
const MAX_EARLIER_BYTES = 1_000_000;

/** Creates the activity that reads the program, the input and the results of an earlier run from its history, without its worker. */
function readProgramActivity({ stepValues }: ActivityRuntime): (input: ReadProgramInput) => Promise<EarlierRun> {
  return failingAs('internal', (input) => readEarlierRun(stepValues.store, input));
}

async function readEarlierRun(store: OutputStore, { runId }: ReadProgramInput): Promise<EarlierRun> {
  const client = getClient();
  const { runId: executionId, status } = await describeRun(client, runId);
  const run = (await readExecution(client, runId, executionId))?.run;
  // The caller must not learn that another principal's run exists, nor get any of its data.
  if (run === undefined || !isSameIdentity(run.principal ?? {}, (await ownPrincipal(client)) ?? {})) throw runNotFound(client, runId);
  // Both runs would continue with the same steps.
  if (status.name === 'RUNNING')
    throw new LonghaulError('run_open', `Run "${runId}" is still running: wait for its end, or cancel it first, and resume it then`);
  const program = run.state?.program;
  if (program === undefined)
    throw new LonghaulError('invalid_input', `Run "${runId}" cannot be resumed: it is not the run of a program, or it never began`);
  return earlierRun(runId, program, (stored) => store.get(stored, { namespace: client.options.namespace, runId }));
}

/** Returns the principal of the current activity's run. */
async function ownPrincipal(client: Client): Promise<Principal | undefined> {
  const { workflowExecution } = activityInfo();
  if (workflowExecution === undefined) return undefined;
  return (await executionBeginning(client, workflowExecution.workflowId, workflowExecution.runId))?.principal;
}

/** Returns the parts of an earlier run that a run reuses. `load` loads an output from the payload store. */
export async function earlierRun(
  runId: string,
  { document, input, steps }: Pick<ProgramState, 'document' | 'input' | 'steps'>,
  load: (stored: StoredOutput) => Promise<JsonValue>,
): Promise<EarlierRun> {
  const ended = [...steps].filter(([, { status }]) => status === 'completed');
  const unfinished = [...steps].filter(([, { status }]) => status !== 'completed');
  const dropped = [...steps].flatMap(([at, { status, outputForgotten, items, spilledItems }]) =>
    outputForgotten === true && (status === 'completed' || items !== undefined || spilledItems !== undefined) ? [at] : [],
  );
  const earlier: EarlierRun = { document, input, outputs: [] };
  if (dropped.length > 0) earlier.dropped = dropped;
  if (document.lenient === true) earlier.order = [...steps.keys()];
  requireFitting(runId, jsonBytes(earlier), [
    ...ended.map(([at, { output, spilled }]): Sized => [at, output === undefined ? (spilled?.bytes ?? 0) : jsonBytes(output)]),
    ...unfinished.map(([at, { items = {}, spilledItems = [] }]): Sized => [
      at,
      spilledItems.reduce((sum, { spilled }) => sum + spilled.bytes, jsonBytes(items)),
    ]),
  ]);
  for (const [address, { output, spilled, outputId: id }] of ended) {
    if (output !== undefined) earlier.outputs.push([address, output]);
    else if (spilled !== undefined && id !== undefined) earlier.outputs.push([address, await load({ address, id, spilled })]);
  }
  for (const [address, { rounds }] of [...ended, ...unfinished]) {
    if (rounds !== undefined) (earlier.rounds ??= []).push([address, rounds]);
  }
  for (const [address, { items, spilledItems = [] }] of unfinished) {
    const outputs: Record<string, JsonValue> = { ...items };
    for (const { id, spilled } of spilledItems) {
      const value = await load({ address: `${address}${ITEMS_SUFFIX}`, id, spilled });
      if (isJsonObject(value)) Object.assign(outputs, value);
    }
    if (Object.keys(outputs).length > 0) (earlier.items ??= []).push([address, outputs]);
  }
  return earlier;
}

/** The address of a step, and the bytes of its results. */
type Sized = [address: string, bytes: number];

/** Throws if the results of a run are too large to be carried. `others`: the bytes of its program and input. */
function requireFitting(runId: string, others: number, results: readonly Sized[]): void {
  const bytes = results.reduce((sum, [at, own]) => sum + jsonBytes(at) + own + OF_EACH_RESULT, others);
  if (bytes <= MAX_EARLIER_BYTES) return;
  const [[at, largest] = ['', 0]] = results.toSorted(([, one], [, other]) => other - one);
  const found = at === '' ? '' : `; the largest is that of step "${at}", with ${largest} bytes`;
  throw new LonghaulError(
    'payload_too_large',
    `Run "${runId}" cannot be resumed: its results, with its program and its input, are ${bytes} bytes of JSON, over ${MAX_EARLIER_BYTES}${found}. ` +
      'Start a new run without "resume", or a program of the remaining steps, with the results that they need in its input',
  );
}

/** Bytes of JSON of a result in addition to its address and its value, at most. */
const OF_EACH_RESULT = 20;
