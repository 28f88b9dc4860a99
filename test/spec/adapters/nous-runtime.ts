import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { StreamItem } from '../../../src/client/stream/stream-item.ts';
import { fold, newView, type StreamView } from '../../../src/client/stream/stream-view.ts';
import { type ContentItem, needsResponse } from '../../../src/core/domain/content.ts';
import { applyOperations } from '../../../src/core/domain/deps.ts';
import { ModelCallError } from '../../../src/core/domain/errors.ts';
import { deniedByHook } from '../../../src/core/domain/hooks.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import {
  checkSessionLimits,
  remainingLimits,
  type SessionLimits,
  type SessionUsed,
  shouldCompact,
} from '../../../src/core/domain/limits.ts';
import { type ConversationEvent, givenEvents, type ModelResponse, type RawToolCall } from '../../../src/core/domain/model.ts';
import { isResponse } from '../../../src/core/domain/record.ts';
import type { RunResult } from '../../../src/core/domain/result.ts';
import type { ModelDelta } from '../../../src/core/domain/stream.ts';
import { newToolCallRecord, requestedCalls, type ToolCallRecord, unknownTool } from '../../../src/core/domain/tool-calls.ts';
import { addReported, addUsage, type UsageStats } from '../../../src/core/domain/usage.ts';
import { limitReached } from '../../../src/core/kernel/limits.ts';
import { countToolCall, newRunState, type RunState } from '../../../src/core/kernel/run-state.ts';
import { defineAgent } from '../../../src/define/define-agent.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import type { ToolDefinition } from '../../../src/define/tool-definition.ts';
import { approve, cancelRun, malformed, reject, type TestDecision } from '../../../src/testing/index.ts';
import { newSnapshot } from '../../fakes/snapshot.ts';
import { CaseProblem, flag, list, number, object, only, type Operation, said, text } from './adapter.ts';
import { roleOf, toEvent } from './dangling-calls.ts';
import { endOf, runWithKit, streamWithKit, toAnswer } from './kit-run.ts';
import { buildPolicy, checkPolicy, executeTool, hooksRun, invalidArgumentsText, toHooks, validateArguments } from './nous-tools.ts';
import { newContext } from './nous-saved-context.ts';
import { changeSkills, matchSkills, parseSkillFile, promptOfSkills } from './nous-skills.ts';
import { parsedJsonText } from './wording.ts';

/** A run that begins with messages: its record of them, and whether the model has the next word. */
const addMessages: Operation = { input: ['messages'], expect: ['needs_response', 'contents'], perform: begin };

function begin({ messages }: JsonObject): JsonObject {
  const items = list(messages).flatMap(toItems);
  return { needs_response: needsResponse(items), contents: givenEvents(items, 'agent').flatMap(toContents) };
}

/** The items of a message. One without content and calls is an empty message. */
function toItems(message: JsonValue): ContentItem[] {
  const { author, content } = toEvent(message);
  return content.length === 0 ? [{ type: 'message', role: roleOf(author), content: '' }] : content;
}

/** The contents of the messages that an event represents: each message and each result, and calls without a text as one message. */
function toContents({ content }: ConversationEvent): JsonValue[] {
  const contents = content.flatMap((item) => {
    if (item.type === 'tool_call') return [];
    return [item.type === 'message' ? item.content : (item.content[0] ?? null)];
  });
  return contents.length === 0 ? [null] : contents;
}

/** A whole run, in the words of Nous. */
const runLoop: Operation = {
  input: ['model', 'tools', 'deps', 'hooks', 'max_iterations', 'parallel', 'approval', 'cancel_before_iteration', 'cancel_reason'],
  expect: ['output', 'iterations', 'error', 'tool_messages', 'usage_tool_calls'],
  perform: runNousLoop,
};

async function runNousLoop(input: JsonObject): Promise<JsonObject> {
  const { model, tools, deps, hooks, max_iterations, parallel, approval, cancel_before_iteration, cancel_reason } = input;
  const defined = Object.entries(object(tools ?? {}));
  const decision = toDecision(approval);
  const agent = defineAgent({
    name: 'a',
    model: 'scripted/model',
    instructions: [],
    tools: defined.map(([name, tool]) => toTool(name, tool)),
    hooks: toHooks(hooks),
    parallel: flag(parallel),
  });
  const played = await runWithKit({
    agent,
    script: list(model).map(toAnswer),
    input: 'Q',
    deps: object(deps ?? {}),
    steps: number(max_iterations, 10),
    decide: () => decision,
    meanwhile: cancel_before_iteration === undefined ? [] : [cancelRun(text(cancel_reason), { step: number(cancel_before_iteration, 1) })],
  });
  const result = endOf(played);
  const messages = played.steps.flatMap(({ toolCalls }) => toolCalls.map(toTheirMessage));
  return { ...toTheirResult(result), tool_messages: messages };
}

/** Translates the answer of a case's handler. Without a handler, or with an invalid answer, there is no decision. */
function toDecision(approval: JsonValue | undefined): TestDecision | undefined {
  if (isJsonObject(approval)) return approve({ arguments: object(only('An approval', approval, ['edit'])['edit']) });
  if (approval === 'approve') return approve();
  return approval === 'reject' ? reject() : undefined;
}

const TOOL = ['returns', 'returns_args', 'throws', 'delay_ms', 'requires_approval'];

function toTool(name: string, tool: JsonValue): ToolDefinition<never, JsonObject> {
  const { returns, returns_args, throws, delay_ms, requires_approval } = only(`Tool "${name}"`, tool, TOOL);
  if (returns !== undefined && returns_args !== undefined) throw new CaseProblem(`Tool "${name}" has "returns" and "returns_args"`);
  const [delayMs, returnsArguments] = [number(delay_ms, 0), flag(returns_args)];
  return defineTool({
    name,
    description: 'Does what the case says.',
    parameters: z.looseObject({}),
    // A tool of Nous is retried once.
    maxAttempts: 2,
    // The product denies a call without a decision at its deadline.
    approval: flag(requires_approval) ? { deadline: '1m' } : 'never',
    execute: async (args) => {
      if (delayMs > 0) await delay(delayMs);
      if (throws !== undefined) throw new Error(said(throws));
      return returnsArguments ? args : returns;
    },
  });
}

function toTheirResult(result: RunResult<unknown>): JsonObject {
  const error = errorOf(result);
  if (error !== undefined) return { error };
  return { output: result.output as JsonValue, iterations: result.stepsUsed, usage_tool_calls: requestedCalls(result) };
}

function errorOf({ status, stopReason, error, cancelReason, limits }: RunResult<unknown>): JsonObject | undefined {
  switch (status) {
    case 'completed':
      return undefined;
    case 'max_iterations_reached':
      return { kind: 'max_iterations_exceeded', message: `Maximum iterations exceeded (${limits.steps})` };
    case 'limit_reached':
      throw new CaseProblem(`The seed has no other limit than that of steps: the run ended with ${stopReason}`);
    case 'cancelled':
      return { kind: 'execution_cancelled', message: `Execution cancelled: ${cancelReason}` };
    case 'error':
      return { kind: 'model_error', message: error };
  }
}

/** Returns a result in the words of Nous, which adds its own words to an error that a tool threw. */
function toTheirMessage({ toolName, result, isError, arguments: args }: ToolCallRecord): string {
  if (!isError) return result;
  if (result.startsWith('User denied the tool execution.')) return 'Tool call was rejected by approval handler.';
  const denied = deniedByHook(toolName, undefined).slice(0, -1);
  if (result.startsWith(denied)) return `Tool call was denied by hook${result.slice(denied.length)}`;
  if (result === unknownTool(toolName)) return `Tool not found: ${toolName}`;
  if (result.startsWith('Error: ') || result.startsWith('Tool call was interrupted')) return result;
  const invalid = invalidArgumentsText(result, args);
  if (invalid !== undefined) return invalid;
  return `Tool execution failed: ${toolName}\nError: ${result}\nPlease try a different approach or tool if available.`;
}

/** The events of one model call of a provider, and those that a reader of its run gets. */
const streamComplete: Operation = {
  input: ['events'],
  expect: ['events'],
  perform: async ({ events }) => {
    const provided = untilFailure(list(events).map(toPiece));
    const pieces = provided.flatMap((piece) => ('delta' in piece ? [piece.delta] : []));
    // Providers may report the end of an answer twice. A client of a provider takes the first one, and Nous passes on the others.
    const [finish, ...again] = provided.flatMap((piece) => ('finish' in piece ? [piece.finish] : []));
    const failure = provided.find((piece) => 'failure' in piece);
    const items = await streamWithKit({
      agent: defineAgent({ name: 'a', model: 'scripted/model', instructions: [] }),
      script: [malformed(toResponse(pieces, finish))],
      input: 'Q',
      // Nous calls the model once, and no tool.
      steps: 1,
      report: async (_, onDelta) => {
        for (const piece of pieces) {
          onDelta(piece);
          // The worker joins pieces that come at the same time.
          await delay(APART_MS);
        }
        if (failure !== undefined) throw new ModelCallError('model_error', failure.failure);
      },
    });
    return { events: [...toTheirEvents(items, finish), ...again.map((reason) => ['finish', reason])] };
  },
};

/** A time after which the worker publishes a piece by itself. */
const APART_MS = 8;

type Piece = { delta: ModelDelta } | { finish: string } | { failure: string };

/** A client of a provider fails with the first reported error. */
function untilFailure(pieces: readonly Piece[]): Piece[] {
  const failed = pieces.findIndex((piece) => 'failure' in piece);
  return failed === -1 ? [...pieces] : pieces.slice(0, failed + 1);
}

function toPiece(event: JsonValue): Piece {
  const [kind, content = null] = list(event);
  switch (kind) {
    case 'text_delta':
      return { delta: { type: 'text', text: text(content) } };
    case 'thinking_delta':
      return { delta: { type: 'reasoning', text: text(content) } };
    case 'tool_call_delta': {
      const { id, name, arguments: args } = only('A tool call', content, ['id', 'name', 'arguments']);
      return { delta: { type: 'tool_input', callId: text(id), toolName: text(name), text: text(args) } };
    }
    case 'finish':
      return { finish: text(content) };
    case 'error':
      return { failure: said(content) };
    default:
      throw new CaseProblem(`The provider sends ${JSON.stringify(event)}, which the adapter does not know`);
  }
}

/** Returns the answer that a client of the provider makes of its pieces. */
function toResponse(pieces: readonly ModelDelta[], finish: string | undefined): ModelResponse {
  const calls = new Map<string, RawToolCall & { arguments: string }>();
  for (const piece of pieces) {
    if (piece.type !== 'tool_input') continue;
    const before = calls.get(piece.callId)?.arguments ?? '';
    calls.set(piece.callId, { id: piece.callId, name: piece.toolName, arguments: before + piece.text });
  }
  const content = pieces.map((piece) => (piece.type === 'text' ? piece.text : '')).join('');
  return { content, toolCalls: [...calls.values()], usage: null, finishReason: finish ?? '' };
}

/** Returns the items in the words of Nous, which reports the finish of the provider, and a stream without content as an error. */
function toTheirEvents(items: readonly StreamItem[], finish: string | undefined): JsonValue[] {
  const events: JsonValue[] = [];
  let view: StreamView = newView();
  let thinking = '';
  for (const item of items) {
    const [live] = view.live;
    view = fold(view, item);
    if (item.type === 'delta') events.push(toTheirDelta(item.delta));
    if (item.type === 'event' && isResponse(item.event)) thinking = live?.reasoning ?? '';
    if (item.type !== 'end') continue;
    // Nous completes an empty or failed stream after the error, as if the provider had stopped.
    const { errorCode, error } = item.result;
    const isBroken = errorCode === 'model_error';
    const finishReason = view.steps.at(-1)?.finishReason ?? finish ?? (isBroken || errorCode === 'model_no_answer' ? 'stop' : null);
    if (finish !== undefined) events.push(['finish', finishReason]);
    if (isBroken) events.push(['error', parsedJsonText(error ?? '')]);
    if (events.length === 0) events.push(['error', 'empty_stream']);
    const output = isBroken ? (live?.text ?? '') : item.result.output;
    if (isBroken) thinking = live?.reasoning ?? '';
    events.push(['complete', { output, finish_reason: finishReason, ...(thinking === '' ? {} : { thinking }) }]);
  }
  return events;
}

function toTheirDelta(delta: (StreamItem & { type: 'delta' })['delta']): JsonValue {
  switch (delta.type) {
    case 'text':
      return ['text_delta', delta.text];
    case 'reasoning':
      return ['thinking_delta', delta.text];
    case 'tool_input':
      return ['tool_call_delta', { id: delta.callId, name: delta.toolName, arguments: delta.text }];
    case 'data':
      throw new Error('The run has no tools');
  }
}

/** Counters of several reports, added up in one run. */
const addUsages: Operation = { input: ['usages'], expect: ['usage'], perform: addToRun };

const COUNTERS = [
  'requests',
  'tool_calls',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
];

function addToRun({ usages }: JsonObject): JsonObject {
  const clock = { now: () => 0, uuid: () => 'id' };
  const state = newRunState({ runId: 'r', snapshot: newSnapshot(), input: '', startedAt: 0 }, clock);
  for (const usage of list(usages)) addReport(state, usage);
  return { usage: toTheirCounters(state) };
}

/** Adds the tokens of a report, and counts each of its requests and tool calls like one of a run. */
function addReport(state: RunState, usage: JsonValue): void {
  const { requests, tool_calls, ...tokens } = only('A usage', usage ?? {}, COUNTERS);
  state.usage = addReported(state.usage, toOurTokens(tokens));
  for (let request = 0; request < number(requests, 0); request += 1) state.usage = addUsage(state.usage, null);
  for (let call = 0; call < number(tool_calls, 0); call += 1) countToolCall(state, newToolCallRecord('tool', `call-${call}`, ''));
}

function toOurTokens(tokens: JsonObject): UsageStats {
  return {
    promptTokens: number(tokens['input_tokens'], 0),
    completionTokens: number(tokens['output_tokens'], 0),
    totalTokens: number(tokens['total_tokens'], 0),
    cachedTokens: number(tokens['cache_read_input_tokens'], 0),
    cacheWriteTokens: number(tokens['cache_creation_input_tokens'], 0),
  };
}

function toTheirCounters({ usage, toolCallsTotal }: RunState): JsonObject {
  return {
    requests: usage.llmCalls,
    tool_calls: toolCallsTotal,
    input_tokens: usage.promptTokens,
    output_tokens: usage.completionTokens,
    total_tokens: usage.totalTokens,
    cache_read_input_tokens: usage.cachedTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens ?? 0,
  };
}

const USED = ['config', 'turns', 'input_tokens', 'output_tokens'];

/** The limit of turns of a session that names none. */
const THEIR_TURNS = 10;

/** The limits of a session, by the operation that asks about them. */
const sessionLimitOperations: Readonly<Record<string, Operation>> = {
  'session.limits': {
    input: USED,
    expect: ['result'],
    perform: (input) => ({ result: checkSessionLimits(limitsOf(input), usedOf(input)) }),
  },
  'session.remaining': { input: USED, expect: ['turns', 'tokens'], perform: left },
  'session.should_compact': { input: ['config', 'turns'], expect: [], perform: isCompacted },
};

function left(input: JsonObject): JsonObject {
  const { turns, totalTokens } = remainingLimits(limitsOf(input), usedOf(input));
  return { turns, tokens: totalTokens };
}

function isCompacted({ config, turns }: JsonObject): boolean {
  const { compact_after_turns: after } = configOf({ config: config ?? {} });
  return shouldCompact(after === undefined ? {} : { compactAfter: number(after, 0) }, number(turns, 0));
}

function limitsOf(input: JsonObject): SessionLimits {
  const { max_turns: turns, max_budget_tokens: tokens } = configOf(input);
  return {
    // A session of the product has no limit of turns, unless it names one.
    turns: number(turns, THEIR_TURNS),
    ...(tokens === undefined ? {} : { totalTokens: number(tokens, 0) }),
  };
}

function configOf({ config = {} }: JsonObject): JsonObject {
  return only('A configuration', config, ['max_turns', 'max_budget_tokens', 'compact_after_turns']);
}

function usedOf({ turns, input_tokens, output_tokens }: JsonObject): SessionUsed {
  return { turns: number(turns, 0), totalTokens: number(input_tokens, 0) + number(output_tokens, 0) };
}

/** Suite `nous.runtime`: how deps, limits and tools behave, and the loop. */
export const nousRuntimeOperations: Readonly<Record<string, Operation>> = {
  'context.new': newContext,
  'context.add_messages': addMessages,
  'context.merge_deps': { input: ['deps', 'patch'], expect: ['deps', 'error'], perform: mergeDeps },
  'context.max_iterations_reached': { input: ['iteration', 'max_iterations'], expect: [], perform: isMaxIterationsReached },
  'usage.add': addUsages,
  'tool.validate': validateArguments,
  'tool.execute': executeTool,
  'run.loop': runLoop,
  'permissions.check': checkPolicy,
  'permissions.build': buildPolicy,
  'hooks.run': hooksRun,
  ...sessionLimitOperations,
  'skill.parse': parseSkillFile,
  'skill.match': matchSkills,
  'skill.registry': changeSkills,
  'skill.system_prompt': promptOfSkills,
  'stream.complete': streamComplete,
};

function mergeDeps({ deps, patch }: JsonObject): JsonObject {
  const operations = Object.entries(object(patch ?? {})).map(([key, value]) => ({ op: 'set' as const, key, value }));
  const updated = applyOperations(object(deps ?? {}), operations);
  return updated.ok ? { deps: updated.deps } : { error: true };
}

const CLOCK = { now: () => 1_700_000_000_000, uuid: () => 'id' };

function isMaxIterationsReached({ iteration, max_iterations }: JsonObject): boolean {
  const snapshot = newSnapshot({ limits: { steps: Math.max(1, number(max_iterations, 10)) } });
  const state = newRunState({ runId: 'r', snapshot, input: '', startedAt: CLOCK.now() }, CLOCK);
  state.limits = { ...state.limits, steps: number(max_iterations, 10) };
  state.context.currentStep = number(iteration, 0);
  return limitReached(state, CLOCK.now(), { final: false })?.stopReason === 'step_limit';
}
