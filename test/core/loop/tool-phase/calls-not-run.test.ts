import { describe, expect, it } from 'vitest';
import type { AgentSnapshot } from '../../../../src/core/domain/agent.ts';
import type { CallCounts, NotRun } from '../../../../src/core/domain/tool-calls.ts';
import type { RecordedResponse } from '../../../../src/core/domain/model.ts';
import { RunResult } from '../../../../src/core/domain/result.ts';
import { call, called, type FakeScript, responded, runFake, said } from '../fakes/fake-ports.ts';
import { approves, rejects, responds, sends } from '../fakes/callers.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';

const lookUp = testTool('look_up');
const refund = testTool('refund');
const always = { approval: { when: 'always' as const } };

interface Kind {
  snapshot?: Partial<AgentSnapshot>;
  refundTool?: object;
  response?: Partial<RecordedResponse>;
  script?: Partial<FakeScript>;
  name?: string;
}

/** Runs an answer with a call of `look_up` that runs, and one of `refund`. */
async function run({ snapshot = {}, refundTool = {}, response = {}, script = {}, name = 'refund' }: Kind) {
  return runFake({
    snapshot: testSnapshot({ tools: [lookUp, { ...refund, ...refundTool }], ...snapshot }),
    model: [responded([call('c1', 'look_up'), call('c2', name)], response), said('done')],
    ...script,
  });
}

describe('a call that does not run is distinguished from calls that run', () => {
  it.each<[string, NotRun, Kind]>([
    ['a person has rejected it', 'refused', { refundTool: always, script: { callers: [rejects('c2')] } }],
    ['a permission denies it', 'refused', { snapshot: { permissions: [{ mode: 'default', deny: [{ tool: 'refund' }] }] } }],
    [
      'a hook denied it',
      'refused',
      { response: { problems: { c2: 'no' }, hooks: [{ hook: 'h', on: 'pre_tool_use', answer: 'deny', callId: 'c2' }] } },
    ],
    [
      'a hook that must not fail has failed',
      'refused',
      { response: { problems: { c2: 'no' }, hooks: [{ hook: 'h', on: 'pre_tool_use', answer: 'failed', denied: true, callId: 'c2' }] } },
    ],
    [
      'a guardrail blocked it',
      'refused',
      {
        response: {
          problems: { c2: 'Tool blocked: no' },
          guardrails: { findings: [{ name: 'g', type: 'tool_call', outcome: 'tripped', message: 'no', callId: 'c2' }] },
        },
      },
    ],
    ['a person has answered it', 'answered', { refundTool: always, script: { callers: [responds('c2', 'by hand')] } }],
    ['there is no such tool', 'unknown', { name: 'nope' }],
    ['there is no such tool, and its arguments are not JSON', 'unknown', { name: 'nope', response: { problems: { c2: 'no JSON' } } }],
    ['its arguments do not fit', 'invalid', { response: { problems: { c2: 'Invalid arguments' } } }],
    ['nothing implements it', 'not_started', { refundTool: { notExecutable: true } }],
    ['the limit has no room for it', 'not_started', { snapshot: { limits: { steps: 10, finalAttempt: false, toolCalls: 1 } } }],
    ['the run was steered while it waited', 'not_started', { refundTool: always, script: { callers: [sends('rather not', 'steer')] } }],
    ['the run was cancelled while it waited', 'not_started', { refundTool: always, script: { callers: [({ cancel }) => cancel()] } }],
  ])('if %s: %s', async (_, reason, kind) => {
    const { result, steps } = await run(kind);
    const name = kind.name ?? 'refund';
    expect(result).toMatchObject({ toolCallsTotal: 1, toolCallsByName: { look_up: 1 }, toolCallsNotRun: { [reason]: { [name]: 1 } } });
    expect(steps[0]?.toolCalls.map(({ notRun }) => notRun)).toEqual([undefined, reason]);
  });

  it.each<[string, Kind]>([
    ['it was approved', { refundTool: always, script: { callers: [approves('c2')] } }],
    ['it failed', { script: { tools: { refund: () => ({ type: 'result', status: 'error', content: ['no'], durationMs: 1 }) } } }],
    ['its question was answered', { refundTool: { ...always, answer: { type: 'string' } }, script: { callers: [responds('c2', 'yes')] } }],
    ['its outcome is unknown', { refundTool: { effect: 'once' }, script: { tools: { refund: () => ({ type: 'lost', reason: 'gone' }) } } }],
  ])('and not if %s', async (_, kind) => {
    const { result, steps } = await run(kind);
    expect(result).toMatchObject({ toolCallsTotal: 2, toolCallsByName: { look_up: 1, refund: 1 } });
    expect(result).not.toHaveProperty('toolCallsNotRun');
    expect(steps[0]?.toolCalls[1]).not.toHaveProperty('notRun');
  });

  it('over executions', async () => {
    const full: FakeScript['continueDue'] = ({ modelCalls, positions }) => modelCalls.length > positions.length;
    const model = [called(call('c1', 'nope'), call('c2', 'look_up')), called(call('c3', 'nope')), said('done')];
    const { result, positions } = await run({ script: { model, continueDue: full } });
    expect(positions.length).toBeGreaterThan(1);
    expect(result).toMatchObject({ toolCallsTotal: 1, toolCallsNotRun: { unknown: { nope: 2 } } });
  });

  it('for any name that a model invents, a bounded number of which are counted separately', async () => {
    const names = ['__proto__', 'constructor', ...Array.from({ length: 60 }, (_, index) => `nope_${index}`)];
    const model = [called(...names.map((name, index) => call(`c${index}`, name))), said('done')];
    const { result } = await run({ script: { model } });
    const { unknown = {} } = result.toolCallsNotRun ?? {};
    expect(Object.keys(unknown)).toHaveLength(31);
    expect(Object.entries(unknown)).toContainEqual(['__proto__', 1]);
    expect(unknown['(other)']).toBe(names.length - 30);
  });
});

const NONE = { toolCallsTotal: 0, toolCallsByName: {} };

describe('a summary', () => {
  it.each<[string, CallCounts, string]>([
    [
      'names a refusal',
      { toolCallsTotal: 1, toolCallsByName: { look_up: 1 }, toolCallsNotRun: { refused: { refund: 1 } } },
      '1 tool calls (look_upx1), 1 refused (refund)',
    ],
    [
      'names every reason',
      { ...NONE, toolCallsNotRun: { unknown: { a: 1, b: 2 }, refused: { c: 2 } } },
      '0 tool calls (none), 2 refused (cx2), 3 unknown (a, bx2)',
    ],
    [
      'names reasons in words',
      { ...NONE, toolCallsNotRun: { answered: { a: 1 }, invalid: { b: 1 }, not_started: { c: 1 } } },
      '0 tool calls (none), 1 answered by a person (a), 1 invalid (b), 1 not started (c)',
    ],
    ['names nothing if all calls have run', { toolCallsTotal: 2, toolCallsByName: { look_up: 2 } }, '2 tool calls (look_upx2)'],
  ])('%s', async (_, counts, text) => {
    const { result } = await run({});
    expect(new RunResult({ ...result, ...counts } as typeof result).summary()).toContain(` | ${text} | `);
  });
});
