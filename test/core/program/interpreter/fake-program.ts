import { setImmediate } from 'node:timers/promises';
import type { ChildLimits } from '../../../../src/core/domain/agent/agent-snapshot.ts';
import type { LimitChanges, RunLimits } from '../../../../src/core/domain/agent/limits.ts';
import type { JsonObject } from '../../../../src/core/domain/json/json.ts';
import type { AnswerVerdict } from '../../../../src/core/domain/program/verdict.ts';
import type { Event } from '../../../../src/core/domain/record/event.ts';
import type { ProgramDocument } from '../../../../src/core/domain/program/document.ts';
import type { RunResultFields } from '../../../../src/core/domain/run/result.ts';
import { closeUnstarted } from '../../../../src/core/loop/close-run.ts';
import type { CarriedInbox } from '../../../../src/core/loop/state/carried-inbox.ts';
import { Inbox } from '../../../../src/core/loop/state/inbox.ts';
import { fromContinueAsNewState, toContinueAsNewState } from '../../../../src/core/loop/state/continue-as-new-state.ts';
import type { RunState } from '../../../../src/core/loop/state/run-state.ts';
import { beginProgram } from '../../../../src/core/program/begin.ts';
import type {
  AskCall,
  AskOutcome,
  ChildCall,
  ChildOutcome,
  ChildStart,
  ProgramPorts,
} from '../../../../src/core/program/interpreter/program-ports.ts';
import { runProgram } from '../../../../src/core/program/interpreter/run-program.ts';
import { quietPorts } from '../../loop/fakes/quiet-ports.ts';
import { testSnapshot } from '../../loop/fakes/snapshot.ts';

/** A program that runs with fake ports, in as many executions as `continueDue` decides. */
export interface FakeProgram {
  document: ProgramDocument;
  input?: JsonObject;
  /** Returns the answer to a call; undefined if the call fails. */
  answer: (call: AskCall) => string | undefined;
  continueDue?: () => boolean;
  /** Returns the number of turns that a child takes. Default 1. */
  childTurns?: (runId: string) => number;
  /** Returns the verdict on the answer of a child that is an `ask` with tools. */
  childVerdict?: (runId: string) => AnswerVerdict | undefined;
  /** The limits of the run, and those of the agents that it runs. */
  limits?: Partial<RunLimits>;
  childLimits?: ChildLimits;
  /** Returns what a child uses of the limits that it has been given, and how it ends. Default: nothing; it completes. */
  childUse?: (runId: string, left: LimitChanges) => ChildUse;
  /** Approves each request to raise a limit, this many turns after it was made; or rejects it. */
  approvesAfter?: number;
  rejects?: boolean;
}

/** The use of a child, and its end. `lost`: it ends without a result. */
export interface ChildUse {
  steps: number;
  toolCalls: number;
  tokens: number;
  end: 'completed' | 'error' | 'lost';
}

/** The outcome of a program with fake ports. */
export interface FakeProgramRun {
  result: RunResultFields;
  /** The begin and the end of each model call, in order: `+sort.Kind#1`, `-sort.Kind#1`. */
  calls: string[];
  executions: number;
  /** The ids of the children that were started, in order. */
  children: string[];
  /** The most children that ran at once. */
  atOnce: number;
  /** The amounts that children have used, also those without a result. */
  used: { steps: number; toolCalls: number; tokens: number };
  /** The amounts that each child was given. */
  given: LimitChanges[];
  /** The ids of the requests to raise a limit, as often as they were seen. */
  requests: string[];
  /** Their inputs. */
  starts: ChildStart[];
  /** The events of all executions. */
  events: Event[];
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
  childVerdict = () => undefined,
}: FakeProgram): Promise<FakeProgramRun> {
  const calls: string[] = [];
  let [ids, now, executions] = [0, 1_800_000_000_000, 1];
  const clock = { now: () => now, uuid: () => `id-${++ids}` };
  const snapshot = {
    ...testSnapshot({ limits: { maxIterations: 10_000, finalAttempt: false, ...limits } }),
    program: document,
    ...(childLimits === undefined ? {} : { childLimits }),
  };
  const used = { steps: 0, toolCalls: 0, tokens: 0 };
  const given: LimitChanges[] = [];
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
  let [running, atOnce] = [0, 0];
  let state: RunState = beginProgram({ runId: 'run-1', snapshot, input, startedAt: now }, clock);
  let hasActed = false;
  let carriedInbox: CarriedInbox | undefined;
  const ask = async (call: AskCall): Promise<AskOutcome> => {
    const name = `${call.address}#${call.attempt}`;
    calls.push(`+${name}`);
    hasActed = true;
    // Calls end in another order than they began.
    for (let turns = name.length % 3; turns >= 0; turns -= 1) await setImmediate();
    calls.push(`-${name}`);
    const text = answer(call);
    if (text === undefined) return { type: 'failed', code: 'model_bad_request', message: 'no' };
    const content = [{ type: 'message' as const, role: 'assistant' as const, content: text }];
    return { type: 'answered', response: { id: clock.uuid(), content, finishReason: 'stop', usage: null }, verdict: {}, promptLength: 1 };
  };
  /** The turns that are left of each child, which goes on while no execution waits for it. */
  const children = new Map<string, number>();
  const uses = new Map<string, ChildUse>();
  const starts: ChildStart[] = [];
  const events: Event[] = [];
  const runChild = async ({ runId, start, isLeft }: ChildCall): Promise<ChildOutcome> => {
    if (start !== undefined && children.has(runId)) throw new Error(`The child "${runId}" was started twice`);
    if (start !== undefined) {
      children.set(runId, childTurns(runId));
      given.push(start.input.parent?.left ?? {});
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
    const { steps, toolCalls, tokens, end } = uses.get(runId) ?? { steps: 0, toolCalls: 0, tokens: 0, end: 'lost' };
    used.steps += steps;
    used.toolCalls += toolCalls;
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
        toolCallsTotal: toolCalls,
        toolCallsByName: { t: toolCalls },
      },
    };
  };
  for (;;) {
    hasActed = false;
    const inbox = new Inbox(carriedInbox);
    const ports: ProgramPorts = {
      ...quietPorts(),
      ...clock,
      inbox,
      callModel: () => Promise.resolve({ type: 'failed', code: 'internal', message: 'a program calls no model of an agent' }),
      runTool: () => Promise.resolve({ type: 'lost', reason: 'no tool runs here' }),
      ask,
      runChild,
      useMemory: () => Promise.resolve({ type: 'failed', code: 'memory_missing', message: 'no memory' }),
      readEarlier: () => Promise.resolve({ type: 'cancelled' }),
      until: async (isMet, deadline) => {
        for (let turns = 0; !isMet() && turns < 5_000; turns += 1) {
          await setImmediate();
          approveLimit(ports.inbox);
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
      return { result: end.result, calls, executions, children: [...children.keys()], starts, events, atOnce, used, given, requests };
    executions += 1;
    const carried = toContinueAsNewState(state, end.position, { executions, inbox: ports.inbox.carried() });
    carriedInbox = ports.inbox.carried();
    state = fromContinueAsNewState(JSON.parse(JSON.stringify(carried)) as typeof carried).state;
  }
}
