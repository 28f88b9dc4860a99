import { anchorInstruction } from '../../src/anchors/anchors.ts';
import type { ActivityFunctions } from '../../src/core/activity-requests/contracts.ts';
import type { AgentSnapshot, ModelSettings } from '../../src/core/domain/agent.ts';
import type { SpilledContent } from '../../src/core/domain/content.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { errorMessage, LonghaulError, UsageError } from '../../src/core/domain/errors.ts';
import { BYTE_BUDGETS, jsonBytes, jsonPiece, WHOLE_BYTES } from '../../src/core/domain/byte-budgets.ts';
import type { ModelCapabilities, RecordedResponse } from '../../src/core/domain/model.ts';
import type { AskDocument, ProgramDocument, UnitDocument } from '../../src/core/domain/program-document.ts';
import type {
  BriefResponse,
  LoadOutputInput,
  LoadOutputOutput,
  StoreOutputsInput,
  StoreOutputsOutput,
} from '../../src/core/domain/program-run.ts';
import { answerOf } from '../../src/core/kernel/next-step.ts';
import { contextOf, type Lookup, lookupOf, resolveValue, type UnitContext } from '../../src/core/program/references.ts';
import { anchorNames, type PromptParts, renderAsk, type RenderedPrompt } from '../../src/core/program/ask.ts';
import { type IndexedStep, indexOf, parseAddress, type StepAddress } from '../../src/core/program/program-index.ts';
import type { AskStepInput, AskStepOutput, UseMemoryInput, UseMemoryOutput } from '../../src/core/protocol.ts';
import { memoryNamespace, type MemorySource, type MemoryStore } from '../../src/memory/memory-store.ts';
import { CONTAINED_SCORE } from '../../src/memory/search.ts';
import { interpretResponse } from '../../src/model/interpret-response.ts';
import { portableSchema } from '../../src/schema/portable-schema.ts';
import { toStrictPart } from '../../src/schema/strict-json-schema.ts';
import { runAttempt } from '../attempts/attempt.ts';
import { failingAs, permanentFailure } from '../attempts/failure.ts';
import { callContext } from '../governor/governed-call.ts';
import { parkAgain, parkForBatch, registeringTiming } from '../batch/park-call.ts';
import { limitResponseSize, withFiles } from '../model-calls/recorded-answer.ts';
import { askModel, modelActivity } from '../model-calls/ask-model.ts';
import { logWarnings } from '../model-calls/call-model.ts';
import { buildRequest } from '../../src/model/build-request.ts';
import type { AskedModels } from '../model-calls/fallback.ts';
import type { Patience } from '../model-calls/patience.ts';
import { runIdOf } from '../run-queries/query-run.ts';
import { type ActivityRuntime, dataFor } from '../runtime.ts';
import { modelStream } from '../streams/activity-streams.ts';
import { activityCall, modelSpans } from '../telemetry/call-spans.ts';
import { shortId } from '../tool-calls/execute-tool.ts';
import type { StepReference } from './step-values.ts';
import { asGiven, verdictOn } from './verdict-on.ts';

/** The activities of a program's steps. */
export function stepActivities(runtime: ActivityRuntime): Pick<ActivityFunctions, 'askStep' | 'useMemory' | 'storeOutputs' | 'loadOutput'> {
  return {
    askStep: askStepActivity(runtime),
    useMemory: useMemoryActivity(runtime),
    storeOutputs: storeOutputsActivity(runtime),
    loadOutput: loadOutputActivity(runtime),
  };
}

/**
 * Creates the activity of one attempt of an `ask`: renders the prompt from the pinned program and the outputs that it
 * names, calls the model once, and checks the answer with the anchors and the validator.
 */
function askStepActivity(runtime: ActivityRuntime): (input: AskStepInput) => Promise<AskStepOutput> {
  return modelActivity((input, patience) => askStep(runtime, input, patience));
}

async function askStep(runtime: ActivityRuntime, input: AskStepInput, patience: Patience): Promise<AskStepOutput> {
  if (!input.unbatched) await parkAgain(runtime);
  const call = await readyAsk(runtime, input, patience);
  const { asked, snapshot, isBatched } = call;
  const parked = { activity: 'askStep', input, snapshot, asked, key: patience.call } as const;
  const end = isBatched ? await parkForBatch(runtime, parked) : undefined;
  return end ?? answerAsk(runtime, call, asked);
}

/** A step's model call with its request, before it is sent. */
interface ReadyAsk {
  input: AskStepInput;
  patience: Patience;
  snapshot: AgentSnapshot;
  /** The call waits for a batch, by its step's tier, otherwise the run's. */
  isBatched: boolean;
  /** The snapshot of an agent that only makes this call. */
  own: AgentSnapshot;
  address: StepAddress;
  step: IndexedStep['step'];
  context: UnitContext;
  anchors: ReturnType<ActivityRuntime['anchors']['named']>;
  lenient: boolean;
  prompt: string;
  asked: AskedModels;
}

/** Makes the request of a step. */
export async function readyAsk(runtime: ActivityRuntime, input: AskStepInput, patience: Patience): Promise<ReadyAsk> {
  const snapshot = await runtime.snapshots.load(input, input.agent);
  const { program, timing } = snapshot;
  if (program === undefined) throw new LonghaulError('internal', `The snapshot of the run has no program`);
  const { unit, step } = stepOf(program, input).indexed;
  const isBatched = (step.ask?.tier ?? snapshot.tier) === 'batch' && !input.unbatched;
  patience.bind(isBatched ? registeringTiming(timing) : timing);
  const { address, context, lookup } = await stepScope(runtime, program, input);
  if (step.ask === undefined) throw new LonghaulError('internal', `Step "${input.step}" makes no model call`);
  const lenient = program.lenient === true;
  const anchors = runtime.anchors.named(anchorNames(unit, step.ask), { lenient });
  const parts = { lookup, lenient, anchors: anchors.map(anchorInstruction) };
  const { instructions, prompt, failure } = await renderStep(runtime, input, { unit, ask: step.ask, parts });
  const client = runtime.registry.provider(step.ask.model ?? program.model ?? '');
  const own: AgentSnapshot = askSnapshot(snapshot, { unit, ask: step.ask, instructions, capabilities: client.capabilities });
  context.append('user', prompt);
  const conversation = context.messages.map(({ role, content }) => ({
    author: role,
    content: [{ type: 'message' as const, role, content }],
  }));
  const request = { ...buildRequest(own, conversation, false), ...defined({ failureContext: failure }) };
  // A program names one model for each step, and `refine` retries a failed step.
  const asked = { models: [{ name: own.model, client, request }] };
  return { input, patience, snapshot, isBatched, own, address, step, context, anchors, lenient, prompt, asked };
}

/** Asks the model, and returns the answer in recorded form. */
export async function answerAsk(
  runtime: ActivityRuntime,
  { input, patience, snapshot, own, address, step, context, anchors, lenient, prompt }: ReadyAsk,
  asked: AskedModels,
): Promise<AskStepOutput> {
  const beginStream = modelStream(runtime, { run: input, snapshot, callId: input.step, anchors });
  const traced = { run: input, agentName: snapshot.name, prices: snapshot.prices, call: activityCall(), through: 0 };
  // In AXON, an empty answer is a failed attempt of its step.
  const options = {
    asked,
    newId: shortId,
    beginStream,
    beginSpan: runtime.telemetry && (await modelSpans(runtime.telemetry, traced)),
    patience,
    mayBeEmpty: lenient,
    ...callContext(runtime, input, snapshot),
  };
  const outcome = await askModel(runtime.aborts, options, async ({ answer, eventId }) => {
    const interpreted = interpretResponse(answer, { snapshot: own, isUsedCallId: () => false, eventId, uuid: shortId });
    logWarnings(runtime, input, own.model, interpreted);
    const response = limitResponseSize(lenient ? asGiven(interpreted, answer) : interpreted, own.model);
    const checks = { ask: step.ask ?? { prompt: '' }, anchors, lenient, step: address.step };
    const verdict = await verdictOn(response, checks, context);
    return { response: await withFiles(runtime, response, { answer, model: own.model }), verdict };
  });
  if (outcome.type === 'aborted') return outcome;
  const { response, verdict } = outcome.result;
  const output = answerOf(response, step.ask ?? {});
  if (output !== undefined) runtime.stepValues.add(input, response.id, output);
  return {
    response: { ...briefResponse(response), ...defined({ failedAttempts: outcome.failedAttempts }) },
    ...(Object.keys(verdict).length === 0 ? {} : { verdict }),
    promptLength: prompt.length,
  };
}

/** Omits the default finish reason. */
function briefResponse({ finishReason, ...response }: RecordedResponse): BriefResponse {
  return finishReason === 'stop' ? response : { ...response, finishReason };
}

/** The step of a prompt, and the inputs of its text. */
interface RenderedStep {
  unit: Parameters<typeof renderAsk>[0];
  ask: Parameters<typeof renderAsk>[1];
  parts: Pick<PromptParts, 'lookup' | 'lenient' | 'anchors'>;
}

/** Renders the prompt, with an approver's edit and the previous attempt's failure, if any. */
async function renderStep(
  { stepValues }: ActivityRuntime,
  input: AskStepInput,
  { unit, ask, parts }: RenderedStep,
): Promise<Extract<RenderedPrompt, { ok: true }> & { failure: string | undefined }> {
  const failure = input.failure === undefined ? undefined : await stepValues.failure(input, input.failure);
  const edited = input.edited ? (await stepValues.edited(input))['prompt'] : undefined;
  const rendered = renderAsk(unit, ask, {
    ...parts,
    ...defined({ failure }),
    ...(typeof edited === 'string' ? { edited } : {}),
  });
  if (!rendered.ok) throw new LonghaulError('invalid_input', `The prompt of step "${input.step}" cannot be rendered: ${rendered.problem}`);
  return { ...rendered, failure };
}

/** The parts of a model call of a program. */
interface AskParts {
  unit: UnitDocument;
  ask: AskDocument;
  /** The rendered system prompt. */
  instructions: string[];
  capabilities: ModelCapabilities;
}

/** Returns the snapshot of an agent that only makes this call, so that requests and answers are handled like an agent's. */
function askSnapshot(snapshot: AgentSnapshot, { unit, ask, instructions, capabilities }: AskParts): AgentSnapshot {
  const effort = ask.effort ?? unit.effort;
  const settings: ModelSettings = { ...snapshot.settings, ...defined({ reasoningEffort: effort }), ...ask.settings };
  const own: AgentSnapshot = { ...snapshot, instructions, model: ask.model ?? snapshot.model, tools: [], settings };
  if (ask.output === undefined) return own;
  const strict = toStrictPart(ask.output);
  const mode = capabilities.structuredOutput ? 'schema' : 'final_answer';
  const providerSchema = strict.strict ? strict.schema : portableSchema(ask.output);
  return { ...own, output: { mode, schema: ask.output, providerSchema, strict: strict.strict, maxRetries: 0 } };
}

/** Creates the activity of `remember` and `recall`. Storing a value again changes nothing. */
function useMemoryActivity(runtime: ActivityRuntime): (input: UseMemoryInput) => Promise<UseMemoryOutput> {
  const { aborts, heartbeatMs } = runtime;
  return failingAs('memory_failed', (input) => runAttempt(aborts, { heartbeatMs }, () => useMemory(runtime, input)));
}

async function useMemory(runtime: ActivityRuntime, input: UseMemoryInput): Promise<UseMemoryOutput> {
  const { memory } = runtime;
  const { program } = await runtime.snapshots.load(input, input.agent);
  if (program === undefined) throw new LonghaulError('internal', 'The snapshot of the run has no program');
  if (memory === undefined)
    throw new LonghaulError('memory_missing', `Step "${input.step}" uses a memory, and this worker has none: give it "memory"`);
  const { indexed, lookup } = await stepScope(runtime, program, input);
  const resolved = resolveValue({ ...indexed.step.remember, ...indexed.step.recall }, lookup, { lenient: program.lenient });
  if (!resolved.ok || !isJsonObject(resolved.value)) {
    throw new LonghaulError(
      'invalid_input',
      `Step "${input.step}" cannot be resolved: ${resolved.ok ? 'it is not an object' : resolved.problem}`,
    );
  }
  const used: JsonObject = { ...resolved.value, ...(input.edited ? await runtime.stepValues.edited(input) : {}) };
  const scope = queryText(used['scope'] ?? program.name);
  const { principal } = await dataFor(runtime, input);
  // The step's event is recorded when it has ended, so an entry has no offset.
  const part = { memory, namespace: memoryNamespace({ principal, scope }), scope, source: { runId: runIdOf(input) } };
  const output = await (indexed.step.remember === undefined ? recall(part, used) : remember(part, used));
  const id = shortId();
  runtime.stepValues.add(input, id, output);
  return { id, output };
}

/** The part of a memory that a step uses. */
interface MemoryPart {
  memory: MemoryStore;
  namespace: string;
  scope: string;
  /** The run that stores an entry. */
  source: MemorySource;
}

async function remember({ memory, namespace, scope, source }: MemoryPart, { key, value = null, metadata }: JsonObject): Promise<JsonValue> {
  try {
    const noted = { ...(isJsonObject(metadata) ? metadata : {}), scope };
    const entry = await memory.remember({ namespace, key: queryText(key), value, metadata: noted, source });
    return entry.key;
  } catch (error) {
    const message = `The memory could not store "${queryText(key)}": ${errorMessage(error)}`;
    // A refused value would be refused each time.
    if (error instanceof UsageError) throw permanentFailure('memory_failed', message);
    throw new LonghaulError('memory_failed', message, { cause: error });
  }
}

async function recall({ memory, namespace }: MemoryPart, { query, topK, minScore }: JsonObject): Promise<JsonValue> {
  const least = typeof minScore === 'number' ? minScore : CONTAINED_SCORE;
  const found = await memory.recall({ namespace, text: queryText(query), topK: typeof topK === 'number' ? topK : 5 });
  // The best come first, so entries cut by "topK" would not qualify.
  const entries = found.filter(({ score }) => score >= least);
  const output = entries.map(({ key, value, metadata, score }) => ({ key, value, metadata, score }));
  const bytes = jsonBytes(output);
  if (bytes <= BYTE_BUDGETS.maxToolResult) return output;
  throw new LonghaulError(
    'payload_too_large',
    `The memory found ${bytes} bytes of JSON for "${queryText(query)}", over ${BYTE_BUDGETS.maxToolResult}: ask for fewer entries with "topK"`,
  );
}

function queryText(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '');
}

/** A step in the view of its activity. */
interface StepScope {
  address: StepAddress;
  indexed: IndexedStep;
  /** The outputs that the step refers to, by step address, and the program's input as a variable. */
  context: UnitContext;
  lookup: Lookup;
}

/** Returns a step of a program with the look-up of the references in it. */
async function stepScope({ stepValues }: ActivityRuntime, document: ProgramDocument, reference: StepReference): Promise<StepScope> {
  const { address, indexed } = stepOf(document, reference);
  const outputs = await stepValues.outputs(reference);
  const context = contextOf(await stepValues.input(reference), outputs);
  return { address, indexed, context, lookup: lookupOf(document, context, address) };
}

function stepOf(document: ProgramDocument, reference: StepReference): Pick<StepScope, 'address' | 'indexed'> {
  const address = parseAddress(reference.step);
  return { address, indexed: indexOf(document).get(address.unit, address.step) };
}

/** Creates the activity that moves outputs of a program to the payload store. Storing an output again changes nothing. */
function storeOutputsActivity(runtime: ActivityRuntime): (input: StoreOutputsInput) => Promise<StoreOutputsOutput> {
  const { aborts, heartbeatMs } = runtime;
  return failingAs('payload_store_failed', (input) => runAttempt(aborts, { heartbeatMs }, () => storeOutputs(runtime, input)));
}

async function storeOutputs({ stepValues }: ActivityRuntime, input: StoreOutputsInput): Promise<StoreOutputsOutput> {
  const stored: Record<string, SpilledContent> = {};
  for (const [address, value] of await stepValues.outputs(input)) {
    stored[address] = await stepValues.store.put(input.outputs[address] ?? '', value);
  }
  return { stored };
}

/** Creates the activity that loads an output for the run itself: its value, or a piece of it if it is too long for one payload. */
function loadOutputActivity({ aborts, heartbeatMs, stepValues }: ActivityRuntime): (input: LoadOutputInput) => Promise<LoadOutputOutput> {
  return failingAs('payload_store_failed', (input) => runAttempt(aborts, { heartbeatMs }, () => loadOutput(input)));

  async function loadOutput(input: LoadOutputInput): Promise<LoadOutputOutput> {
    const value = await stepValues.stored(input, input);
    return jsonBytes(value) <= WHOLE_BYTES ? { value } : { piece: jsonPiece(value, input.from ?? 0) };
  }
}
