import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/core/domain/json.ts';
import type { StepDocument } from '../../../../src/core/domain/program-document.ts';
import { beginProgram } from '../../../../src/core/first-start.ts';
import { runProgram } from '../../../../src/core/interpret.ts';
import { BEGINNING } from '../../../../src/core/kernel/run-loop.ts';
import { Inbox } from '../../../../src/core/kernel/inbox.ts';
import type { RunState } from '../../../../src/core/kernel/run-state.ts';
import type { AskOutcome, ProgramPorts } from '../../../../src/core/program/program-ports.ts';
import { update } from '../../loop/fakes/callers.ts';
import { FakeScheduler, quietPorts } from '../../loop/fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../../loop/fakes/snapshot.ts';
import { carriedOver } from '../../loop/generated-runs/carried-over.ts';

const DECISIONS = {
  approve: {},
  'approve with other arguments': { arguments: { n: 2, question: 'You?', output: 'edited' } },
  reject: { reason: 'no' },
  respond: { content: 'given' },
};

/** The steps that wait for a person, each with the call that is decided about. */
const STEPS: Record<string, { step: StepDocument; callId: string }> = {
  'a call that a predicate asks about': { step: { name: 'Pay', tool: { name: 'maybe', arguments: { n: 1 } } }, callId: 'u.Pay' },
  'a call whose step asks': { step: { name: 'Pay', tool: { name: 'free', arguments: { n: 1 } }, approval: true }, callId: 'u.Pay' },
  'an approval': { step: { name: 'Pay', ask: { prompt: 'Pay?' }, approval: true }, callId: 'u.Pay' },
  'a review': { step: { name: 'Pay', ask: { prompt: 'Pay?' }, review: true }, callId: 'u.Pay.review' },
  'a question': { step: { name: 'Pay', human: { question: 'Pay?' } }, callId: 'u.Pay' },
};

type Hook = 'asksPredicate' | 'asksSide' | 'authorizes' | 'loads' | 'stores' | 'paused';

/** The moment when the decision comes. `during`: the effect of the run that is in progress. Without it, the run waits. */
interface Moment {
  continues: boolean;
  during?: Hook;
  /** The execution of that effect. */
  execution?: number;
}

const MOMENTS: Record<string, Moment> = {
  'while it waits in the next execution': { continues: true },
  'while another step keeps the execution that ends': { continues: true, during: 'asksSide', execution: 1 },
  'while its approver is checked, and the execution ends meanwhile': { continues: true, during: 'authorizes' },
  'while the execution that ends stores an output': { continues: true, during: 'stores', execution: 1 },
  'while the next execution loads an output for its step': { continues: true, during: 'loads', execution: 2 },
  'while the next execution would ask the predicate again': { continues: true, during: 'asksPredicate', execution: 2 },
  'while the next execution is paused': { continues: true, during: 'paused', execution: 2 },
};

interface Ended {
  status: string;
  output: unknown;
  /** The arguments of the calls of tools that were made. */
  calls: JsonObject[];
  /** The model calls, and if their prompts were edited. Parallel steps have no order. */
  asks: string[];
  /** The decisions in the record. */
  decided: string[];
  /** The requests for a decision. */
  requested: number;
  executions: number;
  /** The requests and decisions that are left at the end. */
  left: number;
}

const BIG = 'x'.repeat(1_100_000);

/** Runs a program in which one step waits for a person while another continues, and decides the waiting one at that moment. */
async function decideAt(
  { continues, during, execution = 1 }: Moment,
  step: StepDocument,
  callId: string,
  decision: string,
): Promise<Ended> {
  const scheduler = new FakeScheduler();
  let [ids, executions] = [0, 1];
  const clock = { now: () => scheduler.now, uuid: () => `id-${++ids}` };
  const usesOutput = during === 'loads' || during === 'stores';
  const about = usesOutput && step.tool !== undefined ? { ...step, tool: { ...step.tool, arguments: { n: 1, big: '{{Big}}' } } } : step;
  const snapshot = {
    ...testSnapshot({
      tools: [testTool('free'), testTool('maybe', { approval: { when: 'predicate' } })],
      notify: true,
      ...(during === 'authorizes' ? { authorize: true as const } : {}),
    }),
    program: {
      version: 1 as const,
      name: 'p',
      model: 'scripted/model',
      units: [
        {
          name: 'side',
          steps: [
            { name: 'Side', ask: { prompt: 'side' } },
            { name: 'Then', ask: { prompt: 'then' } },
          ],
        },
        { name: 'u', needs: [], steps: [...(usesOutput ? [{ name: 'Big', ask: { prompt: 'big' } }] : []), about] },
      ],
      output: { paid: '{{u.Pay}}' },
    },
  };
  let state: RunState = beginProgram({ runId: 'run-1', snapshot, input: {}, startedAt: clock.now() }, clock);
  let inbox = new Inbox();
  const calls: JsonObject[] = [];
  const asks: string[] = [];
  const told: string[] = [];
  const decided: string[] = [];
  let [isDecided, isFull, isLeaving, looks] = [false, false, false, 0];
  const decide = (): boolean => {
    const waiting = state.approvals.pending.find((one) => one.callId === callId);
    if (isDecided || waiting === undefined) return false;
    isDecided = true;
    const name = decision.split(' ')[0] as 'approve' | 'reject' | 'respond';
    const more = DECISIONS[decision as keyof typeof DECISIONS];
    update({ runId: 'run-1', inbox, state }, name, { callId, id: 'decision', digest: waiting.digest, by: 'ann', ...more });
    return true;
  };
  /** Ends the effect once what arrives during it was handled. */
  const effect = async <Value>(hook: Hook, value: Value): Promise<Value> => {
    if (hook === during && executions === execution) {
      decide();
      scheduler.notify();
    }
    for (let turn = hook === 'authorizes' ? 40 : 5; turn > 0; turn -= 1) await setImmediate();
    return value;
  };
  const stored = new Map<string, string>();
  const answer = async (address: string): Promise<AskOutcome> => {
    // The step at the side ends after the run has begun to leave this execution.
    if (address === 'side.Side')
      for (const hasBegun = (): boolean => !continues || isLeaving; !hasBegun();) {
        await setImmediate();
        scheduler.notify();
      }
    const text = address === 'u.Big' ? BIG : `answer of ${address}`;
    if (address === 'side.Side') await effect('asksSide', null);
    const content = [{ type: 'message' as const, role: 'assistant' as const, content: text }];
    return { type: 'answered', response: { id: clock.uuid(), content, finishReason: 'stop', usage: null }, verdict: {}, promptLength: 1 };
  };
  scheduler.act = () => {
    if (inbox.paused) {
      if (!isDecided && decide()) return true;
      update({ runId: 'run-1', inbox, state }, 'resume', {});
      return true;
    }
    // No event notifies a run whose steps have ended: a workflow checks again by itself.
    looks += 1;
    const isTime = during === 'authorizes' || executions === (continues ? 2 : 1);
    return (isTime && decide()) || looks < 50;
  };
  const ports = (): ProgramPorts => ({
    ...quietPorts(),
    ...clock,
    inbox,
    callEventId: (id) => `${executions}/${id}`,
    callModel: () => Promise.reject(new Error('a program calls no model of an agent')),
    until: (isMet, deadline) => scheduler.until(isMet, deadline),
    notify: ({ key }) => {
      told.push(key);
      return Promise.resolve({ type: 'notified' });
    },
    reevaluateApproval: (invocation) =>
      scheduler.during(effect('asksPredicate', { digest: '', reason: `predicate of ${invocation.tool.name}` })),
    authorize: async () => {
      isFull = continues && executions === 1;
      isLeaving = true;
      return effect('authorizes', { type: 'authorized' as const, as: 'boss' });
    },
    runTool: ({ call }) => {
      calls.push(call.arguments);
      return scheduler.during(effect('asksSide', { type: 'result', status: 'success', content: ['done'], durationMs: 1 } as const));
    },
    ask: async ({ address, edited }) => {
      asks.push(edited ? `${address} edited` : address);
      const answered = answer(address);
      return during === 'authorizes' && address === 'side.Side' ? answered : scheduler.during(answered);
    },
    useMemory: () => Promise.reject(new Error('the program has no memory')),
    readEarlier: () => Promise.reject(new Error('the program resumes nothing')),
    storeOutputs: async (outputs) => {
      const claims = Object.keys(outputs).map((address) => {
        stored.set(address, BIG);
        return [address, { store: 'memory', claim: { id: address }, bytes: BIG.length, sha256: '0'.repeat(64) }];
      });
      return effect('stores', { type: 'stored' as const, stored: Object.fromEntries(claims) });
    },
    loadOutput: ({ address }) => scheduler.during(effect('loads', { type: 'loaded' as const, value: stored.get(address) ?? '' })),
    continueDue: () => {
      const isDue = during === 'authorizes' ? isFull : continues && executions === 1 && state.approvals.pending.length > 0;
      isLeaving ||= isDue;
      return isDue;
    },
  });
  for (;;) {
    const { program } = state;
    if (program === undefined) throw new TypeError('The state has no program');
    const end = await runProgram(state, program, ports());
    decided.push(
      ...state.context.events.flatMap(({ decision: one }) => (one === undefined ? [] : `${one.type} by ${one.by} of ${one.callId}`)),
    );
    if (end.type === 'finished') {
      const { status, output } = end.result;
      const left = [...state.approvals.pending, ...(program.decided ?? [])].length;
      const made = calls.map(({ big: _, ...args }) => args);
      const others = asks.filter((one) => one !== 'u.Big').toSorted();
      return { status, output, calls: made, asks: others, decided, requested: new Set(told).size, executions, left };
    }
    if (end.position.type === 'idle') throw new TypeError('A program is never idle');
    executions += 1;
    ({ state, inbox } = carriedOver({ state, position: BEGINNING, inbox, executions }));
    isFull = false;
    if (during === 'paused') inbox.pause(true);
  }
}

describe.each(Object.entries(STEPS))('a decision about %s is carried out, and requested once', (_, { step, callId }) => {
  /** The run in one execution, by the decision: what every moment is compared with. */
  const undivided = new Map<string, Promise<Ended>>();
  function inOneExecution(decision: string): Promise<Ended> {
    const run = undivided.get(decision) ?? decideAt({ continues: false }, step, callId, decision);
    undivided.set(decision, run);
    return run;
  }

  describe.each(Object.entries(MOMENTS))('%s', (_name, moment) => {
    test.each(Object.keys(DECISIONS).filter((one) => step.human === undefined || !one.startsWith('approve')))('%s', async (decision) => {
      const whole = await inOneExecution(decision);
      expect(whole).toMatchObject({ decided: [`${decision.split(' ')[0]} by ann of ${callId}`], requested: 1, executions: 1, left: 0 });
      expect(await decideAt(moment, step, callId, decision)).toEqual({ ...whole, executions: 2 });
    });
  });
});
