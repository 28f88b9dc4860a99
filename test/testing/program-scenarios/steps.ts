import { z } from 'zod';
import { defineTool } from '../../../src/define/define-tool.ts';
import { ask, human, recall, remember, sleep, tool, unit } from '../../../src/define/program/index.ts';
import { approve, callTool, respond, say, structured } from '../../../src/testing/index.ts';
import { one, type ProgramScenario, programScenario, several } from './scenario.ts';

const total = defineTool({
  name: 'total',
  description: 'Adds numbers.',
  parameters: z.object({ numbers: z.array(z.number()), label: z.string() }),
  execute: ({ numbers, label }) => ({ label, total: numbers.reduce((sum, number) => sum + number, 0) }),
});

const list = { type: 'object', properties: { list: { type: 'array', items: { type: 'number' } } }, required: ['list'] };

/** The names of steps with large outputs. */
const TEXTS = ['A', 'B', 'C', 'D', 'E', 'F'];

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
  programScenario('large outputs are in the record, and not in the result of their steps', one(TEXTS.map((name) => ask(name, 'a'))), {
    script: TEXTS.map((name) => say(name.repeat(10_000))),
    course: { status: 'completed', output: 'F'.repeat(10_000), steps: { u: 'completed' } },
  }),
  programScenario('a call that waits for a batch elsewhere is made at once in a test', one([ask('A', 'a', { tier: 'batch' })]), {
    script: [say('done')],
    course: { status: 'completed', output: 'done', prompts: ['a'] },
  }),
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

const find = defineTool({
  name: 'find',
  description: 'Finds a price.',
  parameters: z.object({ item: z.string() }),
  execute: ({ item }) => `${item} costs 5`,
});

const order = defineTool({
  name: 'order',
  description: 'Orders an item.',
  parameters: z.object({ item: z.string() }),
  approval: 'always',
  execute: ({ item }) => `ordered ${item}`,
});

const tools = [find, order];
const searched = callTool('find', { item: 'pen' });
const ordered = callTool('order', { item: 'pen' });

/** Steps whose model calls tools before it answers. */
export const ASKS_WITH_TOOLS: readonly ProgramScenario[] = [
  programScenario(
    'the model of an ask with tools calls them before it answers, and later steps read the fields of its answer',
    one([
      ask('Item', 'Which?'),
      ask('Price', 'What does {{Item}} cost?', { tools, output: z.object({ price: z.number() }) }),
      ask('Tell', 'Say {{Price.price}}'),
    ]),
    {
      script: [say('pen'), searched, structured({ price: 5 }), say('five')],
      course: { status: 'completed', output: 'five', prompts: ['Which?', 'What does pen cost?', 'What does pen cost?', 'Say 5'] },
    },
  ),
  programScenario(
    'an ask with tools whose answer breaches an anchor is retried with the failure in its prompt',
    one([ask('Price', 'What does it cost?', { tools, anchors: ['RequiresCitation'], refine: { maxAttempts: 2 } })]),
    {
      script: [searched, say('It costs 5'), say('It costs 5 [1]')],
      course: {
        status: 'completed',
        output: 'It costs 5 [1]',
        steps: { 'u.Price': 'completed after 2' },
        prompted: ['Previous attempt failed: The answer breaches the anchor "RequiresCitation": Citation Breach'],
      },
    },
  ),
  programScenario(
    'a tool of an ask waits for its decision in the run of the step',
    one([ask('Order', 'Order it', { tools, approval: true })]),
    {
      script: [ordered, say('done')],
      decide: ({ toolName }) =>
        toolName === 'order' ? approve({ arguments: { item: 'book' } }) : approve({ arguments: { prompt: 'Go' } }),
      course: { status: 'completed', output: 'done', prompts: ['Go', 'Go'] },
    },
  ),
  programScenario(
    'an ask with tools that reaches its limit takes the output of its fallback',
    one([
      ask('Best', 'Think', { tools, limits: { steps: 1 }, refine: { maxAttempts: 1, onExhaustion: 'fallback', fallback: 'Short' } }),
      ask('Short', 'Guess'),
    ]),
    {
      script: [searched, say('5')],
      course: { status: 'completed', output: '5', steps: { 'u.Best': 'completed: taken from "Short"', 'u.Short': 'completed' } },
    },
  ),
  programScenario(
    'an ask with tools whose model calls are more than the program has left fails, and then the program ends at its limit',
    one([ask('First', 'a', { tools, refine: { maxAttempts: 1, onExhaustion: 'skip' } }), ask('Then', 'b')], {
      limits: { steps: 2 },
    }),
    {
      script: [searched, searched],
      course: { status: 'max_iterations_reached', stopReason: 'step_limit', steps: { 'u.First': 'skipped: its attempts are used up' } },
    },
  ),
];
