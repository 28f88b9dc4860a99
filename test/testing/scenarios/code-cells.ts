import { z } from 'zod';
import { type AnyTool, contextUpdate, defineAgent, defineTool, quickjs, withUpdate } from '../../../src/index.ts';
import { callTool, delay, say, type ScriptEntry, together } from '../../../src/testing/index.ts';
import { agentWith, scenario, toolThat } from './scenario.ts';

const find = defineTool({
  name: 'find',
  description: 'Finds a text',
  parameters: z.object({ text: z.string() }),
  result: z.string(),
  execute: ({ text }) => `found ${text}`,
});
const cached = defineTool({
  name: 'cached',
  description: 'Finds a text at once',
  parameters: z.object({ text: z.string() }),
  tier: 'local',
  execute: ({ text }) => `cached ${text}`,
});
const rows = defineTool({
  name: 'rows',
  description: 'Reads all rows',
  parameters: z.object({}),
  callers: ['code'],
  execute: () => [3, 1, 2],
});
const careful = defineTool({
  name: 'careful',
  description: 'Must be thought about',
  parameters: z.object({}),
  callers: ['model'],
  execute: () => 'careful',
});
const down = toolThat('down', () => {
  throw new Error('the service is down');
});
const keeping = toolThat('keeping', ({ text }, { state, setState }) => {
  setState('last', text ?? '');
  return `before: ${JSON.stringify(state)}`;
});
const deps = z.object({ rank: z.string() });
const promote = defineTool({
  name: 'promote',
  description: 'Sets the rank',
  parameters: z.object({ rank: z.string() }),
  execute: ({ rank }) => withUpdate('promoted', contextUpdate().set('rank', rank)),
});
const rankOf = defineTool({
  name: 'rank',
  description: 'Tells the rank',
  parameters: z.object({}),
  execute: (_, context: { readonly deps: Readonly<z.infer<typeof deps>> }) => context.deps.rank,
});

const executor = quickjs({ limits: { timeoutSeconds: 5 } });
const local = { executor, tier: 'local' } as const;
const remote = { executor, tier: 'remote' } as const;
const tools: AnyTool[] = [find, cached, rows, careful, down, keeping];
const coder = agentWith(tools, { code: local });
const far = agentWith(tools, { code: remote });
const narrow = agentWith(tools, { code: { executor: quickjs({ limits: { timeoutSeconds: 5, maxOutputBytes: 100 } }), tier: 'local' } });
const hasty = agentWith(tools, { code: { executor: quickjs({ limits: { timeoutSeconds: 1 } }), tier: 'local' } });
const limited = agentWith(tools, { code: local, limits: { toolCalls: 3 } });
const promoting = defineAgent({ name: 'agent', model: 'scripted/m', deps, tools: [promote, rankOf], code: local });

/** Answers of the model that run the cells one after the other, and then end. */
function cells(...codes: readonly string[]): ScriptEntry[] {
  return [...codes.map((code, index) => callTool('run_code', { code }, `c${index + 1}`)), say('done')];
}

/** Runs of agents that call tools in cells of code. */
export const CODE_CELLS = [
  scenario('code makes one call after the other', coder, {
    script: cells("const one = find('a'); print(find(one))"),
    timeline: [],
  }),
  scenario('code in activities makes one call after the other', far, {
    script: cells("const one = find('a'); print(find(one))"),
    timeline: [],
  }),
  scenario('code makes calls together, and has their results in order', coder, {
    script: cells("print(await Promise.all(['a', 'b', 'c'].map((text) => tools.find({ text }))))"),
    faults: [delay('find', 40)],
    timeline: [],
  }),
  scenario('code in activities makes calls of several tools together', far, {
    script: cells("print(await Promise.all([tools.find('a'), tools.cached('b'), tools.rows()]))"),
    timeline: [],
  }),
  scenario('callbacks of code make calls', coder, {
    script: cells("print(['b', 'a'].map((text) => find(text)), rows().sort((a, b) => (find(`${a} ${b}`), a - b)))"),
    timeline: [],
  }),
  scenario('names of a cell are there in the next', coder, {
    script: cells("const one = find('a'); function twice(text) { return find(text + text); }", 'print(twice(one))'),
    timeline: [],
  }),
  scenario('names of a cell in activities are there in the next', far, {
    script: cells("let one = find('a'); class Box { open() { return one; } }", "one += '!'; print(new Box().open())"),
    timeline: [],
  }),
  scenario('a name is declared again', coder, {
    script: cells("const one = find('a')", "const one = find('b'); print(one)", 'let one = 1; print(one)'),
    timeline: [],
  }),
  scenario('an error of a call is caught in code', coder, {
    script: cells("try { down() } catch (error) { print(error.message) } print(find('a'))"),
    timeline: [],
  }),
  scenario('an error ends a cell, and its names', coder, {
    script: cells("const kept = [find('a')]", "kept.push('more'); const lost = 1; down(); find('b')", 'print(kept, typeof lost)'),
    timeline: [],
  }),
  scenario('arguments that do not fit are an error in code', coder, {
    script: cells("try { find({ text: 7 }) } catch (error) { print(error.message) } try { find(() => 1) } catch (error) { print(error.message) }"),
    timeline: [],
  }),
  scenario('a tool for code alone is refused to the model', coder, {
    script: [together(callTool('rows', {}, 'c1'), callTool('run_code', { code: 'print(rows())' }, 'c2')), say('done')],
    timeline: [],
  }),
  scenario('a tool for the model alone is no function of code', coder, {
    script: [together(callTool('careful', {}, 'c1'), callTool('run_code', { code: 'careful()' }, 'c2')), say('done')],
    timeline: [],
  }),
  scenario('the limit of tool calls ends in the middle of a cell', limited, {
    script: cells("for (const text of ['a', 'b', 'c', 'd']) find(text)"),
    timeline: [],
    status: 'max_iterations_reached',
  }),
  scenario('a call of code sees the deps that one before has updated', promoting, {
    deps: { rank: 'gold' },
    script: cells("print(rank()); promote('silver'); print(rank())", 'print(rank())'),
    timeline: [],
  }),
  scenario('calls of code see the state that those before have set', coder, {
    script: cells("print(keeping('a')); print(keeping('b'))", "print(keeping('c'))"),
    timeline: [],
  }),
  scenario('a cell that takes too long leaves no names', hasty, {
    script: cells("const one = find('a')", "const two = find('b'); while (true);", 'print(typeof one, typeof two)'),
    timeline: [],
  }),
  scenario('printed output that is long is cut', narrow, {
    script: cells("for (let i = 0; i < 50; i++) print('line', i)"),
    timeline: [],
  }),
  scenario('the last final answer of a cell is its result', coder, {
    script: cells("final_answer(1); final_answer({ rows: rows(), text: find('a') })"),
    timeline: [],
  }),
  scenario('cells of one response run one after the other, beside another call', coder, {
    script: [
      together(
        callTool('run_code', { code: "const one = find('a')" }, 'c1'),
        callTool('cached', { text: 'x' }, 'c2'),
        callTool('run_code', { code: 'print(one)' }, 'c3'),
      ),
      say('done'),
    ],
    timeline: [],
  }),
  scenario('code calls local tools', coder, {
    script: cells("print(cached('a'), await Promise.all([tools.cached('b'), tools.cached('c')]))"),
    timeline: [],
  }),
  scenario('a call that code does not await is not made', coder, {
    script: cells("tools.find('a'); print('end')"),
    timeline: [],
  }),
  scenario('the clock and random numbers continue in the next segment of a cell', far, {
    script: cells("const now = Date.now(), number = Math.random(); find('a'); print(Date.now() >= now, Math.random() !== number)"),
    timeline: [],
  }),
];
