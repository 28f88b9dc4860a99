import { expect, test } from 'vitest';
import { z } from 'zod';
import { traceOf } from '../../../../src/core/program/trace.ts';
import type { TraceSpan } from '../../../../src/core/domain/trace.ts';
import { defineTool } from '../../../../src/define/define-tool.ts';
import {
  type AnyProgram,
  ask,
  branch,
  defineProgram,
  forEach,
  human,
  recall,
  remember,
  repeat,
  tool,
  unit,
} from '../../../../src/define/program/index.ts';
import { approve, failWith, reject, respond, say, scriptedModel, structured, testProgram } from '../../../../src/testing/index.ts';
import type { ProgramTestOptions } from '../../../../src/testing/index.ts';

const model = 'scripted/model';

async function traced(program: AnyProgram, options: ProgramTestOptions<never>): Promise<ReturnType<typeof traceOf>> {
  const { events } = await testProgram(program, options);
  return traceOf(program.document, events);
}

/** Returns the events of a span as `step type`, and its children. */
function outline({ name, events, children }: TraceSpan): unknown[] {
  return [name, events.map((event) => `${event.step_name} ${event.event_type}`), ...children.map(outline)];
}

test('a step that heals has a call, an answer and a verdict for each attempt', async () => {
  const program = defineProgram({
    name: 'heal',
    model,
    units: [
      unit('u', { persona: 'A clerk.', effort: 'low', anchors: ['NoHallucination', 'NoBias'] }, [
        ask('A', 'one two', { type: 'Summary', refine: { maxAttempts: 3 } }),
      ]),
    ],
  });
  const trace = await traced(program, {
    model: scriptedModel([failWith('model_error', 'down'), say('I believe so'), say('So say all men are late')]),
  });
  expect(trace.spans.map(outline)).toEqual([
    [
      'unit:u',
      [
        'A step_start',
        'A refine_start',
        'A model_call',
        'A retry_attempt',
        'A model_call',
        'A model_response',
        'A anchor_check',
        'A anchor_breach',
        'A anchor_check',
        'A anchor_pass',
        'A retry_attempt',
        'A model_call',
        'A model_response',
        'A anchor_check',
        'A anchor_pass',
        'A anchor_check',
        'A anchor_breach',
        'A validation_pass',
        'A step_end',
      ],
    ],
  ]);
  const [span] = trace.spans;
  expect(span?.metadata).toMatchObject({ persona: 'A clerk.', context: '', effort: 'low', status: 'completed' });
  expect(span?.events[4]?.data).toEqual({ effort: 'low', prompt_tokens: expect.any(Number) });
  expect(span?.events[7]?.data).toMatchObject({ anchor: 'NoHallucination', passed: false, severity: 'error' });
  expect(span?.events[16]?.data).toMatchObject({ anchor: 'NoBias', severity: 'warning' });
  expect(span?.events[10]?.data).toMatchObject({ attempt: 2, error_type: 'AnchorBreachError' });
  expect(trace.toJSON()).toMatchObject({ program_name: 'heal', backend_name: 'scripted', total_events: 19 });
});

test('the confidence of an answer is a separate check', async () => {
  const output = z.object({ confidence: z.number() });
  const program = defineProgram({
    name: 'sure',
    model,
    units: [unit('u', {}, [ask('A', 'q', { output, confidenceFloor: 0.8, refine: { maxAttempts: 2 } })])],
  });
  const trace = await traced(program, { model: scriptedModel([structured({ confidence: 0.5 }), structured({ confidence: 0.8 })]) });
  const checks = trace.spans[0]?.events.filter(({ event_type: type }) => type === 'confidence_check' || type.startsWith('validation'));
  expect(checks).toMatchObject([
    { event_type: 'confidence_check', data: { score: 0.5, floor: 0.8, passed: false } },
    { event_type: 'validation_fail', data: { violations: ['Confidence 0.50 is below the floor of 0.80.'] } },
    { event_type: 'confidence_check', data: { score: 0.8, floor: 0.8, passed: true } },
    { event_type: 'validation_pass' },
  ]);
});

test('blocks are spans inside their unit, and tools, memory and people have their events', async () => {
  const shout = defineTool({ name: 'shout', description: 's', parameters: z.object({ n: z.number() }), execute: ({ n }) => n * 2 });
  const program = defineProgram({
    name: 'blocks',
    model,
    input: z.object({ list: z.array(z.number()) }),
    units: [
      unit('u', {}, [
        forEach('Each', '{{input.list}}', { as: 'n', atOnce: 1 }, [
          repeat('Twice', { until: { of: 'Loud', is: { minimum: 99 } }, atMost: 2 }, [tool('Loud', shout, { n: '{{n}}' })]),
        ]),
        branch('Way', [{ when: { of: 'input.list', is: { minItems: 9 } }, steps: [ask('Never', 'q')] }]),
        remember('Keep', 'k', '{{Each}}'),
        recall('Find', 'k'),
        human('Who', 'Who?', { review: true, refine: { maxAttempts: 2 } }),
      ]),
    ],
  });
  let reviews = 0;
  const trace = await traced(program, {
    input: { list: [1, 2] } as never,
    model: scriptedModel([]),
    decide: ({ toolName }) => {
      if (toolName === 'u.Who') return respond('Ann');
      reviews += 1;
      return reviews === 1 ? reject('no') : approve();
    },
  });
  expect(trace.spans.map(outline)).toEqual([
    [
      'unit:u',
      [
        'Each step_start',
        'Each step_end',
        'Way step_start',
        'Way step_end',
        'Keep step_start',
        'Keep memory_write',
        'Keep step_end',
        'Find step_start',
        'Find memory_read',
        'Find step_end',
        'Who step_start',
        'Who refine_start',
        'Who retry_attempt',
        'Who step_end',
      ],
      [
        'forEach:Each',
        ['Twice[0] step_start', 'Twice[0] step_end', 'Twice[1] step_start', 'Twice[1] step_end'],
        ...[0, 1].map((item) => [
          `repeat:Twice[${item}]`,
          [0, 1].flatMap((round) => ['step_start', 'model_call', 'step_end'].map((type) => `Loud[${item}][${round}] ${type}`)),
        ]),
      ],
      ['branch:Way', []],
    ],
  ]);
});

test('a unit that is skipped is an empty span with its reason', async () => {
  const program = defineProgram({
    name: 'skip',
    model,
    units: [unit('a', {}, [ask('A', 'q')]), unit('b', { needs: ['a'] }, [ask('B', 'q')])],
  });
  const trace = await traced(program, { model: scriptedModel([failWith('model_error', 'down')]) });
  expect(trace.spans.map(outline)).toEqual([
    ['unit:a', ['A step_start', 'A model_call', 'A retry_attempt', 'A step_end']],
    ['unit:b', []],
  ]);
  expect(trace.spans[1]?.metadata).toMatchObject({ status: 'skipped', reason: 'it needs unit "a", which failed' });
});
