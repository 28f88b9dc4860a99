import { describe, expect, test } from 'vitest';
import { defineTool } from '../../../src/index.ts';
import { checkProgram, defineProgram, fromCompiledProgram, tool, unit as unitOf } from '../../../src/define/program/index.ts';
import { say, scriptedModel, structured, testProgram } from '../../../src/testing/index.ts';
import { z } from 'zod';

const STEP = { step_name: 'Extract', system_prompt: '', user_prompt: 'Extract the dates', metadata: { ir_node_type: 'step' } };

/** A program as AXON's `to_dict()` gives it. */
const COMPILED = {
  backend_name: 'anthropic',
  execution_units: [
    {
      flow_name: 'Review',
      system_prompt: 'You are LegalExpert.',
      persona_name: 'LegalExpert',
      context_name: 'Lease',
      effort: 'high',
      anchor_instructions: ['[CONSTRAINT: RequiresCitation]'],
      active_anchors: [{ name: 'RequiresCitation', require: 'inline_citation', reject: [] }],
      steps: [
        STEP,
        {
          step_name: 'Assess',
          system_prompt: '',
          user_prompt: 'Assess {{Extract.output}}',
          output_schema: { type: 'object', properties: { score: { type: 'number' } } },
          metadata: {
            output_type: 'RiskScore',
            confidence_floor: 0.8,
            required_fields: ['score'],
            refine: { max_attempts: 2, pass_failure_context: true, backoff: 'linear', on_exhaustion: 'skip', on_exhaustion_target: '' },
          },
        },
        { step_name: 'Search', system_prompt: '', user_prompt: 'leases', metadata: { use_tool: { tool_name: 'WebSearch', argument: '' } } },
      ],
    },
    { flow_name: 'Review', system_prompt: '', steps: [{ step_name: 'Sum', system_prompt: '', user_prompt: 'Sum up' }] },
  ],
  metadata: { program_name: 'lease' },
};

function unit(fields: object): object {
  return { backend_name: 'openai', execution_units: [{ flow_name: 'F', system_prompt: '', steps: [STEP], ...fields }], metadata: {} };
}

function step(fields: object): object {
  return unit({ steps: [{ ...STEP, ...fields }] });
}

test('a compiled program becomes a document without problems', () => {
  const document = fromCompiledProgram(COMPILED, { model: 'scripted/m' });
  expect(document).toEqual({
    version: 1,
    name: 'lease',
    model: 'scripted/m',
    lenient: true,
    units: [
      {
        name: 'Review',
        instructions: 'You are LegalExpert.',
        anchors: ['RequiresCitation'],
        effort: 'high',
        steps: [
          { name: 'Extract', ask: { prompt: 'Extract the dates' } },
          {
            name: 'Assess',
            ask: {
              prompt: 'Assess {{Extract.output}}',
              output: { type: 'object', properties: { score: { type: 'number' } } },
              type: 'RiskScore',
              confidenceFloor: 0.8,
              requiredFields: ['score'],
            },
            refine: { maxAttempts: 2, passFailureContext: true, backoff: 'linear', onExhaustion: 'skip' },
          },
          { name: 'Search', tool: { name: 'WebSearch', arguments: { query: 'leases' } } },
        ],
      },
      { name: 'Review_2', steps: [{ name: 'Sum', ask: { prompt: 'Sum up' } }] },
    ],
  });
  expect(checkProgram(document).problems).toEqual([]);
});

test('such a document runs', async () => {
  const WebSearch = defineTool({
    name: 'WebSearch',
    description: 'Searches',
    parameters: z.object({ query: z.string() }),
    execute: ({ query }) => `found ${query}`,
  });
  const { units } = fromCompiledProgram(COMPILED, { model: 'scripted/m' });
  const program = defineProgram({
    name: 'lease',
    model: 'scripted/m',
    lenient: true,
    units: [...units, unitOf('x', {}, [tool('T', WebSearch, { query: 'x' })])],
  });
  const model = scriptedModel([say('May [1]'), structured({ score: 0.2, confidence: 0.9, source: '[1]' }), say('short [2]')]);
  const { result, requests } = await testProgram(program, { model });
  expect(result).toMatchObject({ status: 'completed', output: 'found x' });
  expect(JSON.stringify(requests[1]?.conversation)).toContain('Assess May [1]');
});

test.each<[string, object, object]>([
  ['the form of Anthropic', { name: 'Search', input_schema: {} }, { tools: ['Search'] }],
  ['the form of OpenAI', { type: 'function', function: { name: 'Search' } }, { tools: ['Search'] }],
  ['the form of Gemini', { function_declarations: [{ name: 'Search' }, { name: 'Read' }] }, { tools: ['Search', 'Read'] }],
])('declared tools become the tools of its asks, in %s', (_, declaration, expected) => {
  const options = { model: 'scripted/m' };
  expect(fromCompiledProgram(unit({ tool_declarations: [declaration] }), options).units[0]?.steps[0]?.ask).toMatchObject(expected);
  expect(fromCompiledProgram(step({ tool_declarations: [declaration] }), options).units[0]?.steps[0]?.ask).toMatchObject(expected);
});

test.each<[string, unknown, string]>([
  ['no object', 'axon', 'the program: expected an object, got string "axon"'],
  ['nothing', undefined, 'the program: expected an object, got nothing: give the compiled program as JSON.parse returns it'],
  ['no units', { backend_name: 'x' }, 'execution_units: is missing'],
  ['units that are not a list', { execution_units: {} }, 'execution_units: expected a list, got an object'],
  ['an unknown field of the program', { ...COMPILED, flows: [] }, 'flows: AXON has no such field here (it has: backend_name'],
  ['an invalid unit', { execution_units: [1] }, 'execution_units[0]: expected an object, got number 1'],
  ['an unknown field of a unit', unit({ persona: 'x' }), 'execution_units[0].persona: AXON has no such field here'],
  [
    'an anchor without a name',
    unit({ active_anchors: [{ require: 'x' }] }),
    'execution_units[0].active_anchors[0]: the anchor has no name',
  ],
  ['a tool without a name', unit({ tool_declarations: [{}] }), 'execution_units[0].tool_declarations[0]: is not a declaration of a tool'],
  ['an effort that is not text', unit({ effort: 3 }), 'execution_units[0].effort: expected text, got number 3'],
  [
    'two steps of one name',
    unit({ steps: [STEP, STEP] }),
    'execution_units[0].steps[1].step_name: two steps of the unit are named "Extract"',
  ],
  ['a name that cannot be in a reference', step({ step_name: 'a.b' }), 'execution_units[0].steps[0].step_name: "a.b" is not a name'],
  ['no prompt', step({ user_prompt: '' }), 'execution_units[0].steps[0].user_prompt: the step has no prompt'],
  ['an unknown field of a step', step({ prompt: 'x' }), 'execution_units[0].steps[0].prompt: AXON has no such field here'],
  ['unknown metadata', step({ metadata: { par: {} } }), 'execution_units[0].steps[0].metadata.par: is unknown (known are: use_tool'],
  ['a shield', step({ metadata: { shield_apply: {} } }), 'metadata.shield_apply: has no counterpart: write anchors, guardrails'],
  ['an agent', step({ metadata: { agent: {} } }), 'metadata.agent: has no counterpart: write a step of the kind "agent"'],
  ['a tool that is not named', step({ metadata: { use_tool: {} } }), 'metadata.use_tool: the step names no tool'],
  ['a floor that is not a number', step({ metadata: { confidence_floor: 'high' } }), 'metadata.confidence_floor: expected a number'],
  ['an unknown field of refine', step({ metadata: { refine: { attempts: 2 } } }), 'metadata.refine.attempts: AXON has no such field here'],
  ['a back-off that does not exist', step({ metadata: { refine: { backoff: 'slow' } } }), 'units[0].steps[0].refine.backoff: '],
])('%s is named', (_, compiled, problem) => {
  expect(() => fromCompiledProgram(compiled, { model: 'scripted/m' })).toThrow(problem);
});

describe('the model', () => {
  test('must be given, and the error names the back end', () => {
    expect(() => fromCompiledProgram(COMPILED)).toThrow(
      'backend_name: the program names the back end "anthropic" and no model: give one, fromCompiledProgram(json, { model: \'anthropic/…\' })',
    );
  });

  test('is not needed by a program that asks nothing', () => {
    expect(fromCompiledProgram(step({ metadata: { use_tool: { tool_name: 'T' } } })).model).toBeUndefined();
  });
});

test('all problems are reported at once', () => {
  expect(() => fromCompiledProgram(unit({ effort: 3, steps: [{ ...STEP, user_prompt: 1 }] }))).toThrow(
    /effort: .*\n.*user_prompt: expected text, got number 1\n.*user_prompt: the step has no prompt\n.*backend_name: /,
  );
});

test('flows without a name, or with a name that cannot be in a reference, get a name', () => {
  const units = ['', 'review.v2', 'review v2', 'review_v2'].map((flow_name) => ({ flow_name, system_prompt: '', steps: [STEP] }));
  const { units: made } = fromCompiledProgram({ execution_units: units }, { model: 'scripted/m' });
  expect(made.map(({ name }) => name)).toEqual(['unit_1', 'review_v2', 'review v2', 'review_v2_2']);
});
