import { describe, expect, it, test } from 'vitest';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import type { ProgramDocument, StepDocument } from '../../../../src/core/domain/program-document.ts';
import type { NotifyOutcome } from '../../../../src/core/capabilities/notifications.ts';
import type { WaitDeadline } from '../../../../src/core/domain/time.ts';
import type { ToolInvocation } from '../../../../src/core/kernel/ports.ts';
import { Inbox } from '../../../../src/core/kernel/inbox.ts';
import type { RunResultFields } from '../../../../src/core/domain/result.ts';
import { beginProgram } from '../../../../src/core/first-start.ts';
import { runProgram } from '../../../../src/core/interpret.ts';
import { update } from '../../loop/fakes/callers.ts';
import { FakeScheduler, quietPorts } from '../../loop/fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../../loop/fakes/snapshot.ts';
import { VirtualClock } from '../mutants/virtual-clock.ts';
import { fromContinueAsNewState, toContinueAsNewState } from '../../../../src/core/kernel/continue-as-new.ts';
import type { RunClock, RunState } from '../../../../src/core/kernel/run-state.ts';
import type { ProgramPorts } from '../../../../src/core/program/program-ports.ts';
import {
  agent,
  type AnyStep,
  type AnyUnit,
  ask,
  defineProgram,
  forEach,
  human,
  parallel,
  repeat,
  sleep,
  tool,
  unit,
} from '../../../../src/define/program/index.ts';
import { type FakeProgramRun, runFakeProgram } from './fake-program.ts';
import { propertyRuns } from '../../../property-runs.ts';

const NEVER = { of: 'input.none', is: {} };
const skipped: StepDocument = { name: 'Skipped', when: NEVER, ask: { prompt: 'Never.' } };

function repeated(name: string, atMost: number, steps: StepDocument[]): StepDocument {
  return { name, repeat: { until: NEVER, atMost, steps } };
}

interface Ended {
  result: RunResultFields;
  /** The summaries of the timers. */
  timers: string[];
}

/** Runs a program without effects. `cancelAfter`: the number of timers after which it is cancelled. */
async function run(steps: StepDocument[], { cancelAfter = Infinity, items = 0 } = {}): Promise<Ended> {
  const clock = new VirtualClock();
  let ids = 0;
  const stamps = { now: () => clock.now, uuid: () => `id-${++ids}` };
  const program: ProgramDocument = { version: 1, name: 'p', model: 'p/m', lenient: true, units: [{ name: 'u', steps }] };
  const input = { list: Array.from({ length: items }, (_, index) => index) };
  const state = beginProgram({ runId: 'r', snapshot: { ...testSnapshot(), program }, input, startedAt: clock.now }, stamps);
  const timers: string[] = [];
  const none = (): never => {
    throw new Error('nothing is to be called');
  };
  const until = (isMet: () => boolean, deadline?: WaitDeadline): Promise<void> => {
    if (deadline !== undefined) timers.push(deadline.summary);
    return clock.until(isMet, deadline);
  };
  const ports = {
    ...quietPorts(),
    ...stamps,
    inbox: new Inbox(),
    until,
    cancelRequested: () => timers.length >= cancelAfter,
    callModel: none,
    runTool: none,
    ask: none,
    useMemory: none,
    runChild: none,
    readEarlier: none,
    callEventId: none,
    storeOutputs: none,
    loadOutput: none,
  };
  if (state.program === undefined) throw new TypeError('The state has no program');
  let isDone = false;
  const running = runProgram(state, state.program, ports).finally(() => (isDone = true));
  const hasEnded = await clock.run(
    () => isDone,
    () => false,
    1_000,
  );
  const end = hasEnded ? await running : undefined;
  if (end?.type !== 'finished') throw new Error('The run has not ended');
  return { result: end.result, timers };
}

describe('steps that need no activity', () => {
  it('are begun in one task if they are few', async () => {
    const { result, timers } = await run([repeated('Rounds', 150, [skipped])]);
    expect(result.status).toBe('completed');
    expect(timers).toEqual([]);
  });

  it('are divided into tasks of two hundred', async () => {
    const { result, timers } = await run([{ name: 'Each', forEach: { in: 'input.list', atOnce: 2, steps: [skipped] } }], { items: 900 });
    expect(result.status).toBe('completed');
    expect(timers).toEqual(Array.from({ length: 4 }, () => 'pause after 200 steps'));
  });

  it('end with a limit if they are too many for one execution', async () => {
    const { result, timers } = await run([repeated('Outer', 10_000, [repeated('Inner', 10_000, [skipped])])]);
    expect(result).toMatchObject({ status: 'max_iterations_reached', stopReason: 'step_limit' });
    expect(timers.length).toBeGreaterThan(50);
  });

  it('stop if the run is cancelled', async () => {
    const { result, timers } = await run([repeated('Outer', 10_000, [repeated('Inner', 10_000, [skipped])])], { cancelAfter: 3 });
    expect(result.status).toBe('cancelled');
    expect(timers).toHaveLength(3);
  });
});

describe('the events of calls', () => {
  const { document } = defineProgram({
    name: 'stamps',
    units: [
      unit('all', {}, [
        parallel('Both', [
          [sleep('Nap', 10), tool('Last', 'stamp')],
          [tool('First', 'stamp'), tool('Next', 'stamp')],
        ]),
      ]),
    ],
  });

  /** The ports that these programs do not use. */
  function portsOf(clock: RunClock, inbox: Inbox): Omit<ProgramPorts, 'runTool' | 'callEventId'> {
    return {
      ...quietPorts(),
      ...clock,
      inbox,
      callModel: () => Promise.reject(new Error('no model')),
      ask: () => Promise.reject(new Error('no model')),
      useMemory: () => Promise.reject(new Error('no memory')),
      runChild: () => Promise.reject(new Error('no child')),
      readEarlier: () => Promise.reject(new Error('no earlier run')),
      storeOutputs: () => Promise.reject(new Error('no store')),
      loadOutput: () => Promise.reject(new Error('no store')),
    };
  }

  /** The calls of one try of a workflow task: `napTurns` decides which step comes first, and every other id is new. */
  async function callsOf(executionId: string, napTurns: number): Promise<Record<string, string>> {
    const made: ToolInvocation[] = [];
    const clock = { now: () => (turns > napTurns ? 100 : 0), uuid: () => crypto.randomUUID() };
    let turns = 0;
    const snapshot = { ...testSnapshot({ tools: [testTool('stamp', { tier: 'local' })] }), program: document };
    const state = beginProgram({ runId: 'run-1', snapshot, startedAt: 0 }, clock);
    if (state.program === undefined) throw new TypeError('The state has no program');
    const { result } = (await runProgram(state, state.program, {
      ...portsOf(clock, new Inbox()),
      callEventId: (callId) => `${executionId}:${callId}`,
      runTool: async (invocation) => {
        made.push(invocation);
        await setImmediate();
        return { type: 'result', id: crypto.randomUUID(), status: 'success', content: ['stamped'], durationMs: 1 };
      },
      until: async (isMet, deadline) => {
        const { at = Infinity } = deadline ?? {};
        while (!isMet() && clock.now() < at) {
          await setImmediate();
          turns += 1;
        }
      },
    })) as { result?: { status: string } };
    expect(result?.status).toBe('completed');
    return Object.fromEntries(made.map(({ call, eventId }) => [call.toolCallId, eventId]));
  }

  test('a call keeps the id of its event, and so its idempotency key, if its workflow task is lost and steps come in another order', async () => {
    const first = await callsOf('execution-1', 0);
    expect(Object.keys(first).toSorted()).toEqual(['all.First', 'all.Last', 'all.Next']);
    expect(await callsOf('execution-1', 50)).toEqual(first);
    expect(Object.values(await callsOf('execution-2', 0)).some((id) => Object.values(first).includes(id))).toBe(false);
  });

  const one = defineProgram({ name: 'one', units: [unit('all', {}, [tool('Stamp', 'stamp')])] });

  test('a call that is left to the next execution keeps the id that it would have had in this one', async () => {
    const clock = { now: () => 0, uuid: () => crypto.randomUUID() };
    const snapshot = { ...testSnapshot({ tools: [testTool('stamp')] }), program: one.document };
    let state = beginProgram({ runId: 'run-1', snapshot, startedAt: 0 }, clock);
    const made: ToolInvocation[] = [];
    for (const executionId of ['execution-1', 'execution-2']) {
      if (state.program === undefined) throw new TypeError('The state has no program');
      const inbox = new Inbox();
      const end = await runProgram(state, state.program, {
        ...portsOf(clock, inbox),
        callEventId: (callId) => `${executionId}:${callId}`,
        continueDue: () => executionId === 'execution-1',
        runTool: (invocation) => {
          made.push(invocation);
          return Promise.resolve({ type: 'result', id: 'r', status: 'success', content: ['stamped'], durationMs: 1 });
        },
        until: async (isMet) => {
          while (!isMet()) await setImmediate();
        },
      });
      if (end.type === 'finished') break;
      const carried = toContinueAsNewState(state, end.position, { executions: 2, inbox: inbox.carried() });
      state = fromContinueAsNewState(JSON.parse(JSON.stringify(carried)) as typeof carried).state;
    }
    expect(made.map(({ eventId }) => eventId)).toEqual(['execution-1:all.Stamp']);
  });
});

const tools = [testTool('near', { tier: 'local' })];
const near = (name: string): AnyStep => tool(name, 'near');

async function toolCallsOf(...units: AnyUnit[]): Promise<string[]> {
  const { document } = defineProgram({ name: 'local', model: 'scripted/model', units });
  const { toolCalls, result } = await runFakeProgram({ document, input: { items: [1, 2] }, answer: () => 'a', tools });
  expect(result.status).toBe('completed');
  return toolCalls.toSorted();
}

test('a local tool runs inside the workflow task if its step runs alone', async () => {
  const steps = [
    near('One'),
    forEach('Each', '{{input.items}}', { atOnce: 1 }, [near('Item')]),
    parallel('Single', [[near('Inside')]]),
    near('Last'),
  ];
  expect(await toolCallsOf(unit('u', {}, steps))).toEqual([
    'u.Inside local',
    'u.Item[0] local',
    'u.Item[1] local',
    'u.Last local',
    'u.One local',
  ]);
});

test('a local tool runs as a remote one if other steps run at the same time', async () => {
  const steps = [
    parallel('Both', [[near('A'), near('B')], [ask('C', 'c')]]),
    forEach('Each', '{{input.items}}', { atOnce: 2 }, [near('Item')]),
    near('After'),
  ];
  expect(await toolCallsOf(unit('u', {}, steps))).toEqual(['u.A', 'u.After local', 'u.B', 'u.Item[0]', 'u.Item[1]']);
});

test('a local tool runs as a remote one while another unit runs', async () => {
  const units = [
    unit('a', { needs: [] }, [near('A')]),
    unit('b', { needs: [] }, [ask('B', 'b')]),
    unit('c', { needs: ['a', 'b'] }, [near('C')]),
  ];
  expect(await toolCallsOf(...units)).toEqual(['a.A', 'c.C local']);
});

test('of many local calls in a row some are remote, so that no workflow task grows without bound', async () => {
  const again = repeat('Again', { until: { of: 'One', is: { const: 'never' } }, atMost: 60 }, [near('One')]);
  const calls = await toolCallsOf(unit('u', {}, [again]));
  const remote = calls.filter((call) => !call.endsWith('local'));
  expect([calls.length, remote.length]).toEqual([60, 2]);
});

describe('a call that quiet hours postpone', () => {
  const at = (time: string): number => Date.parse(`2026-01-${time}:00Z`);

  /** Runs a program of one call from 23:00 on, and returns the times at which the call was made. Each request comes when the run waits. */
  async function timesOfCall(...requests: [now: number, name: 'pause' | 'resume'][]): Promise<string[]> {
    const scheduler = new FakeScheduler();
    scheduler.now = at('01T23:00');
    let ids = 0;
    const clock = { now: () => scheduler.now, uuid: () => `id-${++ids}` };
    const quietHours = { from: 22 * 60, to: 8 * 60, zone: 'UTC', offsets: [{ since: 0, minutes: 0 }] };
    const { document: program } = defineProgram({ name: 'p', units: [unit('u', {}, [tool('Send', 'mail')])] });
    const snapshot = { ...testSnapshot({ tools: [testTool('mail', { category: 'communicate' })], quietHours }), program };
    const state = beginProgram({ runId: 'r', snapshot, input: {}, startedAt: scheduler.now }, clock);
    const inbox = new Inbox();
    const times: string[] = [];
    const none = (): never => {
      throw new Error('nothing else is to be called');
    };
    scheduler.act = () => {
      const next = requests.shift();
      if (next === undefined) return false;
      [scheduler.now] = next;
      update({ runId: 'r', inbox, state }, next[1], {});
      return true;
    };
    const ports: ProgramPorts = {
      ...quietPorts(),
      ...clock,
      inbox,
      until: (isMet, deadline) => scheduler.until(isMet, deadline),
      callEventId: (id) => id,
      runTool: () => {
        times.push(new Date(scheduler.now).toISOString());
        return scheduler.during(setImmediate({ type: 'result' as const, status: 'success', content: ['sent'], durationMs: 1 }));
      },
      callModel: none,
      ask: none,
      useMemory: none,
      runChild: none,
      readEarlier: none,
      storeOutputs: none,
      loadOutput: none,
    };
    if (state.program === undefined) throw new TypeError('The state has no program');
    await runProgram(state, state.program, ports);
    expect(state.postponed).toBeUndefined();
    return times;
  }

  test('starts in the morning', async () => {
    expect(await timesOfCall()).toEqual(['2026-01-02T08:00:00.000Z']);
  });

  test('does not start in the next night, in which a pause ends', async () => {
    const [night, noon, nextNight] = [at('01T23:30'), at('02T12:00'), at('02T23:30')];
    expect(await timesOfCall([night, 'pause'], [noon, 'pause'], [nextNight, 'resume'])).toEqual(['2026-01-03T08:00:00.000Z']);
    expect(await timesOfCall([night, 'pause'], [noon, 'resume'])).toEqual(['2026-01-02T12:00:00.000Z']);
  });
});

describe('notifications', () => {
  const { document } = defineProgram({
    name: 'asks',
    units: [unit('all', {}, [parallel('Both', [[human('Who', 'Who?')], [human('When', 'When?')]])])],
  });

  /** The calls that one execution notifies about: a notification completes if its call is in `told`. */
  async function execute(state: RunState, { told }: { told: string[] }): Promise<{ notified: string[]; next: RunState }> {
    const notified: string[] = [];
    const ports: ProgramPorts = {
      ...quietPorts(),
      now: () => 1_800_000_000_000,
      uuid: () => crypto.randomUUID(),
      callEventId: (callId) => `execution/${callId}`,
      inbox: new Inbox(),
      notify: ({ callId }) => {
        notified.push(callId);
        return told.includes(callId) ? Promise.resolve({ type: 'notified' }) : Promise.withResolvers<NotifyOutcome>().promise;
      },
      continueDue: () => state.approvals.pending.length === 2,
      callModel: () => Promise.reject(new Error('no model')),
      runTool: () => Promise.reject(new Error('no tool')),
      ask: () => Promise.reject(new Error('no model')),
      storeOutputs: () => Promise.reject(new Error('no store')),
      loadOutput: () => Promise.reject(new Error('no store')),
      useMemory: () => Promise.reject(new Error('no memory')),
      runChild: () => Promise.reject(new Error('no child')),
      readEarlier: () => Promise.reject(new Error('no earlier run')),
      until: async (isMet) => {
        while (!isMet()) await setImmediate();
      },
    };
    if (state.program === undefined) throw new TypeError('The state has no program');
    const end = await runProgram(state, state.program, ports);
    if (end.type === 'finished') throw new Error(`It ended: ${JSON.stringify(end.result.error)}`);
    const carried = toContinueAsNewState(state, end.position, { executions: 2, inbox: ports.inbox.carried() });
    return { notified, next: fromContinueAsNewState(JSON.parse(JSON.stringify(carried)) as typeof carried).state };
  }

  test('a notification that has not completed when the program continues as new is repeated by the next execution', async () => {
    const snapshot = { ...testSnapshot(), notify: true as const, program: document };
    const clock = { now: () => 1_800_000_000_000, uuid: () => crypto.randomUUID() };
    const first = await execute(beginProgram({ runId: 'run-1', snapshot, input: {}, startedAt: clock.now() }, clock), {
      told: ['all.Who'],
    });
    expect(first.notified).toEqual(['all.Who', 'all.When']);
    const second = await execute(first.next, { told: [] });
    expect(second.notified).toEqual(['all.When']);
    const third = await execute(second.next, { told: ['all.When'] });
    expect(third.notified).toEqual(['all.When']);
    expect((await execute(third.next, { told: [] })).notified).toEqual([]);
  });
});

describe('children of a program', () => {
  const { document } = defineProgram({
    name: 'children',
    model: 'scripted/model',
    input: { type: 'object' },
    units: [
      unit('all', {}, [
        parallel('Both', [
          [agent('First', 'a', 'first {{input.n}}'), ask('After', 'after {{First}}')],
          [forEach('Each', '{{input.items}}', { as: 'item', atOnce: 2 }, [agent('One', 'a', '{{item}}'), ask('Ask', 'of {{One}}')])],
        ]),
        agent('Last', 'a', '{{Both}} {{Each}}'),
      ]),
    ],
    output: { both: '{{all.Both}}', each: '{{all.Each}}', last: '{{all.Last}}' },
  });
  const input = { n: 1, items: ['x', 'y', 'z'] };
  const answer = ({ address }: { address: string }): string => `answer of ${address}`;

  test('a program that continues as new at any point starts each child once, and has the same result', async () => {
    const undisturbed = await runFakeProgram({ document, input, answer });
    expect(undisturbed.result.status).toBe('completed');
    expect(undisturbed.children).toHaveLength(5);
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.boolean()), fc.array(fc.nat(30), { minLength: 5, maxLength: 5 }), async (dues, turns) => {
        const { result, children, executions } = await runFakeProgram({
          document,
          input,
          answer,
          continueDue: () => dues.next().value === true,
          childTurns: (runId) => turns[runId.length % turns.length] ?? 1,
        });
        expect({ output: result.output, status: result.status }).toEqual({ output: undisturbed.result.output, status: 'completed' });
        expect(children.toSorted()).toEqual(undisturbed.children.toSorted());
        expect(executions).toBeGreaterThan(0);
      }),
      { numRuns: propertyRuns(200) },
    );
  });
});

describe('a block in which a step fails, before the program continues as new', () => {
  const bad = ask('Bad', 'Why?');
  const fails: Pick<Parameters<typeof runFakeProgram>[0], 'answer' | 'answersAfter' | 'continueDue'> = {
    answer: ({ address }) => (address.includes('Bad') ? undefined : 'text'),
    answersAfter: 4,
    continueDue: () => true,
  };

  test('still ends its other lists, as in one execution', async () => {
    const branches = parallel('Both', [[human('Who', 'Who?'), tool('Then', 'look')], [bad]]);
    const { document } = defineProgram({ name: 'p', model: 'p/m', units: [unit('u', {}, [branches])] });
    for (const continueDue of [() => false, () => true]) {
      const { result, toolCalls } = await runFakeProgram({ document, tools: [testTool('look')], ...fails, continueDue });
      expect(toolCalls).toEqual(['u.Then']);
      expect(result.units?.[0]).toMatchObject({ status: 'failed', error: { code: 'model_call_failed' } });
    }
  });

  test('gets back the share of the limits of a child in another list', async () => {
    const { document } = defineProgram({
      name: 'p',
      model: 'p/m',
      units: [
        unit('u', { needs: [] }, [parallel('Both', [[agent('Long', 'a', 'Go')], [bad]])]),
        unit('v', { needs: [] }, [ask('First', 'Why?'), ask('Second', 'Why?'), agent('Next', 'a', 'Go')]),
      ],
    });
    const { result } = await runFakeProgram({
      document,
      ...fails,
      limits: { steps: 10 },
      childLimits: { agents: { a: { steps: 6 } }, programs: {} },
      childTurns: (runId) => (runId.endsWith('Long') ? 100 : 1),
    });
    expect(result.units?.map(({ name, status }) => [name, status])).toEqual([
      ['u', 'failed'],
      ['v', 'completed'],
    ]);
  });

  test('begins no further item', async () => {
    const who = human('Who', 'Who?', { when: { of: 'item', is: { const: 2 } } });
    const items = forEach('Each', '{{input.items}}', { atOnce: 3 }, [tool('Look', 'look'), who]);
    const { document } = defineProgram({ name: 'p', model: 'p/m', units: [unit('u', {}, [items])] });
    const { result, toolCalls, events, executions } = await runFakeProgram({
      document,
      input: { items: [0, 1, 2, 3, 4, 5] },
      tools: [testTool('look')],
      ...fails,
      toolFails: (callId) => callId === 'u.Look[0]',
    });
    expect(toolCalls).toEqual(['u.Look[0]', 'u.Look[1]', 'u.Look[2]']);
    const ends = events.flatMap(({ step }) => (step?.type === 'end' ? `${step.at} ${step.status}` : []));
    expect(ends).toContain('u.Who[2] completed');
    expect(result.units?.[0]).toMatchObject({ status: 'failed', error: { code: 'tool_failed' } });
    expect(executions).toBe(2);
  });
});

describe('a step whose attempts are used up, and whose fallback runs for several executions', () => {
  const refine = { maxAttempts: 2, onExhaustion: 'fallback', fallback: 'Then' } as const;
  const runInMany = (first: AnyStep, then: AnyStep): ReturnType<typeof runFakeProgram> =>
    runFakeProgram({
      document: defineProgram({ name: 'p', model: 'p/m', units: [unit('u', {}, [first, then])] }).document,
      answer: ({ address }) => (address === 'u.First' ? undefined : 'text'),
      tools: [testTool('pay', { effect: 'once' })],
      toolFails: () => true,
      childUse: (runId) => ({ steps: 1, toolCalls: 0, tokens: 0, end: runId.includes('First') ? 'error' : 'completed' }),
      childTurns: () => 5,
      answersAfter: 4,
      continueDue: () => true,
    });

  it.each([
    ['a question', human('Then', 'Paid?'), 'yes'],
    ['a model call', ask('Then', 'Why?'), 'text'],
    ['a child', agent('Then', 'a', 'Go'), expect.stringContaining('Then')],
    ['a block', parallel('Then', [[human('H', 'Paid?')], [agent('A', 'a', 'Go')]]), ['yes', expect.stringContaining('A')]],
  ])('makes no further attempt: %s', async (_, then, output) => {
    const asked = await runInMany(ask('First', 'Why?', { refine }), then);
    expect(asked.calls.filter((call) => call.startsWith('+u.First'))).toEqual(['+u.First#1', '+u.First#2']);
    expect(asked.result.units?.[0]?.steps[0]).toMatchObject({ status: 'completed', attempts: 2, output, reason: 'taken from "Then"' });
    expect(asked.executions).toBeGreaterThan(2);
    const called = await runInMany(tool('First', 'pay', {}, { refine }), then);
    expect(called.toolCalls).toEqual(['u.First', 'u.First#2']);
    const started = await runInMany(agent('First', 'a', 'Go', { refine }), then);
    expect(started.children.filter((id) => id.includes('First'))).toHaveLength(2);
    expect(started.result.status).toBe('completed');
  });
});

describe('an attempt that fails before anything is sent', () => {
  const schema = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] };
  const refine = { maxAttempts: 20 };
  const cases: [why: string, step: StepDocument, code: string][] = [
    ['arguments do not fit the tool', { name: 'S', tool: { name: 'act', arguments: { amount: 'much' } }, refine }, 'tool_failed'],
    ['there is no such tool', { name: 'S', tool: { name: 'other' }, refine }, 'tool_failed'],
    ['an argument has no value', { name: 'S', tool: { name: 'act', arguments: { amount: '{{input.none}}' } }, refine }, 'tool_failed'],
    ['the input of an agent has no value', { name: 'S', agent: { name: 'a', input: '{{input.none}}' }, refine }, 'child_failed'],
    ['a question has no value', { name: 'S', human: { question: '{{input.none}}' }, refine }, 'invalid_input'],
    ['a wait is no duration', { name: 'S', sleep: { for: '{{input.word}}' as never }, refine }, 'invalid_input'],
  ];

  it.each(cases)('is the last one, because the next would fail in the same way: %s', async (_, step, code) => {
    const runOne = (one: StepDocument): Promise<FakeProgramRun> =>
      runFakeProgram({
        document: { version: 1, name: 'p', model: 'p/m', units: [{ name: 'u', steps: [one] }] },
        input: { word: 'soon' },
        answer: () => 'x',
        tools: [testTool('act', { schema, parameters: schema })],
      });
    const { result, events } = await runOne(step);
    expect(result.units?.[0]?.steps[0]).toMatchObject({
      status: 'failed',
      attempts: 1,
      error: { code: 'refine_exhausted', cause: { code } },
    });
    expect(events.filter((event) => event.step?.type === 'attempt')).toHaveLength(1);
    const passedOver = await runOne({ ...step, refine: { maxAttempts: 20, onExhaustion: 'skip' } });
    expect(passedOver.result.units?.[0]?.steps[0]).toMatchObject({ status: 'skipped', attempts: 1 });
  });
});

describe('a paused program', () => {
  const document = defineProgram({ name: 'p', model: 'p/m', units: [unit('u', {}, [ask('A', 'Q'), sleep('Later', '1h')])] }).document;

  test('ends at its deadline, like a paused run of an agent', async () => {
    const { result, calls } = await runFakeProgram({ document, answer: () => 'text', limits: { deadlineMs: 60_000 }, paused: true });
    expect(result).toMatchObject({ status: 'limit_reached', stopReason: 'deadline', durationSeconds: 60 });
    expect(calls).toEqual([]);
  });
});
