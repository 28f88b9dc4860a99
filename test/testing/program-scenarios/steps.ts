import { z } from 'zod';
import { defineTool } from '../../../src/define/define-tool.ts';
import { ask, human, recall, remember, sleep, tool, unit } from '../../../src/define/program/index.ts';
import { respond, say, structured } from '../../../src/testing/index.ts';
import { one, type ProgramScenario, programScenario, several } from './scenario.ts';

const total = defineTool({
  name: 'total',
  description: 'Adds numbers.',
  parameters: z.object({ numbers: z.array(z.number()), label: z.string() }),
  execute: ({ numbers, label }) => ({ label, total: numbers.reduce((sum, number) => sum + number, 0) }),
});

const list = { type: 'object', properties: { list: { type: 'array', items: { type: 'number' } } }, required: ['list'] };

/** Each kind of step that is not a block, and each form of a reference. */
export const STEPS: readonly ProgramScenario[] = [
  programScenario(
    "the system prompt has persona, context and instructions, and the last output is the program's output",
    one([ask('A', 'Sort it.')], { unit: { persona: 'You are a clerk.', context: 'A bank.', instructions: ['Be short.'] } }),
    {
      script: [say('done')],
      course: { status: 'completed', output: 'done', prompts: ['Sort it.'], steps: { u: 'completed', 'u.A': 'completed' } },
    },
  ),
  programScenario(
    'references have all their forms, and braces in a result stay text',
    several(
      [
        unit('first', {}, [ask('Facts', 'f {{input.who.name}}', { output: list }), ask('Text', 't')]),
        unit('second', {}, [
          ask(
            'Use',
            '{{ first.Facts.output.list[1] }} {{first.Facts.list[0]}} {{first.Facts}} {{ first.Text.output }} {{input["odd key"]}} {not} {{}}',
          ),
          tool('Sum', total, { numbers: '{{first.Facts.list}}', label: 'of {{input.who.name}}' }),
          ask('Last', '{{Sum.output.total}} {{Sum}}'),
        ]),
      ],
      { output: { list: '{{first.Facts.list}}', last: '{{second.Last}}', text: 'is {{second.Sum.total}}' } },
    ),
    {
      input: { who: { name: 'Ann' }, 'odd key': 'odd' },
      script: [structured({ list: [1, 2] }), say('{{input.who}}'), say('used'), say('end')],
      course: {
        status: 'completed',
        output: { list: [1, 2], last: 'end', text: 'is 3' },
        prompts: ['f Ann', 't', '2 1 {"list":[1,2]} {{input.who}} odd {not} {{}}', '3 {"label":"of Ann","total":3}'],
      },
    },
  ),
  programScenario(
    'a condition that does not hold skips a step, whose output is null',
    one([
      ask('A', 'q', { output: { type: 'object', properties: { n: { type: 'number' } } } }),
      ask('B', 'never', { when: { of: 'A.n', is: { minimum: 5 } } }),
      ask('C', 'b is {{B}}', { when: { of: '{{A.n}}', is: { const: 3 } } }),
    ]),
    {
      script: [structured({ n: 3 }), say('c')],
      course: {
        status: 'completed',
        output: 'c',
        prompts: ['q', 'b is null'],
        steps: { 'u.B': 'skipped: the condition on "A.n" does not hold' },
      },
    },
  ),
  programScenario(
    'a person answers a question with a value that fits its schema',
    one([
      human('Who', 'Who signs for {{input.town}}?', {
        output: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'], additionalProperties: false },
      }),
      ask('Letter', 'From {{Who.name}}'),
    ]),
    {
      input: { town: 'Rome' },
      script: [say('Dear')],
      decide: ({ refused, arguments: { question } }) => respond(refused === undefined ? { nome: question as string } : { name: 'Ann' }),
      course: { status: 'completed', output: 'Dear', prompts: ['From Ann'] },
    },
  ),
  programScenario('a step waits for a duration of the input', one([sleep('Nap', '{{input.wait}}'), ask('A', 'q')]), {
    input: { wait: '50ms' },
    script: [say('awake')],
    course: { status: 'completed', output: 'awake', steps: { 'u.Nap': 'completed' } },
  }),
  programScenario(
    'a value of the memory is found again, the best first',
    one(
      [
        remember('Keep', 'case {{input.id}}', { id: '{{input.id}}', tags: ['x'] }),
        remember('More', 'other', 'case 7 again', { metadata: { kind: 'note' } }),
        recall('Find', 'case 7', { topK: 2 }),
        recall('None', 'nothing like it'),
      ],
      { output: { first: '{{u.Find[0].value.id}}', second: '{{u.Find[1].metadata.kind}}', none: '{{u.None}}', key: '{{u.Keep}}' } },
    ),
    {
      input: { id: 7 },
      script: [],
      course: { status: 'completed', output: { first: 7, second: 'note', none: [], key: 'case 7' } },
    },
  ),
  programScenario(
    'a lenient program keeps unknown references and ignores unknown anchors',
    one([ask('A', '{{Nobody}} {{A.n}} {{ input.x }}', { anchors: ['Unheard'], output: { type: 'object' } }), ask('B', '{{A}}')], {
      lenient: true,
    }),
    {
      input: { x: 1 },
      script: [say('words'), say('b')],
      course: { status: 'completed', output: 'b', prompts: ['{{Nobody}} {{A.n}} 1', 'words'] },
    },
  ),
];
