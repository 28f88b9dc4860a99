import { randomUUID } from 'node:crypto';
import { getClient, log } from '@temporalio/activity';
import { agentModels, type AgentSnapshot, estimatedPromptTokens, type RecallBounds, toolOwner } from '../../src/core/domain/agent.ts';
import { isUsedCallId } from '../../src/core/domain/call-ids.ts';
import { isToolCall, SPILLED_CONTENT, type SpilledContent } from '../../src/core/domain/content.ts';
import { cutText, jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { defined, isJsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { utf8Prefix } from '../../src/core/domain/text.ts';
import { FINAL_ANSWER } from '../../src/core/domain/tool-calls.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import { isRecalledText, type Recalled, recallEvent } from '../../src/core/domain/memory.ts';
import {
  type ModelCallContext,
  type ModelClient,
  type ModelRequest,
  type ModelResponse,
  type RecordedResponse,
  unknownHostedTool,
} from '../../src/core/domain/model.ts';
import { type ActivityNotes, notesOf } from '../../src/core/domain/parts.ts';
import { callIdsIn, type Folded, type Window, type WindowEvent } from '../../src/core/domain/window.ts';
import { UnitContext } from '../../src/core/program/references.ts';
import type { CallModelInput, CallModelOutput, OfRun } from '../../src/core/protocol.ts';
import { memoryNamespace, type RecalledEntry, recalledEntry, recallText } from '../../src/memory/memory-store.ts';
import { askingModel, promptCache, requestOfCall } from '../../src/model/build-request.ts';
import { interpretReply } from '../../src/model/reply-formats.ts';
import { answeredByParts, preparedByParts, requireModelCalls, requireReviews } from '../all-parts.ts';
import { requireReviewedTool } from '../approvals/approvals.ts';
import { currentRun, withTimeout } from '../attempts/attempt.ts';
import { callContext } from '../governor/governed-call.ts';
import { parkAgain, parkForBatch, registeringTiming } from '../batch/park-call.ts';
import { asGiven, verdictOn } from '../programs/verdict-on.ts';
import { runIdOf, runKey } from '../run-queries/query-run.ts';
import { type ActivityRuntime, dataFor, memoryOf, providerContext } from '../runtime.ts';
import { modelStream } from '../streams/activity-streams.ts';
import { modelSpans } from '../telemetry/call-spans.ts';
import { reviewCalls } from '../tool-calls/review-calls.ts';
import { fileReader, limitResponseSize, withFiles } from './recorded-answer.ts';
import { askModel, modelActivity } from './ask-model.ts';
import { type AskedModel, type AskedModels, modelOfTurn, priceInList } from './fallback.ts';
import type { Patience } from './patience.ts';
import { LRUCache } from 'lru-cache';
import { checkJson } from '../../src/core/json-schema/check-json-schema.ts';
import { type PayloadStore, readSpilled, spill } from '../../src/stores/payload-store.ts';
import { MOST_ITEM_BYTES } from '../../src/model/interpret-response.ts';

/**
 * Creates the activity that assembles the conversation from its reference, calls the model once, and returns the checked answer with an id.
 */
export function callModelActivity(runtime: ActivityRuntime): (input: CallModelInput) => Promise<CallModelOutput> {
  return modelActivity((input, patience) => callModel(runtime, input, patience));
}

async function callModel(runtime: ActivityRuntime, input: CallModelInput, patience: Patience): Promise<CallModelOutput> {
  if (!input.unbatched) await parkAgain(runtime);
  const call = await readyModelCall(runtime, input, patience);
  const { snapshot, asked, prepared } = call;
  if (snapshot.tier === 'batch' && !input.unbatched) {
    const recall = (signal: AbortSignal): Promise<Recalled | undefined> => prepared.recall(signal);
    const end = await parkForBatch(runtime, { activity: 'callModel', input, snapshot, asked, key: patience.call, recall });
    if (end !== undefined) return end;
  }
  return answerModelCall(runtime, call, asked);
}

/** A model call with its requests, before any of them is sent. */
interface ReadyModelCall {
  input: CallModelInput;
  patience: Patience;
  snapshot: AgentSnapshot;
  window: Window;
  asked: AskedModels;
  prepared: PreparedRequest;
  checkAnswer: CheckAnswer;
}

/** Makes the requests of a call. `known`: data that an earlier part of a batched call has prepared. */
export async function readyModelCall(
  runtime: ActivityRuntime,
  input: CallModelInput,
  patience: Patience,
  known: KnownRequest = {},
): Promise<ReadyModelCall> {
  const snapshot = await runtime.snapshots.load(input, input.agent);
  const isBatched = snapshot.tier === 'batch' && !input.unbatched;
  patience.bind(isBatched ? registeringTiming(snapshot.timing) : snapshot.timing);
  const clients = clientsOf(runtime, snapshot);
  // Before anything is paid for. The final attempt runs no tools.
  if (!input.final) for (const tool of snapshot.tools) requireReviewedTool(runtime, input, snapshot, tool);
  requireModelCalls(runtime, snapshot, 'answer');
  if (!input.final) requireReviews(runtime, snapshot);
  const checkAnswer = answerCheck(runtime, snapshot);
  const window = await runtime.conversations.window(input, input);
  const events = await withReadItems(runtime, window.events);
  const prepared = new PreparedRequest(runtime, { run: input, snapshot, events }, known);
  const asked = await askedModels(snapshot, window, { input, clients, prepared, context: providerContext(runtime, snapshot) });
  return { input, patience, snapshot, window, asked, prepared, checkAnswer };
}

/** Asks the models, and returns the answer in recorded form. */
export async function answerModelCall(
  runtime: ActivityRuntime,
  { input, patience, snapshot, window, prepared, checkAnswer }: ReadyModelCall,
  asked: AskedModels,
): Promise<CallModelOutput> {
  const streamed = { asked, ...(await observers(runtime, input, snapshot)), patience };
  // An empty reply in a reply format goes back to the model, with the problem.
  const mayBeEmpty = snapshot.replyFormat !== undefined && !input.final;
  const cache = promptCache(runKey(input).chain, snapshot, input);
  const facts = { mayBeEmpty, cache, interruptibleBy: input.run ?? '', ...defined({ readFile: fileReader(runtime) }) };
  const options = { ...streamed, ...facts, ...callContext(runtime, input, snapshot) };
  const outcome = await askModel(runtime.aborts, options, async ({ answer, signal, eventId, model, origin }) => {
    const known = { ...contextOfAnswer(runtime, input, askingModel(snapshot, model)), isUsedCallId: usedIn(window), eventId };
    const scope = { runtime, run: input, snapshot, signal };
    const { answer: given, notes } = await answeredByParts(scope, answer);
    const interpreted = interpretReply(given, known, input.final === true);
    // The final attempt runs no tools, even if the model calls one, and its answer ends the run at the limit in any case.
    const checked = input.final ? interpreted : await checkAnswer(interpreted, given);
    const stored = await withStoredItems(runtime, checked);
    const response = limitResponseSize(await withFiles(runtime, stored, { answer: given, model }), model);
    const reviewed = input.final ? {} : await reviewCalls(scope, response);
    const { approvals, ...ofReview } = reviewed;
    const injections = { ...response.injections, ...ofReview.injections };
    const noted = notesOf(prepared.notes, notes, reviewed);
    const limited = approvals === undefined ? response : limitResponseSize({ ...response, approvals }, model);
    // The review has a separate budget, so that a paid answer does not fail because of it.
    const changed = runtime.sentRequests.answered(`${cache.key} ${model}`, prepared.sentTo(model), response.usage);
    return { ...limited, ...ofReview, ...(Object.keys(injections).length === 0 ? {} : { injections }), ...noted, ...origin, ...changed };
  });
  if (outcome.type === 'aborted') return outcome;
  const { result, failedAttempts } = outcome;
  logWarnings(runtime, input, result.answeredBy ?? snapshot.model, result);
  runtime.conversations.addResponse(input, input.through, ...prepared.recallEvents, recordedEvent(snapshot.name, result));
  const receivedAt = snapshot.code === undefined ? {} : { receivedAt: Date.now() };
  const details = { ...receivedAt, ...prepared.recalled, ...defined({ failedAttempts }) };
  return { type: 'response', response: { ...result, ...details } };
}

/** Returns the context for interpreting an answer. `snapshot`: with the model that gave the answer, whose items come with it. */
function contextOfAnswer(
  { registry, payloadStore }: ActivityRuntime,
  { through }: CallModelInput,
  snapshot: AgentSnapshot,
): Omit<Parameters<typeof interpretReply>[1], 'isUsedCallId' | 'eventId'> {
  return {
    snapshot,
    outputZod: registry.outputZod(toolOwner(snapshot)),
    // The same in every attempt, and unique among the run's answers.
    replyId: `call_${through}`,
    mostItemBytes: payloadStore && STORED_ITEM_BYTES,
    uuid: randomUUID,
  };
}

/** Returns the observers of a call: its stream and its span. */
async function observers(
  runtime: ActivityRuntime,
  input: CallModelInput,
  snapshot: AgentSnapshot,
): Promise<Pick<Parameters<typeof askModel>[1], 'beginStream' | 'beginSpan'>> {
  const { anchors = [], lenient = false } = snapshot.checks ?? {};
  const checkedBy = runtime.anchors.named(anchors, { lenient });
  const traced = {
    run: input,
    agentName: snapshot.name,
    prices: snapshot.prices,
    through: input.through,
    model: snapshot.model,
    step: input.step,
  };
  return {
    beginStream: modelStream(runtime, { run: input, snapshot, through: input.through, anchors: checkedBy }),
    beginSpan: runtime.telemetry && (await modelSpans(runtime.telemetry, traced)),
  };
}

/** Logs the provider's warnings about requests, once per run. */
export function logWarnings(
  { secrets, logOnce }: ActivityRuntime,
  run: OfRun,
  model: string,
  { warnings = [] }: Pick<RecordedResponse, 'warnings'>,
): void {
  const said = secrets.redact(warnings.join('; '));
  if (said !== '') logOnce(`Run "${runIdOf(run)}": the provider of model "${model}" warns: ${said}`);
}

function recordedEvent(author: string, { id, content, providerItems, answeredBy }: RecordedResponse): Folded {
  return { id, author, content, ...defined({ providerItems, answeredBy }) };
}

/** The clients of the models of an agent, by `provider/model`, in the order of its list. */
type Clients = ReadonlyMap<string, ModelClient>;

/** Returns the clients of the models of an agent. Throws `unknown_provider` if this worker lacks one. */
function clientsOf({ registry }: ActivityRuntime, agent: AgentSnapshot): Clients {
  return new Map(agentModels(agent).map((name) => [name, registry.provider(name)]));
}

/** The inputs of a model call in addition to the agent and the conversation. */
interface PreparedCall {
  input: CallModelInput;
  clients: Clients;
  prepared: PreparedRequest;
  context: Pick<ModelCallContext, 'tags' | 'secret'>;
}

/**
 * The time limit for a client to say whether it knows the hosted tools, in milliseconds. Without an answer, the call itself will show it.
 */
const KNOWING_MS = 5_000;

/** Returns the id of a hosted tool of the request that the provider does not know; undefined if it knows all, or does not answer. */
async function unknownTool(client: ModelClient, request: ModelRequest, context: PreparedCall['context']): Promise<string | undefined> {
  if (request.hosted === undefined) return undefined;
  return withTimeout(() => unknownHostedTool(client, request, context), { ms: KNOWING_MS }).catch(() => undefined);
}

/** Returns the candidate models of the call, each with its request. */
async function askedModels(
  snapshot: AgentSnapshot,
  window: Window,
  { input, clients, prepared, context }: PreparedCall,
): Promise<AskedModels> {
  const { fallback } = snapshot;
  const prepare = (name: string) => (_: ModelRequest, signal: AbortSignal) => prepared.prepare(name, signal);
  const asked = [...clients].map(async ([name, client]): Promise<AskedModel> => {
    const contextTokens = fallback?.models.find((one) => one.model === name)?.contextTokens;
    const request = prepared.requestFor(name);
    const known = defined({ contextTokens, unknownTool: await unknownTool(client, request, context) });
    return { name, client, request, prepare: prepare(name), ...known, ...priceInList(snapshot, name) };
  });
  const models = await Promise.all(asked);
  if (fallback === undefined) return { models };
  const { events } = window;
  return {
    models,
    policy: fallback,
    tokens: estimatedPromptTokens(snapshot, window),
    ofTurn: modelOfTurn(snapshot, { events, isFirst: input.firstStep === true }),
    isShortened: input.shortened,
  };
}

/** Returns whether an id is one of the run's calls, in the conversation or removed from it. */
function usedIn({ events, usedCallIds = [] }: Window): (id: string) => boolean {
  const inside = new Set(callIdsIn(events));
  const isRemoved = isUsedCallId(usedCallIds);
  return (id) => inside.has(id) || isRemoved(id);
}

/** Returns a response with the verdict on its answer, if it is an answer. */
type CheckAnswer = (interpreted: RecordedResponse, answer: ModelResponse) => Promise<RecordedResponse>;

/**
 * Returns the function that checks the answer of an `ask` with tools. It is called before the model is paid: an anchor that this worker
 * lacks is an error. Responses that only call tools, and responses of all other agents, stay unchanged.
 */
function answerCheck({ anchors }: ActivityRuntime, { checks, output }: AgentSnapshot): CheckAnswer {
  if (checks === undefined) return (interpreted) => Promise.resolve(interpreted);
  const { step, anchors: names = [], lenient = false, ...rules } = checks;
  const ask = { ...rules, ...defined({ output: output?.schema }) };
  const known = { ask, anchors: anchors.named(names, { lenient }), lenient, step };
  return async (interpreted, answer) => {
    if (!isAnswer(interpreted, output)) return interpreted;
    const response = lenient ? asGiven(interpreted, answer) : interpreted;
    return { ...response, verdict: await verdictOn(response, known, new UnitContext()) };
  };
}

/** True for a response without tool calls, and for one that calls the tool of the structured answer. */
function isAnswer({ content }: RecordedResponse, output: AgentSnapshot['output']): boolean {
  const calls = content.filter(isToolCall);
  return calls.length === 0 || (output?.mode === 'final_answer' && calls.some(({ name }) => name === FINAL_ANSWER));
}

/** The model call of an attempt. */
interface RequestingCall {
  run: CallModelInput;
  snapshot: AgentSnapshot;
  events: readonly WindowEvent[];
}

/** The known data of the request of a call whose answer comes from a batch. */
export interface KnownRequest {
  /** The recalled entries. */
  recalled?: Recalled;
  /** The recorded notes about the sent request. */
  notes?: ActivityNotes | undefined;
}

/** The requests of an attempt: one for each asked model. */
class PreparedRequest {
  /** The notes to record about the last request. */
  notes: ActivityNotes = {};
  #recalled: Recalled | undefined;
  #recall: Promise<Recalled | undefined> | undefined;
  readonly #plain = new Map<string, ModelRequest>();
  readonly #sent = new Map<string, ModelRequest>();
  readonly #runtime: ActivityRuntime;
  readonly #call: RequestingCall;
  readonly #known: KnownRequest;

  constructor(runtime: ActivityRuntime, call: RequestingCall, known: KnownRequest) {
    this.#runtime = runtime;
    this.#call = call;
    this.#known = known;
    this.#recalled = known.recalled;
  }

  /** Queries the memory if the call uses it. */
  async recall(signal: AbortSignal): Promise<Recalled | undefined> {
    const { run, snapshot, events } = this.#call;
    if (!run.recall || this.#known.recalled !== undefined) return this.#recalled;
    this.#recalled = await (this.#recall ??= recallEntries(this.#runtime, { run, snapshot, events, signal }));
    return this.#recalled;
  }

  /** Returns the request for a model before the additions of the memory and other capabilities. */
  requestFor(model: string): ModelRequest {
    const request = this.#plain.get(model) ?? this.#built(model, []);
    this.#plain.set(model, request);
    return request;
  }

  /** Queries the memory if the call uses it, once for all models, then the other capabilities. Returns the request to send. */
  async prepare(model: string, signal: AbortSignal): Promise<ModelRequest> {
    const { run, snapshot } = this.#call;
    const recalled = this.#known.notes === undefined ? await this.recall(signal) : this.#recalled;
    const built = recalled === undefined ? this.requestFor(model) : this.#built(model, this.recallEvents);
    if (this.#known.notes !== undefined) {
      this.notes = this.#known.notes;
      return built;
    }
    const purpose = { type: 'answer', model, step: run.step ?? 0 } as const;
    const { notes, request } = await preparedByParts({ runtime: this.#runtime, run, snapshot, signal }, purpose, built);
    this.notes = notes;
    this.#sent.set(model, request);
    return request;
  }

  /** Returns the request that was sent to a model. */
  sentTo(model: string): ModelRequest {
    return this.#sent.get(model) ?? this.requestFor(model);
  }

  /** Returns the recalled entries as a field of the response: the loop only learns the entries of the answered attempt. */
  get recalled(): { recalled?: Recalled } {
    return defined({ recalled: this.#recalled });
  }

  /** The event that the loop records for it before the response. */
  get recallEvents(): Folded[] {
    return this.#recalled === undefined ? [] : [recallEvent(this.#recalled)];
  }

  #built(model: string, more: readonly Folded[]): ModelRequest {
    const { run, snapshot, events } = this.#call;
    return requestOfCall(snapshot, [...events, ...more], { ...run, model });
  }
}

/** Milliseconds that the memory may delay an answer. */
const RECALL_MS = 2_000;

/** Bytes of the newest message that are used as the query. */
const QUERY_BYTES = 1_000;

/** The maximum bytes of JSON of the reason why the memory was unavailable. */
const REASON_BYTES = 300;

/** The model call that entries are recalled for. */
interface RecallingCall {
  run: CallModelInput;
  snapshot: AgentSnapshot;
  events: readonly WindowEvent[];
  signal: AbortSignal;
}

/**
 * Queries the agent's memory for entries that match the user's newest message. Undefined without a memory. A memory that fails or takes too
 * long never prevents an answer: the record then says so. Rejects only if the call is aborted.
 */
async function recallEntries(runtime: ActivityRuntime, call: RecallingCall): Promise<Recalled | undefined> {
  const { snapshot, events, signal } = call;
  const bounds = snapshot.memory?.recall;
  const query = queryOf(events);
  if (bounds === undefined || query === '') return undefined;
  const id = randomUUID();
  try {
    const found = await withTimeout(() => findEntries(runtime, call, { query, bounds }), { ms: RECALL_MS, stop: signal });
    const { text, entries } = recallText(found, bounds.maxBytes);
    return entries === 0 ? undefined : { id, text, note: { entries } };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const unavailable = cutText(runtime.secrets.redact(errorMessage(error)), REASON_BYTES);
    log.warn(`The memory of agent "${snapshot.name}" was not available: ${unavailable}`, { agent: snapshot.name });
    return { id, text: '', note: { unavailable } };
  }
}

async function findEntries(
  runtime: ActivityRuntime,
  { run, snapshot }: RecallingCall,
  { query, bounds }: { query: string; bounds: RecallBounds },
): Promise<RecalledEntry[]> {
  const memory = memoryOf(runtime);
  if (memory === undefined) throw new Error('this worker has none');
  const { principal } = await dataFor(runtime, ofRun(run));
  const namespace = memoryNamespace({ principal, agent: snapshot.memory?.name ?? snapshot.name });
  const found = await memory.recall({ namespace, text: query, topK: bounds.topK });
  // A user's store may return too many entries, or values that are not JSON.
  const entries = JSON.parse(JSON.stringify(found.slice(0, bounds.topK).map(recalledEntry))) as RecalledEntry[];
  return runtime.secrets.redactJson(entries) as RecalledEntry[];
}

/** Returns the part of the input that is needed to query the run's principal. */
function ofRun({ run, principal }: CallModelInput): Pick<CallModelInput, 'run' | 'principal'> {
  return defined({ run, principal });
}

/** Returns the text of the newest user message, cut to the length of a query. Recalled entries do not count as one. */
function queryOf(events: readonly WindowEvent[]): string {
  for (const event of events.toReversed()) {
    const texts = event.content.flatMap((item) =>
      item.type === 'message' && item.role === 'user' && !isRecalledText(item) ? messageTexts(item.content) : [],
    );
    if (texts.length > 0) return utf8Prefix(texts.join('\n').trim(), QUERY_BYTES);
  }
  return '';
}

function messageTexts(content: Extract<WindowEvent['content'][number], { type: 'message' }>['content']): string[] {
  return typeof content === 'string' ? [content] : content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
}

/** The maximum bytes of JSON of an answer's items in its event. */
const INLINE_ITEM_BYTES = 64_000;

/** The maximum bytes of JSON of an answer's items if the worker has a payload store. */
const STORED_ITEM_BYTES = 4_000_000;

/** The maximum bytes of all runs' items that a process keeps. */
const KEPT_BYTES = 50_000_000;

/** The items that were read or stored, by digest. */
const keptItems = new WeakMap<PayloadStore, LRUCache<string, JsonValue[]>>();

function keptOf(store: PayloadStore): LRUCache<string, JsonValue[]> {
  const kept = keptItems.get(store) ?? new LRUCache<string, JsonValue[]>({ maxSize: KEPT_BYTES, sizeCalculation: jsonBytes });
  keptItems.set(store, kept);
  return kept;
}

type Stores = Pick<ActivityRuntime, 'payloadStore'>;

/**
 * Puts large items of an answer (reasoning, signatures, results of hosted tools) into the payload store: the event has their owner and
 * location. Without a store they stay in the event, up to its limit.
 */
async function withStoredItems({ payloadStore: store }: Stores, response: RecordedResponse): Promise<RecordedResponse> {
  const [owner, ...items] = response.providerItems ?? [];
  if (store === undefined || !isJsonObject(owner) || (jsonBytes(items) <= INLINE_ITEM_BYTES && !items.some(isBinary))) return response;
  try {
    const spilled = await spill(store, getClient().options.loadedDataConverter, currentRun(), items);
    keptOf(store).set(spilled.sha256, items);
    return { ...response, providerItems: [{ ...owner, spilled: { ...spilled } }] };
  } catch (error) {
    // The answer is paid for, and usable without them. If they fit into the event, they stay there.
    log.warn(`The items of an answer that the provider expects back were not stored: ${errorMessage(error)}`);
    const kept = items.filter((item) => !isBinary(item));
    return { ...response, providerItems: jsonBytes(kept) <= MOST_ITEM_BYTES ? [owner, ...kept] : [owner] };
  }
}

/** True for a file of the reasoning, which never enters an event, whatever its size. */
function isBinary(item: JsonValue): boolean {
  return isJsonObject(item) && item['t'] === 'reasoning-file';
}

/** Returns events with their items from the payload store. Unreadable items are lost: the conversation continues without them. */
async function withReadItems(runtime: Stores, events: readonly WindowEvent[]): Promise<readonly WindowEvent[]> {
  if (!events.some(({ providerItems }) => spilledOf(providerItems) !== undefined)) return events;
  return Promise.all(events.map((event) => withItems(runtime, event)));
}

async function withItems({ payloadStore: store }: Stores, event: WindowEvent): Promise<WindowEvent> {
  const spilled = spilledOf(event.providerItems);
  const [owner = null] = event.providerItems ?? [];
  if (spilled === undefined) return event;
  try {
    if (store === undefined) throw new Error('this worker has no "payloadStore"');
    const items = keptOf(store).get(spilled.sha256) ?? (await readSpilled(store, getClient().options.loadedDataConverter, spilled));
    keptOf(store).set(spilled.sha256, items);
    return { ...event, providerItems: [owner, ...items] };
  } catch (error) {
    log.warn(`The items of event "${event.id}" that the provider expects back were not read: ${errorMessage(error)}`);
    return { ...event, providerItems: [owner] };
  }
}

/** Returns the location of an event's items; undefined if they are in the event, or it has none. */
function spilledOf([owner, ...items]: readonly JsonValue[] = []): SpilledContent | undefined {
  const spilled = isJsonObject(owner) && items.length === 0 ? owner['spilled'] : undefined;
  return spilled !== undefined && checkJson(SPILLED_CONTENT, spilled).length === 0 ? (spilled as SpilledContent) : undefined;
}
