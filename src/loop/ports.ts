import type { ToolSnapshot } from '../domain/agent-snapshot.ts';
import type { ToolCall } from '../domain/content.ts';
import type { ErrorCode } from '../domain/error.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/recorded-response.ts';
import type { RunClock } from './clock.ts';
import type { RunState } from './run-state.ts';

/** One model call, by reference: the conversation is the events before `through`. */
export interface ModelCall {
  /** 1-based. */
  step: number;
  /** The number of events that form the conversation. */
  through: number;
  /** The id of the last of them: whoever assembles the conversation checks it. */
  lastEventId: string;
  /** Where the last event is a batch of tool results that activities produced: the ids of those results, in order. */
  resultIds?: string[];
  /** How many events the model has not seen yet. */
  newEvents: number;
  /** The attempt after the step limit: without tools, asking for the best final answer. */
  final: boolean;
}

/** How a model call ended. Nothing about a model is thrown: every ending is data. */
export type ModelCallOutcome =
  | { type: 'response'; response: RecordedResponse }
  | { type: 'failed'; code: ErrorCode; message: string }
  | { type: 'cancelled'; partial?: RecordedResponse };

/** One tool call that may run: the tool exists and the arguments fit. */
export interface ToolInvocation {
  step: number;
  call: ToolCall;
  tool: ToolSnapshot;
  /** Offset of the event that holds the call, and its place in that event. */
  offset: number;
  index: number;
}

/** How a tool call ended. */
export type ToolOutcome =
  | {
      type: 'result';
      status: 'success' | 'error';
      content: JsonValue[];
      /** Milliseconds, or null where the tool never started. */
      durationMs: number | null;
      /** Where an activity produced it: its id in the transcript caches. */
      resultId?: string;
      /** Keys to set in the run's state. */
      state?: JsonObject;
    }
  | { type: 'cancelled' };

/** Every effect of the loop. Ports must not reject: what goes wrong is an outcome. */
export interface RunPorts extends RunClock {
  callModel(call: ModelCall): Promise<ModelCallOutcome>;
  runTool(invocation: ToolInvocation): Promise<ToolOutcome>;
  /** True once the run is to end as cancelled. */
  cancelRequested(): boolean;
  /** Called after each change of the record; for observers. Must not change anything. */
  recorded?(state: RunState): void;
}
