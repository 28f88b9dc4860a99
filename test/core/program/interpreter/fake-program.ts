import { setImmediate } from 'node:timers/promises';
import type { JsonObject } from '../../../../src/core/domain/json/json.ts';
import type { ProgramDocument } from '../../../../src/core/domain/program/document.ts';
import type { RunResultFields } from '../../../../src/core/domain/run/result.ts';
import { closeUnstarted } from '../../../../src/core/loop/close-run.ts';
import { Inbox } from '../../../../src/core/loop/state/inbox.ts';
import { fromContinueAsNewState, toContinueAsNewState } from '../../../../src/core/loop/state/continue-as-new-state.ts';
import type { RunState } from '../../../../src/core/loop/state/run-state.ts';
import { beginProgram } from '../../../../src/core/program/begin.ts';
import type { AskCall, AskOutcome, ChildCall, ChildOutcome, ProgramPorts } from '../../../../src/core/program/interpreter/program-ports.ts';
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
}

/** The outcome of a program with fake ports. */
export interface FakeProgramRun {
  result: RunResultFields;
  /** The begin and the end of each model call, in order: `+sort.Kind#1`, `-sort.Kind#1`. */
  calls: string[];
  executions: number;
  /** The ids of the children that were started, in order. */
  children: string[];
}

const MOST_EXECUTIONS = 200;

/** Runs a program to its end. Every state that is carried goes through JSON. */
export async function runFakeProgram({
  document,
  input = {},
  answer,
  continueDue = () => false,
  childTurns = () => 1,
}: FakeProgram): Promise<FakeProgramRun> {
  const calls: string[] = [];
  let [ids, now, executions] = [0, 1_800_000_000_000, 1];
  const clock = { now: () => now, uuid: () => `id-${++ids}` };
  const snapshot = { ...testSnapshot({ limits: { maxIterations: 10_000, finalAttempt: false } }), program: document };
  let state: RunState = beginProgram({ runId: 'run-1', snapshot, input, startedAt: now }, clock);
  let hasActed = false;
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
  const runChild = async ({ runId, start, isLeft }: ChildCall): Promise<ChildOutcome> => {
    if (start !== undefined && children.has(runId)) throw new Error(`The child "${runId}" was started twice`);
    if (start !== undefined) children.set(runId, childTurns(runId));
    for (let left = children.get(runId) ?? 0; left > 0; children.set(runId, (left -= 1))) {
      if (isLeft()) return { type: 'left', seenAt: now };
      await setImmediate();
    }
    hasActed = true;
    const ending = { status: 'completed' as const, stopReason: 'final_answer' as const, output: `output of ${runId}` };
    return { type: 'ended', result: closeUnstarted({ runId, agentName: 'a', startedAt: now }, clock, ending) };
  };
  for (;;) {
    hasActed = false;
    const ports: ProgramPorts = {
      ...quietPorts(),
      ...clock,
      callEventId: (callId) => `execution-${executions}/${callId}`,
      inbox: new Inbox(),
      callModel: () => Promise.resolve({ type: 'failed', code: 'internal', message: 'a program calls no model of an agent' }),
      runTool: () => Promise.resolve({ type: 'lost', reason: 'no tool runs here' }),
      ask,
      runChild,
      useMemory: () => Promise.resolve({ type: 'failed', code: 'memory_missing', message: 'no memory' }),
      readEarlier: () => Promise.resolve({ type: 'cancelled' }),
      until: async (isMet, deadline) => {
        for (let turns = 0; !isMet() && turns < 5_000; turns += 1) {
          await setImmediate();
          if (deadline !== undefined && turns > 20) now = Math.max(now, deadline.at);
          if (deadline !== undefined && deadline.at <= now) return;
        }
      },
      continueDue: () => hasActed && executions < MOST_EXECUTIONS && continueDue(),
    };
    const { program } = state;
    if (program === undefined) throw new TypeError('The state has no program');
    const end = await runProgram(state, program, ports);
    if (end.type === 'finished') return { result: end.result, calls, executions, children: [...children.keys()] };
    executions += 1;
    const carried = toContinueAsNewState(state, end.position, { executions, inbox: ports.inbox.carried() });
    state = fromContinueAsNewState(JSON.parse(JSON.stringify(carried)) as typeof carried).state;
  }
}
