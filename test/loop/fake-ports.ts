import type { AgentSnapshot } from '../../src/domain/agent-snapshot.ts';
import type { ContentItem, ToolCall } from '../../src/domain/content.ts';
import type { JsonObject, JsonValue } from '../../src/domain/json.ts';
import type { RecordedResponse } from '../../src/domain/recorded-response.ts';
import type { RunResultFields } from '../../src/domain/run-result.ts';
import type { UsageStats } from '../../src/domain/usage.ts';
import type { ModelCall, ModelCallOutcome, RunPorts, ToolInvocation, ToolOutcome } from '../../src/loop/ports.ts';
import { QUIET_PORTS } from '../../src/loop/quiet-ports.ts';
import { type LoopEnd, runLoop } from '../../src/loop/run-loop.ts';
import { newRunState, type RunState } from '../../src/loop/run-state.ts';

/** What a fake tool does with a call. `cancel` ends the run as cancelled. */
export type FakeTool = (invocation: ToolInvocation, run: FakeRun) => ToolOutcome | Promise<ToolOutcome>;

/** A run of the loop on fake ports. */
export interface FakeRun {
  state: RunState;
  /** What the model port was asked, in order. */
  modelCalls: ModelCall[];
  /** What the tool port was asked, in order of start. */
  invocations: ToolInvocation[];
  cancel: () => void;
}

/** What a test says about its run. */
export interface FakeScript {
  snapshot: AgentSnapshot;
  /** One outcome for each model call; a function may look at the run, or cancel it. */
  model: (ModelCallOutcome | ((run: FakeRun) => ModelCallOutcome))[];
  tools?: Record<string, FakeTool>;
  cancelled?: boolean;
  /** What else the run meets: messages, a full history, summaries. */
  ports?: Partial<typeof QUIET_PORTS>;
  /** Called after each change of the record. */
  recorded?: (state: RunState) => void;
}

/** Runs the loop to its end. A model call beyond the script fails the test. */
export async function runFake(script: FakeScript): Promise<FakeRun & { result: RunResultFields }> {
  let cancelled = script.cancelled ?? false;
  let ids = 0;
  const ports: RunPorts = {
    ...QUIET_PORTS,
    ...script.ports,
    now: () => 1_700_000_000_000,
    uuid: () => `event-${++ids}`,
    callModel: async (modelCall) => {
      const outcome = script.model[run.modelCalls.push(modelCall) - 1];
      if (outcome === undefined) throw new Error(`The script has no answer to model call ${run.modelCalls.length}`);
      return typeof outcome === 'function' ? outcome(run) : outcome;
    },
    runTool: async (invocation) => {
      run.invocations.push(invocation);
      const tool = script.tools?.[invocation.call.name];
      return tool === undefined ? returned(`${invocation.call.name} ran`) : tool(invocation, run);
    },
    cancelRequested: () => cancelled,
    ...(script.recorded === undefined ? {} : { recorded: script.recorded }),
  };
  const state = newRunState({ runId: 'run-1', snapshot: script.snapshot, input: 'Q', startedAt: 1_699_999_998_500 }, ports);
  const run: FakeRun = { state, modelCalls: [], invocations: [], cancel: () => (cancelled = true) };
  return { ...run, result: finished(await runLoop(state, ports)) };
}

/** The result of a loop that came to its end in one execution. */
export function finished(end: LoopEnd): RunResultFields {
  if (end.type === 'finished') return end.result;
  throw new Error('The loop continues in another execution');
}

let responses = 0;

/** A recorded response of text and calls. */
export function responded(content: ContentItem[], more: Partial<RecordedResponse> = {}): ModelCallOutcome {
  const calls = content.some((item) => item.type === 'tool_call');
  const response: RecordedResponse = {
    id: `response-${++responses}`,
    content,
    finishReason: calls ? 'tool_calls' : 'stop',
    usage: null,
    ...more,
  };
  return { type: 'response', response };
}

/** The model says a text. */
export function said(text: string, more: Partial<RecordedResponse> = {}): ModelCallOutcome {
  return responded([message(text)], more);
}

/** The model calls tools. */
export function called(...calls: ToolCall[]): ModelCallOutcome {
  return responded(calls);
}

/** An assistant message. */
export function message(content: string): ContentItem {
  return { type: 'message', role: 'assistant', content };
}

/** A tool call. */
export function call(toolCallId: string, name: string, args: JsonObject = {}): ToolCall {
  return { type: 'tool_call', toolCallId, name, arguments: args };
}

/** What a tool gives that worked. */
export function returned(...content: JsonValue[]): ToolOutcome {
  return { type: 'result', status: 'success', content, durationMs: 1 };
}

/** Usage of one call. */
export function tokens(promptTokens: number, completionTokens: number): UsageStats {
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
}

/** A tool outcome that a test delivers later, when it wants to. */
export interface Delivery {
  outcome: Promise<ToolOutcome>;
  deliver: (outcome: ToolOutcome) => void;
}

/** A tool outcome to deliver later. */
export function delivery(): Delivery {
  const { promise, resolve } = Promise.withResolvers<ToolOutcome>();
  return { outcome: promise, deliver: resolve };
}

/** The result texts of a step, in order. */
export function resultsOf(run: { state: RunState }, step: number): string[] {
  return run.state.steps[step - 1]?.toolCalls.map(({ result }) => result) ?? [];
}
