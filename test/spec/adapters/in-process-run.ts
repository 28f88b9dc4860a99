import { randomUUID } from 'node:crypto';
import { buildRequest } from '../../../activities/build-request.ts';
import { buildSnapshot } from '../../../activities/build-snapshot.ts';
import { executeTool } from '../../../activities/execute-tool.ts';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import type { RunContext } from '../../../src/define/run-context.ts';
import { isToolCall } from '../../../src/domain/content.ts';
import { errorCode, errorMessage } from '../../../src/domain/error.ts';
import type { JsonObject } from '../../../src/domain/json.ts';
import type { ModelRequest, ModelResponse } from '../../../src/domain/model.ts';
import type { RecordedResponse } from '../../../src/domain/recorded-response.ts';
import type { RunResultFields } from '../../../src/domain/run-result.ts';
import type { ModelCall, ModelCallOutcome, RunPorts, ToolInvocation, ToolOutcome } from '../../../src/loop/ports.ts';
import { QUIET_PORTS } from '../../../src/loop/quiet-ports.ts';
import { runLoop } from '../../../src/loop/run-loop.ts';
import { newRunState, type RunState } from '../../../src/loop/run-state.ts';
import { interpretResponse } from '../../../src/model/interpret-response.ts';
import { scriptedModel, type ScriptedModel, type ScriptEntry } from '../../../src/testing/index.ts';

/** A run of the real loop in this process: real snapshot, requests, interpretation and tools around a scripted model. */
export interface InProcessRun {
  agent: AnyAgent;
  instructions: string[];
  /** The last entry repeats. */
  script: ScriptEntry[];
  input: string;
  maxIterations: number;
  /** False: answers come through `final_answer`. */
  structuredOutput: boolean;
  /** Tools whose schema the model sees, and which the worker does not have. */
  unimplemented?: readonly string[];
  /** Receives the state before the loop begins, for tools that look at the record. */
  begun?: (state: RunState) => void;
}

/** What came out of a run. */
export interface FinishedRun {
  result: RunResultFields;
  state: RunState;
  requests: readonly ModelRequest[];
  /** The id that the model gave to a call, by the id under which it was recorded. */
  givenIds: ReadonlyMap<string, string>;
}

/** Runs the agent to its end. */
export async function runInProcess(run: InProcessRun): Promise<FinishedRun> {
  const capabilities = { structuredOutput: run.structuredOutput };
  const { instructions, maxIterations } = run;
  const snapshot = buildSnapshot(run.agent, { instructions, capabilities, heartbeatMs: 5_000, searchAttributes: false, maxIterations });
  const model = scriptedModel(run.script, { capabilities, repeatLast: true });
  const givenIds = new Map<string, string>();
  const ports: RunPorts = {
    ...QUIET_PORTS,
    now: () => Date.now(),
    uuid: randomUUID,
    callModel: (call) => callModel({ run, state, model, givenIds }, call),
    runTool: (invocation) => runTool({ run, state, model, givenIds }, invocation),
    cancelRequested: () => false,
  };
  const state = newRunState({ runId: randomUUID(), snapshot, input: run.input, startedAt: Date.now() }, ports);
  run.begun?.(state);
  const end = await runLoop(state, ports);
  if (end.type !== 'finished') throw new Error('The loop continues in another execution');
  return { result: end.result, state, requests: model.requests, givenIds };
}

interface Running {
  run: InProcessRun;
  state: RunState;
  model: ScriptedModel;
  givenIds: Map<string, string>;
}

async function callModel({ run, state, model, givenIds }: Running, call: ModelCall): Promise<ModelCallOutcome> {
  const conversation = state.window.events.map(({ author, content }) => ({ author, content }));
  const request = buildRequest(state.snapshot, conversation, call.final);
  try {
    const answer = await model.call(request, { signal: new AbortController().signal });
    const response = interpretResponse(answer, {
      snapshot: state.snapshot,
      outputZod: run.agent.output?.zod,
      knownCallIds: new Set(state.window.events.flatMap(({ content }) => content.filter(isToolCall).map(({ toolCallId }) => toolCallId))),
      uuid: randomUUID,
    });
    rememberIds(givenIds, answer, response);
    return { type: 'response', response };
  } catch (error) {
    return { type: 'failed', code: errorCode(error) ?? 'model_error', message: errorMessage(error) };
  }
}

/** A script that repeats an answer repeats its call ids, and ids are unique in a run: the cases know the given ones. */
function rememberIds(givenIds: Map<string, string>, answer: ModelResponse, response: RecordedResponse): void {
  response.content.filter(isToolCall).forEach((call, index) => {
    const given = answer.toolCalls[index]?.id;
    if (typeof given === 'string' && given !== '') givenIds.set(call.toolCallId, given);
  });
}

async function runTool({ run, state }: Running, { call, step }: ToolInvocation): Promise<ToolOutcome> {
  const changes: JsonObject = {};
  const implemented = run.unimplemented?.includes(call.name) !== true;
  const tool = implemented ? run.agent.tools.find((one) => one.name === call.name) : undefined;
  const context = toolContext(state, { step, callId: call.toolCallId, changes });
  const { content, isError, durationMs } = await executeTool({ tool, name: call.name, args: call.arguments, context });
  return { type: 'result', status: isError ? 'error' : 'success', content, durationMs, state: changes };
}

function silent(): void {
  // Nobody reads what tools say in a replay.
}

function toolContext(state: RunState, { step, callId, changes }: { step: number; callId: string; changes: JsonObject }): RunContext {
  return {
    deps: {},
    resources: {},
    retry: 0,
    agentName: state.snapshot.name,
    runId: state.runId,
    step,
    callId,
    idempotencyKey: `${state.runId}/${callId}`,
    signal: new AbortController().signal,
    state: structuredClone(state.context.state),
    log: { debug: silent, info: silent, warn: silent, error: silent },
    setState: (key, value) => {
      changes[key] = value;
    },
    heartbeat: silent,
  };
}
