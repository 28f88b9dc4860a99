import { activityInfo, log } from '@temporalio/activity';
import { randomBytes } from 'node:crypto';
import type { RunContext } from '../src/define/run-context.ts';
import { isToolCall, type ToolResult } from '../src/domain/content.ts';
import type { JsonObject, JsonValue } from '../src/domain/json.ts';
import { type DataView, QUERIES, type RunToolInput, type RunToolOutput } from '../src/protocol.ts';
import { attempt } from './attempt.ts';
import { fetchTranscript } from './call-model.ts';
import { executeTool } from './execute-tool.ts';
import { failingAs, permanent } from './failure.ts';
import { jsonBytes, MAX_PAYLOAD_BYTES } from '../src/domain/payload-limit.ts';
import { executionKey, queryRun } from './run-access.ts';
import type { ActivityRuntime } from './runtime.ts';

/** Runs one tool call. It is registered under the name of every tool, so that the Temporal UI shows that name. */
export function runToolActivity(runtime: ActivityRuntime): (input: RunToolInput) => Promise<RunToolOutput> {
  return failingAs('internal', (input) => runTool(runtime, input));
}

async function runTool(runtime: ActivityRuntime, input: RunToolInput): Promise<RunToolOutput> {
  const key = executionKey();
  const name = activityInfo().activityType;
  const args = input.arguments ?? (await readArguments(runtime, key, input));
  const { deps, state } = input.dataByReference
    ? await queryRun<DataView>(QUERIES.data, null)
    : { deps: input.deps ?? {}, state: input.state ?? {} };
  const changes: JsonObject = {};
  const parsedDeps = runtime.registry.deps(input.agentName, deps);

  return attempt(runtime.aborts, runtime.heartbeatMs, async ({ signal, beat }) => {
    const context = runContext(runtime, input, { deps: parsedDeps, state, changes, signal, beat });
    const tool = runtime.registry.tool(input.agentName, name);
    const executed = await executeTool({ tool, name, args, context });
    const changed = Object.keys(changes).length > 0;
    const output: RunToolOutput = fit(name, {
      id: randomBytes(6).toString('base64url'),
      content: executed.content,
      ...(executed.isError ? { isError: true } : {}),
      durationMs: Math.round(executed.durationMs * 100) / 100,
      ...(changed ? { state: changes } : {}),
    });
    const status = output.isError ? 'error' : 'success';
    const result: ToolResult = { type: 'tool_result', toolCallId: input.callId, name, status, content: output.content };
    runtime.transcripts.addResult(key, output.id, input.eventId, result);
    return output;
  });
}

/** A result that Temporal would refuse becomes an error that the model reads: refused, it would be retried for ever. */
function fit(name: string, output: RunToolOutput): RunToolOutput {
  const bytes = jsonBytes(output);
  if (bytes <= MAX_PAYLOAD_BYTES) return output;
  const { id, durationMs } = output;
  return {
    id,
    durationMs,
    isError: true,
    content: [`The result of tool '${name}' is too large: ${bytes} bytes of JSON, over ${MAX_PAYLOAD_BYTES}. Ask for less.`],
  };
}

async function readArguments(runtime: ActivityRuntime, key: string, input: RunToolInput): Promise<JsonObject> {
  const [offset, index] = input.at;
  const events = await runtime.transcripts.load(key, { through: offset + 1, lastEventId: input.eventId }, fetchTranscript);
  const item = events[offset]?.content[index];
  if (item !== undefined && isToolCall(item)) return item.arguments;
  throw permanent('internal', `Event ${offset} of the run has no tool call at ${index}`);
}

interface Particulars {
  deps: unknown;
  state: JsonObject;
  changes: JsonObject;
  signal: AbortSignal;
  beat: (details: unknown) => void;
}

function runContext(runtime: ActivityRuntime, input: RunToolInput, { deps, state, changes, signal, beat }: Particulars): RunContext {
  const { attempt: number, workflowExecution } = activityInfo();
  const runId = workflowExecution?.workflowId ?? '';
  const fields = { runId, agent: input.agentName, step: input.step, callId: input.callId };
  return {
    deps: Object.freeze(structuredClone(deps)),
    resources: runtime.resources,
    retry: number - 1,
    agentName: input.agentName,
    runId,
    step: input.step,
    callId: input.callId,
    idempotencyKey: `${runId}/${input.callId}`,
    signal,
    state: Object.freeze(structuredClone(state)),
    log: {
      debug: (message, more) => log.debug(message, { ...fields, ...more }),
      info: (message, more) => log.info(message, { ...fields, ...more }),
      warn: (message, more) => log.warn(message, { ...fields, ...more }),
      error: (message, more) => log.error(message, { ...fields, ...more }),
    },
    setState: (key: string, value: JsonValue) => {
      changes[key] = value;
    },
    heartbeat: (details) => beat(details),
  };
}
