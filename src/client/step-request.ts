import { defined } from '../core/domain/json.ts';
import { errorMessage, LonghaulError } from '../core/domain/errors.ts';
import { isRecall, recallEvent } from '../core/domain/memory.ts';
import type { ModelClient, ModelRequest, PromptCache } from '../core/domain/model.ts';
import { addedInstructions } from '../core/domain/parts.ts';
import { completesStep, type Event, isResponse } from '../core/domain/record.ts';
import type { RequestDiff, RequestItem, StepRequest, UnknownPart, WireRequest } from '../core/domain/views.ts';
import { emptyWindow, extendWindow, foldedEvent, isEvicted, type Window, type WindowEvent } from '../core/domain/window.ts';
import { modelCallsOf, pinnedAgents, type ReadExecution, readExecution, type RecordedModelCall } from '../history/read-run.ts';
import { promptCache, requestOfCall } from '../model/build-request.ts';
import { eventsRemoved } from './reader.ts';
import type { ReadableRun } from './run-details.ts';
import { type AgentSnapshot, BYTES_PER_TOKEN, estimatedTokens } from '../core/domain/agent.ts';
import { type ContentItem, outputText } from '../core/domain/content.ts';
import { oneLine, utf8Length } from '../core/domain/text.ts';
import { resultText } from '../core/domain/tool-calls.ts';

/** The options of reading the request of a step. */
export interface StepRequestOptions {
  /** Adds the differences from the request of the previous step. */
  diff?: 'previous';
  /** The workers' providers by name. They convert the request to its wire form, and are not called. */
  providers?: Readonly<Record<string, ModelClient>>;
}

/**
 * Returns the model request of a step, rebuilt from the history by the worker's code: for completed steps, and for the step whose
 * model call is running. Throws `unknown_step` with the existing steps, and `history_removed`.
 */
export async function stepRequest(run: ReadableRun, step: number, { diff, providers = {} }: StepRequestOptions = {}): Promise<StepRequest> {
  const { client, runId } = run;
  const found = await findStep(run, step);
  const { rebuilt, call, unknown } = found;
  const { model, snapshot, request } = rebuilt;
  // The same key as in the worker: the namespace and id of the run.
  const cache = promptCache(`${client.options.namespace}/${runId}`, snapshot, call.input);
  const { wire, unknown: ofWire } = await wireOf(rebuilt, call, { providers, cache, tags: snapshot.tags ?? [] });
  const before = diff === undefined || step === 1 ? undefined : (await findStep(run, step - 1, found.read)).rebuilt;
  const { through, final } = call.input;
  return {
    runId,
    step,
    model,
    agentDigest: snapshot.digest,
    through,
    ...defined({ final, open: call.output === undefined ? (true as const) : undefined }),
    request,
    ...defined({ wire, diff: before && requestDiff(before, rebuilt) }),
    asOf: 'rebuilt',
    unknown: [...unknown, ...ofWire],
  };
}

interface FoundStep {
  read: ReadExecution;
  call: RecordedModelCall;
  rebuilt: RebuiltRequest;
  unknown: UnknownPart[];
}

/** Finds the model call of a step. `known`: an execution that was already read. */
async function findStep(run: ReadableRun, step: number, known?: ReadExecution): Promise<FoundStep> {
  const { client, runId, reader } = run;
  const executions = await reader.chain.executions();
  // A step whose calls wait may have its answer in an earlier execution than the one that completes it.
  for (const { executionId, firstStep } of executions.toReversed()) {
    if (firstStep >= step && executions[0]?.executionId !== executionId) continue;
    const read = known?.executionId === executionId ? known : await readExecution(client, runId, executionId);
    if (read === undefined) break;
    const call = callOfStep(read, step);
    if (call !== undefined) return { read, call, ...rebuild(read, call, step) };
    if (firstStep < step - 1) break;
  }
  const first = executions[0];
  if (first !== undefined && first.firstStep > 0 && step <= first.firstStep) throw eventsRemoved(runId, 0, first.firstOffset);
  const { state } = await reader.recordedRun();
  const steps = state?.program === undefined ? (state?.context.currentStep ?? 0) : 0;
  const there = steps === 0 ? 'it has none so far' : `it has steps ${(first?.firstStep ?? 0) + 1} to ${steps}`;
  const ofAgent = step > (first?.firstStep ?? 0) && step <= steps ? `step ${step} has called no model` : there;
  const why = state?.program === undefined ? ofAgent : 'it is the run of a program, whose steps have no numbers: name the run of an agent';
  throw new LonghaulError('unknown_step', `Run "${runId}" has no request of a step ${step}: ${why}`);
}

/** Returns the model call of a step: the answered one, or the one that is running. */
function callOfStep(read: ReadExecution, step: number): RecordedModelCall | undefined {
  const { events, firstStep, run } = read;
  const calls = modelCallsOf(read);
  let complete = firstStep;
  for (const event of events) {
    if (complete === step - 1 && isAnswer(event)) {
      const answered = calls.find(({ output }) => output?.type === 'response' && output.response.id === event.id);
      if (answered !== undefined) return answered;
    }
    if (completesStep(event)) complete += 1;
  }
  // The last unanswered call, unless the run has ended without it.
  const last = calls.at(-1);
  const isOpen = last !== undefined && last.task === undefined && run.result === undefined;
  return isOpen && step === complete + 1 ? last : undefined;
}

function isAnswer(event: Event): boolean {
  return isResponse(event) && !event.interrupted && !event.given && event.caller === undefined;
}

/** Rebuilds the request of a model call. */
function rebuild(read: ReadExecution, { input, output }: RecordedModelCall, step: number): Pick<FoundStep, 'rebuilt' | 'unknown'> {
  const { recorded } = read;
  const unknown: UnknownPart[] = [];
  const snapshot = pinnedAgents(recorded).get(input.agent);
  if (snapshot === undefined)
    throw new LonghaulError('history_unreadable', `The agent of step ${step} (digest "${input.agent}") is not in its history`);
  const response = output?.type === 'response' ? output.response : undefined;
  const model = response?.answeredBy ?? snapshot.model;
  const window = windowThrough(read, input.through);
  const recalled = response?.recalled;
  if (input.recall && response === undefined)
    unknown.push({ part: 'memory', reason: 'the entries of the memory are recorded with the answer, which is not there yet' });
  const events = recalled === undefined ? window : extendWindow(window, recallEvent(recalled));
  const built = requestOfCall(snapshot, events.events, { ...input, model });
  const { texts, missing } = addedInstructions(snapshot, response);
  unknown.push(...missing.map((reason) => ({ part: 'instructions' as const, reason })));
  const request = texts.length === 0 ? built : { ...built, instructions: [...built.instructions, ...texts] };
  return { rebuilt: { step, model, snapshot, events: events.events, request }, unknown };
}

/** Returns the window of an execution after the first `through` events of the run. */
function windowThrough({ recorded, events, firstOffset }: ReadExecution, through: number): Window {
  const before = recorded.continuedState?.window ?? emptyWindow();
  return events
    .slice(0, Math.max(0, through - firstOffset))
    .map(foldedEvent)
    .reduce(extendWindow, before);
}

/** Returns the request as its provider sends it, if the provider is known. */
async function wireOf(
  { model, request }: RebuiltRequest,
  { output }: RecordedModelCall,
  { providers, ...context }: { providers: NonNullable<StepRequestOptions['providers']>; cache: PromptCache; tags: readonly string[] },
): Promise<{ wire?: WireRequest; unknown: UnknownPart[] }> {
  const [name = ''] = model.split('/');
  if (!Object.hasOwn(providers, name)) return { unknown: [] };
  const unknown = (reason: string): { unknown: UnknownPart[] } => ({ unknown: [{ part: 'wire', reason }] });
  let described;
  try {
    described = await providers[name]?.describe?.(request, context);
  } catch (error) {
    return unknown(`the provider "${name}" cannot build it here: ${errorMessage(error)}`);
  }
  if (described === undefined) return unknown(`the provider "${name}" does not say how it sends a request`);
  const { accounts, ...wire } = described;
  const notices = output?.type === 'response' ? (output.response.notices ?? []) : [];
  const adapted = notices.find(({ code }) => code === 'request_adapted');
  return {
    wire,
    unknown: [
      ...(accounts.length > 1
        ? [
            {
              part: 'account' as const,
              reason: 'answers of several accounts are in the conversation: only one of them gets its items back',
            },
          ]
        : []),
      ...(adapted === undefined ? [] : [{ part: 'rules' as const, reason: `the worker has sent it in another form: ${adapted.message}` }]),
    ],
  };
}

/** A request that was built from the record. */
interface RebuiltRequest {
  step: number;
  model: string;
  snapshot: AgentSnapshot;
  /** The conversation as recorded events. */
  events: readonly WindowEvent[];
  request: ModelRequest;
}

/** Bytes of the text of an item. */
const TEXT_BYTES = 200;

/** The characters of an item that are read. */
const READ_CHARACTERS = 1_000;

/** Returns the differences between two requests of a run. */
function requestDiff(before: RebuiltRequest, now: RebuiltRequest): RequestDiff {
  const known = new Map(before.events.map((event) => [event.offset, event]));
  const present = new Map(now.events.map((event) => [event.offset, event]));
  const added = now.events.filter(({ offset }) => !known.has(offset));
  const left = before.events.filter(({ offset }) => !present.has(offset));
  const evicted = now.events.flatMap((event) => itemsOf(event).filter((_, index) => isEvictedSince(known.get(event.offset), event, index)));
  return {
    step: before.step,
    added: added.flatMap(itemsOf),
    evicted,
    summarized: left.flatMap(itemsOf),
    recalled: added.filter(isRecall).flatMap(itemsOf),
    changed: changedParts(before.request, now.request),
    commonPrefix: commonPrefix(before.request, now.request),
  };
}

function isEvictedSince(before: WindowEvent | undefined, now: WindowEvent, index: number): boolean {
  const [then, item] = [before?.content[index], now.content[index]];
  return then?.type === 'tool_result' && item?.type === 'tool_result' && isEvicted(item) && !isEvicted(then);
}

function itemsOf({ offset, author, content }: WindowEvent): RequestItem[] {
  return content.map((item, index) => ({ offset, index, author, type: item.type, ...describedItem(item) }));
}

function describedItem(item: ContentItem): Pick<RequestItem, 'name' | 'callId' | 'text'> {
  switch (item.type) {
    case 'message':
      return { name: item.role, text: beginning(outputText(item.content)) };
    case 'tool_call':
      return { name: item.name, ...defined({ callId: item.toolCallId }), text: beginning(JSON.stringify(item.arguments)) };
    case 'tool_result':
      return { name: item.name, ...defined({ callId: item.toolCallId }), text: beginning(resultText(item.content)) };
  }
}

function beginning(text: string): string {
  return oneLine(text.slice(0, READ_CHARACTERS), TEXT_BYTES);
}

/** Returns the names of the parts that differ, apart from the conversation. */
function changedParts(before: ModelRequest, now: ModelRequest): string[] {
  const parts = (request: ModelRequest): Map<string, string> =>
    new Map([
      ['model', request.model],
      ...request.instructions.map((text, index): [string, string] => [`instructions/${index}`, text]),
      ...request.tools.map((tool): [string, string] => [`tools/${tool.name}`, JSON.stringify(tool)]),
      ...(request.hosted ?? []).map((tool): [string, string] => [`hosted/${tool.name}`, JSON.stringify(tool)]),
      ...Object.entries(request.settings).map(([name, value]): [string, string] => [`settings/${name}`, JSON.stringify(value)]),
      ...(request.output === undefined ? [] : [['output', JSON.stringify(request.output)] as [string, string]]),
    ]);
  const [then, after] = [parts(before), parts(now)];
  return [...new Set([...then.keys(), ...after.keys()])].filter((name) => then.get(name) !== after.get(name));
}

/** Returns the common prefix of two requests in tokens, in the order of provider caches: tools, instructions, conversation. */
function commonPrefix(before: ModelRequest, now: ModelRequest): RequestDiff['commonPrefix'] {
  const texts = ({ tools, hosted = [], output, instructions, conversation }: ModelRequest): string[] =>
    [...tools, ...hosted, ...(output === undefined ? [] : [output]), ...instructions, ...conversation].map((part) => JSON.stringify(part));
  const [then, after] = [texts(before), texts(now)];
  const all = estimatedTokens(after.reduce((sum, text) => sum + utf8Length(text), 0));
  if (before.model !== now.model) return { tokens: 0, of: all };
  let bytes = 0;
  for (const [index, text] of after.entries()) {
    const other = then[index] ?? '';
    if (text === other) {
      bytes += utf8Length(text);
      continue;
    }
    let same = 0;
    while (same < text.length && text[same] === other[same]) same += 1;
    bytes += utf8Length(text.slice(0, same));
    break;
  }
  return { tokens: Math.min(all, Math.floor(bytes / BYTES_PER_TOKEN)), of: all };
}
