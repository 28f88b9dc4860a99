import { setImmediate } from 'node:timers/promises';
import type { JsonObject } from '../../../../src/core/domain/json/json.ts';
import type { ProgramDocument } from '../../../../src/core/domain/program/document.ts';
import type { RunResultFields } from '../../../../src/core/domain/run/result.ts';
import { Inbox } from '../../../../src/core/loop/state/inbox.ts';
import { fromContinueAsNewState, toContinueAsNewState } from '../../../../src/core/loop/state/continue-as-new-state.ts';
import type { RunState } from '../../../../src/core/loop/state/run-state.ts';
import { beginProgram } from '../../../../src/core/program/begin.ts';
import type { AskCall, AskOutcome, ProgramPorts } from '../../../../src/core/program/interpreter/program-ports.ts';
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
}

/** The outcome of a program with fake ports. */
export interface FakeProgramRun {
  result: RunResultFields;
  /** The begin and the end of each model call, in order: `+sort.Kind#1`, `-sort.Kind#1`. */
  calls: string[];
  executions: number;
}

const MOST_EXECUTIONS = 200;

/** Runs a program to its end. Every state that is carried goes through JSON. */
export async function runFakeProgram({ document, input = {}, answer, continueDue = () => false }: FakeProgram): Promise<FakeProgramRun> {
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
  for (;;) {
    hasActed = false;
    const ports: ProgramPorts = {
      ...quietPorts(),
      ...clock,
      inbox: new Inbox(),
      callModel: () => Promise.resolve({ type: 'failed', code: 'internal', message: 'a program calls no model of an agent' }),
      runTool: () => Promise.resolve({ type: 'lost', reason: 'no tool runs here' }),
      ask,
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
    if (end.type === 'finished') return { result: end.result, calls, executions };
    executions += 1;
    const carried = toContinueAsNewState(state, end.position, { executions, inbox: ports.inbox.carried() });
    state = fromContinueAsNewState(JSON.parse(JSON.stringify(carried)) as typeof carried).state;
  }
}
