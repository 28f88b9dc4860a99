import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { UsageError } from '../../../src/core/domain/errors.ts';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json.ts';
import { checkProgram } from '../../../src/core/program/check/check-program.ts';
import { STEP_KINDS } from '../../../src/core/domain/program-document.ts';
import { defineAgent } from '../../../src/define/define-agent.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import {
  agent,
  ask,
  branch,
  defineProgram,
  forEach,
  type GivenInputOf,
  human,
  parallel,
  program,
  type ProgramInputOf,
  type ProgramOutputOf,
  recall,
  remember,
  repeat,
  sleep,
  tool,
  unit,
} from '../../../src/define/program/index.ts';
import { FULL } from '../../core/program/check/programs.ts';

const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order.',
  parameters: z.strictObject({ ticket: z.string(), limit: z.int().optional() }),
  execute: () => 'found',
});
const desk = defineAgent({ name: 'desk', model: 'scripted/model', deps: z.object({ user: z.string().default('x') }) });

function triage() {
  return defineProgram({
    name: 'triage',
    model: 'scripted/model',
    input: z.object({ ticket: z.string(), urgent: z.boolean().default(false) }),
    units: [
      unit('sort', { persona: 'You sort the tickets of a bank.', anchors: ['NoHallucination'] }, [
        ask('Kind', 'What is this about? {{input.ticket}}', {
          output: z.object({ kind: z.enum(['refund', 'bug']), confidence: z.number() }),
          confidenceFloor: 0.8,
          refine: { maxAttempts: 3, backoff: 'exponential' },
        }),
      ]),
      unit('reply', { needs: ['sort'], when: { of: 'sort.Kind.kind', is: { const: 'refund' } } }, [
        tool('Order', findOrder, { ticket: '{{input.ticket}}' }),
        agent('Letter', desk, 'Answer {{input.ticket}}. Order: {{Order}}', { review: true }),
      ]),
    ],
    output: '{{reply.Letter}}',
  });
}

describe('a program', () => {
  test('is a document', () => {
    expect(JSON.parse(JSON.stringify(triage()))).toEqual({
      version: 1,
      name: 'triage',
      model: 'scripted/model',
      input: {
        type: 'object',
        properties: { ticket: { type: 'string' }, urgent: { default: false, type: 'boolean' } },
        required: ['ticket'],
      },
      output: '{{reply.Letter}}',
      units: [
        {
          name: 'sort',
          persona: 'You sort the tickets of a bank.',
          anchors: ['NoHallucination'],
          steps: [
            {
              name: 'Kind',
              ask: {
                prompt: 'What is this about? {{input.ticket}}',
                confidenceFloor: 0.8,
                output: {
                  type: 'object',
                  properties: { kind: { type: 'string', enum: ['refund', 'bug'] }, confidence: { type: 'number' } },
                  required: ['kind', 'confidence'],
                },
              },
              refine: { maxAttempts: 3, backoff: 'exponential' },
            },
          ],
        },
        {
          name: 'reply',
          needs: ['sort'],
          when: { of: 'sort.Kind.kind', is: { const: 'refund' } },
          steps: [
            { name: 'Order', tool: { name: 'find_order', arguments: { ticket: '{{input.ticket}}' } } },
            { name: 'Letter', agent: { name: 'desk', input: 'Answer {{input.ticket}}. Order: {{Order}}' }, review: true },
          ],
        },
      ],
    });
  });

  test('round-trips through its check', () => {
    const { problems, document } = checkProgram(JSON.parse(JSON.stringify(triage())));
    expect(problems).toEqual([]);
    expect(document).toEqual(triage().toJSON());
  });

  test('keeps the types of its input', () => {
    type Triage = ReturnType<typeof triage>;
    expectTypeOf<GivenInputOf<Triage>>().toEqualTypeOf<{ ticket: string; urgent?: boolean | undefined }>();
    expectTypeOf<ProgramInputOf<Triage>>().toEqualTypeOf<{ ticket: string; urgent: boolean }>();
    expectTypeOf<ProgramOutputOf<Triage>>().toEqualTypeOf<JsonValue>();
    const open = defineProgram({ name: 'open', units: [unit('u', {}, [sleep('Wait', '1s')])] });
    expectTypeOf<GivenInputOf<typeof open>>().toEqualTypeOf<JsonObject>();
  });

  test('keeps the definitions that its steps were given, at every depth', () => {
    const inner = triage();
    const outer = defineProgram({
      name: 'outer',
      units: [
        unit('u', {}, [
          branch('B', [{ when: { of: 'input', is: {} }, steps: [program('P', inner, { ticket: 'x' })] }], { else: [tool('T', 'other')] }),
        ]),
      ],
    });
    expect(inner.tools).toEqual([findOrder]);
    expect(inner.agents).toEqual([desk]);
    expect(outer.programs).toEqual([inner]);
    expect(outer.tools).toEqual([findOrder]);
    expect(outer.agents).toEqual([desk]);
  });

  test('can be written as a document, with steps of every kind', () => {
    const { version: _version, ...options } = FULL;
    const { units, ...rest } = options as unknown as Parameters<typeof defineProgram>[0];
    expect(defineProgram({ ...rest, units }).toJSON()).toEqual(FULL);
  });

  test('can have every kind of step', () => {
    const steps = [
      ask('Ask', 'Go.', { effort: 'low', tools: [findOrder, 'other'] }),
      tool('Tool', findOrder, { ticket: 'x' }),
      agent('Agent', 'clerk', 'Go.', { limits: { steps: 3 }, timeout: '1m' }),
      program('Program', 'another'),
      human('Human', 'Yes?', { output: z.boolean(), deadline: '1d', onDeadline: 'reject' }),
      sleep('Sleep', '{{input.wait}}'),
      remember('Remember', 'key', { text: '{{Ask}}' }, { scope: 's', when: { of: 'Human', is: { const: true } } }),
      recall('Recall', '{{Ask}}', { topK: 2 }),
      parallel('Parallel', [[sleep('S1', 1)], [sleep('S2', 1)]]),
      branch('Branch', [{ when: { of: 'Human', is: {} }, steps: [sleep('S3', 1)] }]),
      forEach('ForEach', '{{Recall}}', { as: 'entry', atOnce: 2 }, [ask('S4', '{{entry.value}}')]),
      repeat('Repeat', { until: { of: 'S5', is: {} }, atMost: 2 }, [ask('S5', 'Again.')]),
    ];
    const { document } = defineProgram({ name: 'all', model: 'scripted/model', units: [unit('u', {}, steps)] });
    const made = document.units[0]?.steps ?? [];
    expect(made.map((step) => STEP_KINDS.find((kind) => kind in step))).toEqual(STEP_KINDS);
    expect(made[0]?.ask).toEqual({ prompt: 'Go.', effort: 'low', tools: ['find_order', 'other'] });
    expect(made[2]).toEqual({ name: 'Agent', agent: { name: 'clerk', input: 'Go.', limits: { steps: 3 } }, timeout: '1m' });
    expect(made[4]?.human).toEqual({ question: 'Yes?', output: { type: 'boolean' }, deadline: '1d', onDeadline: 'reject' });
  });
});

describe('a mistake in a program', () => {
  function mistake(define: () => unknown): string {
    try {
      define();
    } catch (error) {
      if (error instanceof UsageError) return error.message;
      throw error;
    }
    return 'none';
  }

  test('is reported with all others and their paths', () => {
    const define = () =>
      defineProgram({
        name: 'wrong',
        model: 'scripted/model',
        units: [unit('u', { needs: ['v'] }, [ask('A', '{{B}}'), tool('T', findOrder, { tickt: 'x' })])],
      });
    expect(mistake(define).split('\n')).toEqual([
      'program "wrong" has problems:',
      '- units[0].needs[0]: no unit is named "v"',
      '- units[0].steps[0].ask.prompt: "{{B}}": nothing is named "B" here',
      '- units[0].steps[1].tool.arguments: missing required field "ticket"',
      '- units[0].steps[1].tool.arguments: unknown field "tickt"',
    ]);
  });

  test('is found in values that the types refuse', () => {
    // @ts-expect-error The units are not a list.
    expect(mistake(() => defineProgram({ name: 'p', units: 'all' }))).toContain('units: expected array, got string');
    // @ts-expect-error An agent is not a tool.
    expect(mistake(() => tool('T', desk))).toBe('step "T" is given a value that is not a tool: make it with defineTool, or write its name');
    // @ts-expect-error There is no such option.
    expect(mistake(() => defineProgram({ name: 'p', units: [unit('u', {}, [sleep('S', 1)])], outputs: 1 }))).toContain(
      'unknown field "outputs". Did you mean "output"?',
    );
  });

  test('is a second definition of a name', () => {
    const other = defineTool({ name: 'find_order', description: 'Other.', parameters: z.object({}), execute: () => 1 });
    const steps = [tool('A', findOrder, { ticket: 'x' }), tool('B', other)];
    expect(mistake(() => defineProgram({ name: 'p', units: [unit('u', {}, steps)] }))).toBe(
      'program "p" is given two tools named "find_order": give each its own name',
    );
  });

  test('is a schema that JSON cannot represent', () => {
    expect(mistake(() => ask('A', 'Go.', { output: z.object({ at: z.date() }) }))).toBe(
      'step "A": output.at: dates cannot be represented in JSON: use z.iso.datetime()',
    );
  });
});
