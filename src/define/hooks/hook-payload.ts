import type { JsonObject, JsonValue } from '../../core/domain/json.ts';
import type { UsageStats } from '../../core/domain/usage.ts';
import type { RunStatus } from '../../core/domain/run.ts';

/** A call as the hooks of tools see it. */
interface CallPayload {
  toolName: string;
  callId: string;
  arguments: JsonObject;
}

/** The payload of each event. A `modify` sets fields of it: those that the guide names for the event. */
export interface HookPayloads {
  session_start: { instructions: string[] };
  pre_request: { model: string; step: number; messages: number; tools: string[] };
  post_response: { text: string; toolCalls: { name: string; arguments: JsonValue }[]; finishReason: string; usage: UsageStats | null };
  pre_tool_use: CallPayload;
  post_tool_use: CallPayload & { result: JsonValue; isError: boolean };
  pre_compact: { events: number };
  stop: { status: RunStatus; stopReason: string; output: JsonValue };
  session_end: { status: RunStatus; stopReason: string; output: JsonValue };
  subagent_start: { agent: string; callId: string; arguments: JsonObject };
  subagent_stop: { agent: string; callId: string; runId: string; status: 'success' | 'error'; result: JsonValue; isError: boolean };
  handoff: { from: string; agent: string; callId: string; arguments: JsonObject };
}
