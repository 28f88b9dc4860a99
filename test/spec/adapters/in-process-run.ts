import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { buildRequest } from '../../../activities/model-calls/build-request.ts';
import { fakeContext } from '../../fakes/run-context.ts';
import { buildSnapshot } from '../../../activities/agents/build-snapshot.ts';
import { executeTool } from '../../../activities/tool-calls/execute-tool.ts';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import type { RunContext } from '../../../src/define/run-context.ts';
import { isToolCall } from '../../../src/core/domain/content/content.ts';
import { errorCode, errorMessage } from '../../../src/core/domain/errors/error.ts';
import type { JsonObject } from '../../../src/core/domain/json/json.ts';
import type { ModelRequest, ModelResponse } from '../../../src/core/domain/model/model.ts';
import type { RecordedResponse } from '../../../src/core/domain/model/recorded-response.ts';
import type { RunResultFields } from '../../../src/core/domain/run/run-result.ts';
import type { Inbox } from '../../../src/core/loop/state/inbox.ts';
import type { ModelCall, ModelCallOutcome, RunPorts, ToolInvocation, ToolOutcome } from '../../../src/core/loop/ports.ts';
import { quietPorts } from '../../core/loop/quiet-ports.ts';
import { type LoopEnd, runLoop } from '../../../src/core/loop/run-loop.ts';
import { newRunState, type RunState } from '../../../src/core/loop/state/run-state.ts';
import type { MessageReceiver } from '../../../src/core/handlers/message-receiver.ts';
import { noWorkerHas } from '../../../src/core/domain/content/tool-text.ts';
import { interpretResponse } from '../../../src/model/interpret-response.ts';
import { scriptedModel, type ScriptedModel, type ScriptEntry } from '../../../src/testing/index.ts';

/** A run of the real loop in this process: real snapshot, requests, interpretation and tools around a scripted model. */
export interface InProcessRun {
  agent: AnyAgent;
  instructions: string[];
  /** The last entry repeats. */
  script: ScriptEntry[];
  input: string;
  deps?: JsonObject;
  maxIterations: number;
  /** The run is cancelled before this step. */
  cancelBeforeStep?: number;
  /** False: answers come through `final_answer`. */
  structuredOutput: boolean;
  /** Tools whose schema the model sees, and which the worker does not have. */
  unimplemented?: readonly string[];
  /** Receives the state before the loop begins, for tools that look at the record. */
  begun?: (state: RunState) => void;
  /** Says what somebody has to say to a run that waits; false where there is nothing more. The run is left as it stands then. */
  people?: (waiting: Required<MessageReceiver>, givenIds: FinishedRun['givenIds']) => boolean;
}

/** What came out of a run. */
export interface FinishedRun {
  /** Undefined where the run waits for somebody. */
  result: RunResultFields | undefined;
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
  const clock = { now: () => Date.now(), uuid: randomUUID };
  const state = newRunState({ runId: randomUUID(), snapshot, input: run.input, deps: run.deps, startedAt: Date.now() }, clock);
  const running: Running = { run, state, model, givenIds: new Map(), tools: 0 };
  const suspended = Promise.withResolvers<undefined>();
  const quiet = quietPorts();
  const ports: RunPorts = {
    ...quiet,
    ...clock,
    cancelRequested: () => state.context.currentStep + 1 >= (run.cancelBeforeStep ?? Infinity) && state.phase !== 'tools',
    callModel: (call) => callModel(running, call),
    runTool: (invocation) => runTool(running, invocation),
    until: (isMet) => waitForPeople(running, { isMet, inbox: quiet.inbox, suspend: () => suspended.resolve(undefined) }),
  };
  run.begun?.(state);
  const end = await Promise.race([runLoop(state, ports), suspended.promise]);
  return { result: resultOf(end), state, requests: model.requests, givenIds: running.givenIds };
}

function resultOf(end: LoopEnd | undefined): RunResultFields | undefined {
  if (end?.type === 'continue') throw new Error('The loop continues in another execution');
  return end?.result;
}

interface Running {
  run: InProcessRun;
  state: RunState;
  model: ScriptedModel;
  givenIds: Map<string, string>;
  /** Tool calls that are going on. */
  tools: number;
}

/** What runs ends by itself; then somebody has to say something, or the run waits for ever. */
async function waitForPeople(
  running: Running,
  { isMet, inbox, suspend }: { isMet: () => boolean; inbox: Inbox; suspend: () => void },
): Promise<void> {
  const { state, givenIds, run } = running;
  while (!isMet()) {
    await setImmediate();
    if (running.tools > 0 || isMet() || run.people?.({ runId: state.runId, state, inbox }, givenIds)) continue;
    suspend();
    await new Promise(() => undefined);
  }
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

async function runTool(running: Running, { call, step }: ToolInvocation): Promise<ToolOutcome> {
  const { run, state } = running;
  const changes: JsonObject = {};
  const implemented = run.unimplemented?.includes(call.name) !== true;
  const tool = implemented ? run.agent.tools.find((one) => one.name === call.name) : undefined;
  const context = toolContext(state, { step, callId: call.toolCallId, changes });
  // As the workers of a run do that have waited for another one.
  if (tool === undefined) return { type: 'result', status: 'error', content: [noWorkerHas(call.name)], durationMs: null };
  running.tools += 1;
  const { content, isError, durationMs, update } = await executeTool({ tool, args: call.arguments, context });
  running.tools -= 1;
  const status = isError ? 'error' : 'success';
  return { type: 'result', status, content, durationMs, state: changes, ...(update === undefined ? {} : { contextUpdate: update }) };
}

function toolContext(state: RunState, { step, callId, changes }: { step: number; callId: string; changes: JsonObject }): RunContext {
  return fakeContext({
    deps: structuredClone(state.deps),
    agent: state.snapshot.name,
    runId: state.runId,
    step,
    callId,
    idempotencyKey: `${state.runId}/${callId}`,
    state: structuredClone(state.context.state),
    setState: (key, value) => {
      changes[key] = value;
    },
  });
}
