import { setImmediate } from 'node:timers/promises';
import type { ChildLimits, ToolSnapshot } from '../../../../src/core/domain/agent.ts';
import { defined, type JsonObject, type JsonValue } from '../../../../src/core/domain/json.ts';
import type { LimitChanges, RunLimits } from '../../../../src/core/domain/limits.ts';
import type { SpilledContent } from '../../../../src/core/domain/content.ts';
import { jsonBytes } from '../../../../src/core/domain/byte-budgets.ts';
import type { AnswerVerdict } from '../../../../src/core/domain/verdicts.ts';
import type { Event } from '../../../../src/core/domain/record.ts';
import type { ProgramDocument } from '../../../../src/core/domain/program-document.ts';
import type { EarlierRun, ProgramState } from '../../../../src/core/domain/program-run.ts';
import type { RunResultFields } from '../../../../src/core/domain/result.ts';
import { noUsage } from '../../../../src/core/domain/usage.ts';
import { closeUnstarted } from '../../../../src/core/kernel/run-loop.ts';
import { type ContinuedInbox, Inbox } from '../../../../src/core/kernel/inbox.ts';
import { fromContinueAsNewState, toContinueAsNewState } from '../../../../src/core/kernel/continue-as-new.ts';
import type { RunState } from '../../../../src/core/kernel/run-state.ts';
import { beginProgram } from '../../../../src/core/first-start.ts';
import type { ChildCall, ChildOutcome, ChildStart } from '../../../../src/core/domain/children.ts';
import type { AskCall, AskOutcome, ProgramPorts } from '../../../../src/core/program/program-ports.ts';
import { MAX_CARRIED_OUTPUT_BYTES } from '../../../../src/core/program/stored-outputs.ts';
import { runProgram } from '../../../../src/core/interpret.ts';
import { stepValues } from '../../../../src/core/queries/queries.ts';
import { quietPorts } from '../../loop/fakes/fake-ports.ts';
import { testSnapshot } from '../../loop/fakes/snapshot.ts';

/** A program that runs with fake ports, in as many executions as `continueDue` decides. */
export interface FakeProgram {
  document: ProgramDocument;
  input?: JsonObject;
  /** Returns the answer to a call; undefined if the call fails. */
  answer: (call: AskCall) => string | undefined;
  /** The payload store: values by id. Default: an empty one. Null: there is none. */
  store?: Map<string, JsonValue> | null;
  /** How many bytes each byte of a stored output counts. Default 1. */
  storedFactor?: number;
  /** The earlier run whose results are taken over. */
  earlier?: EarlierRun;
  /** The step from which it starts again. */
  resumeFrom?: string;
  continueDue?: () => boolean;
  /** Returns the number of turns that a child takes. Default 1. */
  childTurns?: (runId: string) => number;
  /** Returns the verdict on the answer of a child that is an `ask` with tools. */
  childVerdict?: (runId: string) => AnswerVerdict | undefined;
  /** The limits of the run and of the agents that it runs. */
  limits?: Partial<RunLimits>;
  childLimits?: ChildLimits;
  /** Returns what a child uses of the limits that it has been given, and how it ends. Default: nothing; it completes. */
  childUse?: (runId: string, left: LimitChanges) => ChildUse;
  /** Approves each request to raise a limit, this many turns after it was made; or rejects it. */
  approvesAfter?: number;
  rejects?: boolean;
  /** The run is paused from the start. */
  paused?: boolean;
  /** The tools of the run. */
  tools?: ToolSnapshot[];
  /** Whether a tool call fails. Default: none does. */
  toolFails?: (callId: string) => boolean;
  /** Answers each question with "yes", this many turns after it was asked. Default: never. */
  answersAfter?: number;
}

/** The use of a child, and its end. `lost`: it ends without a result. */
export interface ChildUse {
  steps: number;
  toolCalls: number;
  tokens: number;
  /** The calls of its own agents, by tool; counted by name if the program limits the tool. */
  callsBelow?: Record<string, number>;
  end: 'completed' | 'error' | 'lost';
}

/** The outcome of a program with fake ports. */
export interface FakeProgramRun {
  result: RunResultFields;
  /** The program's state at its end. */
  program: ProgramState;
  /** The begin and the end of each model call, in order: `+sort.Kind#1`, `-sort.Kind#1`. */
  calls: string[];
  executions: number;
  /** The ids of the children that were started, in order. */
  children: string[];
  /** The most children that ran at once. */
  atOnce: number;
  /** The amounts that children have used, also those without a result. */
  used: { steps: number; toolCalls: number; tokens: number };
  /** The amounts that each child got. */
  given: LimitChanges[];
  /** The ids of the requests to raise a limit, as often as they were seen. */
  requests: string[];
  /** Their inputs. */
  starts: ChildStart[];
  /** The events of all executions. */
  events: Event[];
  /** The inputs of activities and children: the outputs that each model call had, and the start of each child, by name. */
  inputs: Record<string, JsonValue>;
  /** The outputs that were stored and loaded, in order: `+read.Big`, `-read.Big`, each with the number of the execution, and loaded ones with their id. */
  moved: string[];
  /** The tool calls, in the order they were made: `sort.Look`, or `sort.Look local`. */
  toolCalls: string[];
}

const MOST_EXECUTIONS = 200;

/** Runs a program to its end. Every state that is carried goes through JSON. */
export async function runFakeProgram({
  document,
  input = {},
  answer,
  continueDue = () => false,
  childTurns = () => 1,
  limits = {},
  childLimits,
  childUse = () => ({ steps: 0, toolCalls: 0, tokens: 0, end: 'completed' }),
  approvesAfter = Infinity,
  rejects = false,
  paused = false,
  childVerdict = () => undefined,
  earlier,
  resumeFrom,
  store = new Map<string, JsonValue>(),
  storedFactor = 1,
  tools = [],
  toolFails = () => false,
  answersAfter = Infinity,
}: FakeProgram): Promise<FakeProgramRun> {
  const calls: string[] = [];
  const toolCalls: string[] = [];
  let [ids, now, executions] = [0, 1_800_000_000_000, 1];
  const clock = { now: () => now, uuid: () => `id-${++ids}` };
  const snapshot = {
    ...testSnapshot({ tools, limits: { steps: 10_000, finalAttempt: false, ...limits } }),
    program: document,
    ...(childLimits === undefined ? {} : { childLimits }),
  };
  const used = { steps: 0, toolCalls: 0, tokens: 0 };
  const given: LimitChanges[] = [];
  const inputs: Record<string, JsonValue> = {};
  const requests: string[] = [];
  const approved = new Set<string>();
  const approveLimit = (inbox: Inbox): void => {
    const waiting = state.approvals.pending.find(({ kind }) => kind === 'limit');
    if (waiting === undefined || approved.has(waiting.callId)) return;
    requests.push(waiting.callId);
    if (requests.filter((id) => id === waiting.callId).length <= approvesAfter) return;
    approved.add(waiting.callId);
    const { callId, toolName, digest, proposal = {} } = waiting;
    const by = { by: null, source: 'update' as const, at: new Date(now).toISOString() };
    inbox.decide({ id: callId, type: rejects ? 'reject' : 'approve', callId, toolName, digest, arguments: { ...proposal }, ...by });
    inbox.countUpdate();
  };
  const turnsAsked = new Map<string, number>();
  const answerQuestions = (inbox: Inbox): void => {
    for (const { kind, callId, toolName, digest } of state.approvals.pending) {
      const turns = (turnsAsked.get(callId) ?? 0) + 1;
      turnsAsked.set(callId, turns);
      if (kind !== 'question' || turns !== answersAfter) continue;
      const by = { by: null, source: 'update' as const, at: new Date(now).toISOString() };
      inbox.decide({ id: callId, type: 'respond', callId, toolName, digest, content: 'yes', ...by });
      inbox.countUpdate();
    }
  };
  let [running, atOnce] = [0, 0];
  let state: RunState = beginProgram({ runId: 'run-1', snapshot, input, startedAt: now }, clock);
  if (earlier !== undefined && state.program !== undefined) state.program.resume = { run: 'earlier', ...defined({ from: resumeFrom }) };
  let hasActed = false;
  let carriedInbox: ContinuedInbox | undefined;
  const moved: string[] = [];
  const read = (outputs: Record<string, string>) => readOutputs(state, store ?? new Map<string, JsonValue>(), outputs);
  const ask = async (call: AskCall): Promise<AskOutcome> => {
    const name = `${call.address}#${call.attempt}`;
    calls.push(`+${name}`);
    hasActed = true;
    inputs[name] = read(call.outputs);
    // Calls end in another order than they began.
    for (let turns = name.length % 3; turns >= 0; turns -= 1) await setImmediate();
    calls.push(`-${name}`);
    const text = answer(call);
    if (text === undefined) return { type: 'failed', code: 'model_bad_request', message: 'no' };
    const content = [{ type: 'message' as const, role: 'assistant' as const, content: text }];
    return { type: 'answered', response: { id: clock.uuid(), content, finishReason: 'stop', usage: null }, verdict: {}, promptLength: 1 };
  };
  /** The remaining turns of each child, which continues while no execution waits for it. */
  const children = new Map<string, number>();
  const uses = new Map<string, ChildUse>();
  const starts: ChildStart[] = [];
  const events: Event[] = [];
  const runChild = async ({ runId, start, isLeft }: ChildCall): Promise<ChildOutcome> => {
    if (start !== undefined && children.has(runId)) throw new Error(`The child "${runId}" was started twice`);
    if (start !== undefined) {
      children.set(runId, childTurns(runId));
      given.push(start.input.parent?.left ?? {});
      inputs[runId] = JSON.parse(JSON.stringify(start.input.input ?? null)) as JsonValue;
      uses.set(runId, childUse(runId, start.input.parent?.left ?? {}));
      running += 1;
      atOnce = Math.max(atOnce, running);
      starts.push(start);
    }
    for (let left = children.get(runId) ?? 0; left > 0; children.set(runId, (left -= 1))) {
      if (isLeft()) return { type: 'left', seenAt: now };
      await setImmediate();
    }
    hasActed = true;
    running -= 1;
    const { steps, toolCalls: made, tokens, callsBelow, end } = uses.get(runId) ?? { steps: 0, toolCalls: 0, tokens: 0, end: 'lost' };
    used.steps += steps;
    used.toolCalls += made;
    used.tokens += tokens;
    if (end === 'lost') return { type: 'failed', code: 'run_terminated', message: 'an operator terminated it' };
    const ending = { status: end, stopReason: end === 'error' ? end : ('final_answer' as const), output: `output of ${runId}` };
    const verdict = childVerdict(runId);
    const result = closeUnstarted({ runId, agentName: 'a', startedAt: now }, clock, { ...ending, ...(verdict && { verdict }) });
    const usage = { ...result.usage, llmCalls: steps, promptTokens: tokens, totalTokens: tokens };
    return {
      type: 'ended',
      result: {
        ...result,
        stepsUsed: verdict === undefined ? steps : 2,
        usage,
        toolCallsTotal: made,
        toolCallsByName: { t: made },
        ...(callsBelow === undefined
          ? {}
          : {
              descendants: {
                usage: noUsage(),
                toolCalls: Object.values(callsBelow).reduce((sum, one) => sum + one, 0),
                toolCallsByName: Object.fromEntries(
                  Object.entries(callsBelow).filter(([tool]) => limits.toolCallsByName?.[tool] !== undefined),
                ),
                runs: 1,
              },
            }),
      },
    };
  };
  for (;;) {
    hasActed = false;
    const inbox = new Inbox(carriedInbox);
    if (paused) inbox.pause(true);
    const ports: ProgramPorts = {
      ...quietPorts(),
      ...clock,
      callEventId: (callId) => `execution-${executions}/${callId}`,
      inbox,
      callModel: () => Promise.resolve({ type: 'failed', code: 'internal', message: 'a program calls no model of an agent' }),
      runTool: ({ call, tool }) => {
        toolCalls.push(`${call.toolCallId}${tool.tier === 'local' ? ' local' : ''}`);
        hasActed = true;
        const isFailed = toolFails(call.toolCallId);
        return setImmediate({ type: 'result', status: isFailed ? 'error' : 'success', content: [isFailed ? 'no' : 'done'], durationMs: 1 });
      },
      ask,
      runChild,
      useMemory: () => Promise.resolve({ type: 'failed', code: 'memory_missing', message: 'no memory' }),
      readEarlier: () => Promise.resolve(earlier === undefined ? { type: 'cancelled' } : { type: 'read', earlier }),
      storeOutputs: async (outputs) => {
        await setImmediate();
        if (store === null) return { type: 'failed', message: 'this worker has no payload store' };
        const stored: Record<string, SpilledContent> = {};
        for (const [address, value] of Object.entries(read(outputs))) {
          const id = outputs[address] ?? '';
          moved.push(`+${address} in ${executions}`);
          store.set(id, JSON.parse(JSON.stringify(value)) as JsonValue);
          stored[address] = { store: 'memory', claim: { id }, bytes: jsonBytes(value) * storedFactor, sha256: '0'.repeat(64) };
        }
        return { type: 'stored', stored };
      },
      loadOutput: async ({ address, id }) => {
        await setImmediate();
        moved.push(`-${address} in ${executions}: ${id}`);
        const value = store?.get(id);
        if (value !== undefined) return { type: 'loaded', value };
        return { type: 'failed', code: 'spilled_unavailable', message: `Store "memory" has no "${address}"` };
      },
      until: async (isMet, deadline) => {
        for (let turns = 0; !isMet(); turns += 1) {
          if (turns === 5_000) throw new Error('The program waits for something that never comes');
          await setImmediate();
          approveLimit(ports.inbox);
          answerQuestions(ports.inbox);
          if (deadline !== undefined && turns > 20) now = Math.max(now, deadline.at);
          if (deadline !== undefined && deadline.at <= now) return;
        }
      },
      continueDue: () => hasActed && executions < MOST_EXECUTIONS && continueDue(),
    };
    const { program } = state;
    if (program === undefined) throw new TypeError('The state has no program');
    const end = await runProgram(state, program, ports);
    events.push(...state.context.events);
    if (end.type === 'finished')
      return {
        result: end.result,
        program,
        calls,
        executions,
        children: [...children.keys()],
        starts,
        events,
        inputs,
        atOnce,
        used,
        given,
        requests,
        moved,
        toolCalls,
      };
    executions += 1;
    if (executions > 5 * MOST_EXECUTIONS) throw new Error('The program continues as new without end');
    if (jsonBytes([...program.steps].map(([, { output, items }]) => [output, items])) > MAX_CARRIED_OUTPUT_BYTES + 100_000)
      throw new Error('The outputs that are carried are over their budget');
    const carried = toContinueAsNewState(state, end.position, { executions, inbox: ports.inbox.carried() });
    carriedInbox = ports.inbox.carried();
    state = fromContinueAsNewState(JSON.parse(JSON.stringify(carried)) as typeof carried).state;
  }
}

/** Reads outputs as an activity does: it asks the run by query, and then the payload store. */
function readOutputs(state: RunState, store: ReadonlyMap<string, JsonValue>, outputs: Record<string, string>): Record<string, JsonValue> {
  const { runId, startedAt, deps } = state;
  const run = { runId, agentName: 'p', deps, startedAt, executions: 1, inbox: new Inbox(), authorizing: new Map(), state };
  const read = Object.entries(outputs).map(([address, id]): [string, JsonValue] => {
    const answer = stepValues(run, { outputs: [address] });
    if (answer.long?.includes(address)) return [address, wholeOf((from) => stepValues(run, { piece: { address, from } }).piece)];
    const value = answer.outputs?.[address] ?? (answer.spilled?.[address] === undefined ? undefined : store.get(id));
    if (value === undefined) throw new Error(`An activity does not find the output of "${address}"`);
    return [address, value];
  });
  return Object.fromEntries(read);
}

function wholeOf(read: (from: number) => { text: string } | undefined): JsonValue {
  let text = '';
  for (let more = read(0)?.text ?? ''; more !== ''; more = read(text.length)?.text ?? '') text += more;
  return JSON.parse(text) as JsonValue;
}
