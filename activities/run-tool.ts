import { activityInfo, getClient, log } from '@temporalio/activity';
import { randomBytes } from 'node:crypto';
import type { RunContext } from '../src/define/run-context.ts';
import type { SpilledContent, ToolResult } from '../src/domain/content.ts';
import { LonghaulError } from '../src/domain/error.ts';
import type { JsonObject, JsonValue } from '../src/domain/json.ts';
import { stateProblem } from '../src/domain/state-problem.ts';
import { cleanJson } from '../src/model/clean-json.ts';
import { spill } from '../src/payload-store/spill.ts';
import { type CallArgumentsQuestion, type DataView, QUERIES, type RunToolInput, type RunToolOutput } from '../src/protocol.ts';
import { attempt } from './attempt.ts';
import { callArguments } from './call-arguments.ts';
import { executeTool } from './execute-tool.ts';
import { failingAs } from './failure.ts';
import { DEFAULT_BUDGET, fitResult } from './fit-result.ts';
import { heartbeatDetails } from './heartbeat-details.ts';
import { queryRun, runKey } from './run-access.ts';
import type { ActivityRuntime } from './runtime.ts';

/** Runs one tool call. It is registered under the name of every tool, so that the Temporal UI shows that name. */
export function runToolActivity(runtime: ActivityRuntime): (input: RunToolInput) => Promise<RunToolOutput> {
  return failingAs('internal', (input) => runTool(runtime, input));
}

async function runTool(runtime: ActivityRuntime, input: RunToolInput): Promise<RunToolOutput> {
  const key = runKey(input);
  const name = activityInfo().activityType;
  const args = await argumentsOf(runtime, input);
  const { deps, state } = input.dataByReference
    ? await queryRun<DataView>(input, QUERIES.data, null)
    : { deps: input.deps ?? {}, state: input.state ?? {} };
  const changes = new Map<string, JsonValue>();
  const parsedDeps = runtime.registry.deps(input.agentName, deps);

  return attempt(runtime.aborts, { heartbeatMs: runtime.heartbeatMs }, async ({ signal, beat }) => {
    const context = runContext(runtime, input, { deps: parsedDeps, state, changes, signal, beat });
    const tool = runtime.registry.tool(input.agentName, name);
    const executed = await executeTool({ tool, name, args, context });
    const changed = Object.fromEntries(changes);
    const problem = stateProblem(state, changed);
    const result =
      problem === undefined
        ? { name, content: executed.content, isError: executed.isError }
        : { name, content: [`Tool '${name}' keeps too much. ${problem}`], isError: true };
    const fitting = await fitResult(result, tool ?? DEFAULT_BUDGET, (content) => spillContent(runtime, content));
    const output: RunToolOutput = {
      id: randomBytes(6).toString('base64url'),
      content: fitting.content,
      ...(fitting.isError ? { isError: true } : {}),
      ...(fitting.spilled === undefined ? {} : { spilled: fitting.spilled }),
      durationMs: Math.round(executed.durationMs * 100) / 100,
      ...(changes.size > 0 && problem === undefined ? { state: changed } : {}),
    };
    runtime.transcripts.addResult(key, output.id, input.eventId, toolResult(name, input, output));
    return output;
  });
}

function toolResult(name: string, { callId }: RunToolInput, { content, isError, spilled }: RunToolOutput): ToolResult {
  return {
    type: 'tool_result',
    toolCallId: callId,
    name,
    status: isError ? 'error' : 'success',
    content,
    ...(spilled === undefined ? {} : { spilled }),
  };
}

/** Stores content for the run that the current activity belongs to, with the codecs of this worker. */
async function spillContent({ payloadStore }: ActivityRuntime, content: JsonValue[]): Promise<SpilledContent> {
  // A worker with such a tool is not made without a store.
  if (payloadStore === undefined) throw new LonghaulError('internal', 'This worker has no payload store');
  const { workflowExecution, workflowNamespace } = activityInfo();
  const run = { namespace: workflowNamespace ?? '', runId: workflowExecution?.workflowId ?? '' };
  return spill(payloadStore, getClient().options.loadedDataConverter, run, content);
}

/** The arguments as they were decided, where that is something else than the model's. */
async function argumentsOf(runtime: ActivityRuntime, input: RunToolInput): Promise<JsonObject> {
  if (input.arguments !== undefined) return input.arguments;
  const { callId } = input;
  if (input.argumentsByReference) return queryRun<JsonObject>(input, QUERIES.callArguments, { callId } satisfies CallArgumentsQuestion);
  return callArguments(runtime, input, input);
}

interface Particulars {
  deps: unknown;
  state: JsonObject;
  changes: Map<string, JsonValue>;
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
    // Not the call's id: models choose it, and may choose it again.
    idempotencyKey: `${runId}/${input.eventId}/${input.at[1]}`,
    signal,
    state: Object.freeze(structuredClone(state)),
    log: {
      debug: (message, more) => log.debug(message, { ...fields, ...more }),
      info: (message, more) => log.info(message, { ...fields, ...more }),
      warn: (message, more) => log.warn(message, { ...fields, ...more }),
      error: (message, more) => log.error(message, { ...fields, ...more }),
    },
    setState: (key: string, value: JsonValue) => {
      const plain = cleanJson(value);
      if (plain === undefined) throw new TypeError(`setState: the value of "${key}" is not JSON`);
      changes.set(key, plain);
    },
    heartbeat: (details) => beat(heartbeatDetails(details)),
  };
}
