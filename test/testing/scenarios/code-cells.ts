import { z } from 'zod';
import { RUN_CODE } from '../../../src/core/domain/tool-calls.ts';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import { type AnyTool, contextUpdate, defineAgent, defineTool, quickjs, withUpdate } from '../../../src/index.ts';
import {
  approve,
  callTool,
  cancelRun,
  delay,
  killWorker,
  reject,
  respond,
  say,
  type ScriptedReply,
  type ScriptEntry,
  together,
} from '../../../src/testing/index.ts';
import { agentWith, CELL, ran, scenario, toolThat } from './scenario.ts';

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
/** An agent whose code runs in local activities. */
export const coder = agentWith(tools, { code: local });
/** An agent whose code runs in activities. */
const far = agentWith(tools, { code: remote });
/** An agent whose code may print little. */
export const narrow = agentWith(tools, {
  code: { executor: quickjs({ limits: { timeoutSeconds: 5, maxOutputBytes: 100 } }), tier: 'local' },
});
/** An agent whose code has little time. */
export const hasty = agentWith(tools, { code: { executor: quickjs({ limits: { timeoutSeconds: 2 } }), tier: 'local' } });
/** An agent that may call three tools. */
export const limited = agentWith(tools, { code: local, limits: { toolCalls: 3 } });
/** An agent with tools that read and change the deps. */
const promoting = defineAgent({ name: 'agent', model: 'scripted/m', deps, tools: [promote, rankOf], code: local });
/** An agent whose code has a value by the deps from the start. */
const ranked = defineAgent({
  name: 'agent',
  model: 'scripted/m',
  deps,
  tools: [promote, rankOf],
  code: { ...remote, inject: ({ deps: { rank } }) => ({ first: rank, ranks: [rank] }) },
});

/** Answers of the model that run the cells in order, and then end. */
export function cells(...codes: readonly string[]): ScriptEntry[] {
  return [...codes.map((code, index) => callTool('run_code', { code }, `c${index + 1}`)), say('done')];
}

const look = toolThat('look', ({ text }) => `seen ${text}`);
const near = toolThat('near', ({ text }) => `near ${text}`, { tier: 'local' });
const broken = toolThat('broken', () => Promise.reject(new Error('out of order')), { maxAttempts: 1 });
const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  parameters: z.object({ amount: z.number() }),
  approval: 'always',
  execute: ({ amount }) => `paid ${amount}`,
});
const paying = run('print(pay(150));');

/** Calls of tools by code. */
export const CODE = [
  scenario('code calls tools in sequence', coderWith([look]), {
    script: [run("print(look({ text: 'a' })); print(look({ text: 'b' }));"), say('Done.')],
    timeline: [/run_code/, /calls look .*"a"/, 'look: seen a', /calls look .*"b"/, 'look: seen b', /seen a\nseen b/, 'agent: Done.'],
  }),
  scenario('code calls tools together', coderWith([look]), {
    script: [run("print((await Promise.all(['a', 'b'].map((text) => tools.look({ text })))).join());"), say('Done.')],
    timeline: [/run_code/, /calls look .*"a"/, /calls look .*"b"/, 'look: seen a', 'look: seen b', /seen a,seen b/, 'agent: Done.'],
  }),
  scenario('a callback of code calls a tool', coderWith([look]), {
    script: [run("print(['a', 'b'].reduce((all, text) => all + look({ text }).length, 0));"), say('Done.')],
    timeline: [/run_code/, /calls look/, 'look: seen a', /calls look/, 'look: seen b', /^run_code: [^]*12/, 'agent: Done.'],
  }),
  scenario('names are kept for later code', coderWith([look]), {
    script: [run("const one = look({ text: 'a' });"), run('print(one.length);'), say('Done.')],
    timeline: [/run_code/, /calls look/, 'look: seen a', /^run_code/, /calls run_code/, /^run_code: [^]*6/, 'agent: Done.'],
  }),
  scenario('code of a local tier calls local and remote tools', coderWith([look, near], 'local'), {
    script: [run("print(near({ text: look({ text: 'a' }) }));"), say('Done.')],
    timeline: [/run_code/, /calls look/, 'look: seen a', /calls near/, 'near: near seen a', /^run_code: [^]*near seen a/, 'agent: Done.'],
  }),
  scenario('code catches the error of a tool', coderWith([broken]), {
    script: [run('try { broken(); } catch (error) { print(`caught ${error.message}`); }'), say('Done.')],
    timeline: [/run_code/, /calls broken/, /^broken failed/, /^run_code: [^]*caught [^]*out of order/, 'agent: Done.'],
  }),
  scenario('an error of a tool that code does not catch ends the code', coderWith([broken]), {
    script: [run("broken(); print('never');"), say('Done.')],
    timeline: [/run_code/, /calls broken/, /^broken failed/, /^run_code failed: [^]*out of order/, 'agent: Done.'],
  }),
  scenario('an approved call of code runs', coderWith([pay]), {
    script: [paying, say('Done.')],
    decide: () => approve({ by: 'ann' }),
    timeline: [/run_code/, /calls pay/, 'ann approves pay', 'pay: paid 150', /^run_code: [^]*paid 150/, 'agent: Done.'],
  }),
  scenario('an approved call of code runs with other arguments', coderWith([pay]), {
    script: [paying, say('Done.')],
    decide: () => approve({ arguments: { amount: 5 }, by: 'ann' }),
    timeline: [
      /run_code/,
      /calls pay/,
      'ann approves pay',
      'pay: paid 5',
      'note on pay: the approver changed its arguments before it ran: {"amount":5}',
      /^run_code: [^]*paid 5/,
      'note on run_code: its call of "pay": the approver changed its arguments before it ran: {"amount":5}',
      'agent: Done.',
    ],
  }),
  scenario('a rejected call of code throws', coderWith([pay]), {
    script: [paying, say('Done.')],
    decide: () => reject('too much', { by: 'ann' }),
    timeline: [/run_code/, /calls pay/, 'ann rejects pay: too much', /^pay failed/, /^run_code failed: [^]*too much/, 'agent: Done.'],
  }),
  scenario('a person answers a call of code', coderWith([pay]), {
    script: [run('print(pay(150).voucher);'), say('Done.')],
    decide: () => respond({ voucher: 42 }, { by: 'ann' }),
    timeline: [/run_code/, /calls pay/, 'ann answers pay', /^pay: .*42/, /^run_code: [^]*42/, 'agent: Done.'],
  }),
  scenario('a cancellation ends code whose call runs', coderWith([look]), {
    script: [run("look({ text: 'a' });")],
    meanwhile: [cancelRun('enough', { step: 1, tool: 'look' })],
    timeline: [/run_code/, /calls look/, /^look failed/, /^run_code failed/],
    status: 'cancelled',
  }),
];

function coderWith(own: readonly AnyTool[], tier: 'local' | 'remote' = 'remote'): AnyAgent {
  return agentWith(own, { code: { executor: quickjs({ limits: { timeoutSeconds: 10 } }), tier } });
}

function run(code: string): ScriptedReply {
  return callTool(RUN_CODE, { code });
}

/** Calls of tools in code, and names that stay. */
export const CODE_CELLS = [
  scenario('code makes one call after the other', coder, {
    script: cells("const one = find('a'); print(find(one))"),
    timeline: [
      CELL,
      ...ran('find {"text":"a"}', 'found a'),
      ...ran('find {"text":"found a"}', 'found found a'),
      'run_code: found found a',
      'agent: done',
    ],
  }),
  scenario('code in activities makes one call after the other', far, {
    script: cells("const one = find('a'); print(find(one))"),
    timeline: [
      CELL,
      ...ran('find {"text":"a"}', 'found a'),
      ...ran('find {"text":"found a"}', 'found found a'),
      'run_code: found found a',
      'agent: done',
    ],
  }),
  scenario('code makes calls together, and has their results in order', coder, {
    script: cells("print(await Promise.all(['a', 'b', 'c'].map((text) => tools.find({ text }))))"),
    faults: [delay('find', 40)],
    timeline: [
      CELL,
      'agent calls find {"text":"a"}',
      'agent calls find {"text":"b"}',
      'agent calls find {"text":"c"}',
      'find: found a',
      'find: found b',
      'find: found c',
      'run_code: ["found a","found b","found c"]',
      'agent: done',
    ],
  }),
  scenario('code in activities makes calls of several tools together', far, {
    script: cells("print(await Promise.all([tools.find('a'), tools.cached('b'), tools.rows()]))"),
    timeline: [
      CELL,
      'agent calls find {"text":"a"}',
      'agent calls cached {"text":"b"}',
      'agent calls rows {}',
      'find: found a',
      'cached: cached b',
      'rows: [3,1,2]',
      'run_code: ["found a","cached b",[3,1,2]]',
      'agent: done',
    ],
  }),
  scenario('callbacks of code make calls', coder, {
    script: cells("print(['b', 'a'].map((text) => find(text)), rows().sort((a, b) => (find(`${a} ${b}`), a - b)))"),
    timeline: [
      CELL,
      ...ran('find {"text":"b"}', 'found b'),
      ...ran('find {"text":"a"}', 'found a'),
      ...ran('rows {}', '[3,1,2]'),
      ...ran('find {"text":"3 1"}', 'found 3 1'),
      ...ran('find {"text":"3 2"}', 'found 3 2'),
      ...ran('find {"text":"1 2"}', 'found 1 2'),
      'run_code: ["found b","found a"] [1,2,3]',
      'agent: done',
    ],
  }),
  scenario('names of a cell are there in the next', coder, {
    script: cells("const one = find('a'); function twice(text) { return find(text + text); }", 'print(twice(one))'),
    timeline: [
      CELL,
      ...ran('find {"text":"a"}', 'found a'),
      'run_code: (no output)',
      CELL,
      ...ran('find {"text":"found afound a"}', 'found found afound a'),
      'run_code: found found afound a',
      'agent: done',
    ],
  }),
  scenario('names of a cell in activities are there in the next', far, {
    script: cells("let one = find('a'); class Box { open() { return one; } }", "one += '!'; print(new Box().open())"),
    timeline: [CELL, ...ran('find {"text":"a"}', 'found a'), 'run_code: (no output)', CELL, 'run_code: found a!', 'agent: done'],
  }),
  scenario('a name is declared again', coder, {
    script: cells("const one = find('a')", "const one = find('b'); print(one)", 'let one = 1; print(one)'),
    timeline: [
      CELL,
      ...ran('find {"text":"a"}', 'found a'),
      'run_code: (no output)',
      CELL,
      ...ran('find {"text":"b"}', 'found b'),
      'run_code: found b',
      CELL,
      'run_code: 1',
      'agent: done',
    ],
  }),
  scenario('values from the start keep their values, also if another worker runs the code again', ranked, {
    script: cells('ranks.push(1); print(first)', "promote({ rank: 'b' }); print(first, ranks.length, rank())"),
    deps: { rank: 'a' },
    faults: [killWorker({ tool: 'promote' })],
    timeline: [
      CELL,
      'run_code: a',
      CELL,
      ...ran('promote {"rank":"b"}', 'promoted'),
      'deps: set rank',
      ...ran('rank {}', 'b'),
      'run_code: a 2 b',
      'agent: done',
    ],
  }),
  scenario('a call of code sees the deps that one before has updated', promoting, {
    deps: { rank: 'gold' },
    script: cells("print(rank()); promote('silver'); print(rank())", 'print(rank())'),
    timeline: [
      CELL,
      ...ran('rank {}', 'gold'),
      ...ran('promote {"rank":"silver"}', 'promoted'),
      'deps: set rank',
      ...ran('rank {}', 'silver'),
      'run_code: gold\nsilver',
      CELL,
      ...ran('rank {}', 'silver'),
      'run_code: silver',
      'agent: done',
    ],
  }),
  scenario('calls of code see the state that those before have set', coder, {
    script: cells("print(keeping('a')); print(keeping('b'))", "print(keeping('c'))"),
    timeline: [
      CELL,
      ...ran('keeping {"text":"a"}', 'before: {}'),
      ...ran('keeping {"text":"b"}', 'before: {"last":"a"}'),
      'run_code: before: {}\nbefore: {"last":"a"}',
      CELL,
      ...ran('keeping {"text":"c"}', 'before: {"last":"b"}'),
      'run_code: before: {"last":"b"}',
      'agent: done',
    ],
  }),
  scenario('cells of one response run sequentially, in parallel to another call', coder, {
    script: [
      together(
        callTool('run_code', { code: "const one = find('a')" }, 'c1'),
        callTool('cached', { text: 'x' }, 'c2'),
        callTool('run_code', { code: 'print(one)' }, 'c3'),
      ),
      say('done'),
    ],
    timeline: [
      CELL,
      'agent calls cached {"text":"x"}',
      CELL,
      'cached: cached x',
      ...ran('find {"text":"a"}', 'found a'),
      'run_code: (no output)',
      'run_code: found a',
      'agent: done',
    ],
  }),
  scenario('code calls local tools', coder, {
    script: cells("print(cached('a'), await Promise.all([tools.cached('b'), tools.cached('c')]))"),
    timeline: [
      CELL,
      ...ran('cached {"text":"a"}', 'cached a'),
      'agent calls cached {"text":"b"}',
      'agent calls cached {"text":"c"}',
      'cached: cached b',
      'cached: cached c',
      'run_code: cached a ["cached b","cached c"]',
      'agent: done',
    ],
  }),
  scenario('the clock of a cell stands still, and its random numbers advance', coder, {
    script: cells("const now = Date.now(), number = Math.random(); find('a'); print(Date.now() === now, Math.random() === number)"),
    timeline: [/^agent calls run_code/, 'agent calls find {"text":"a"}', 'find: found a', 'run_code: true false', 'agent: done'],
  }),
  scenario('code continues when the worker is lost during a call', far, {
    script: cells("const now = Date.now(); find('a'); print(Date.now() === now, find('b'))"),
    faults: [killWorker({ tool: 'find' })],
    timeline: [
      CELL,
      ...ran('find {"text":"a"}', 'found a'),
      ...ran('find {"text":"b"}', 'found b'),
      'run_code: true found b',
      'agent: done',
    ],
  }),
  scenario('another worker has the names of earlier cells', coder, {
    script: cells("const now = Date.now(); const one = { text: find('a'), now };", 'print(one.text, one.now === now)'),
    faults: [killWorker({ afterStep: 1 })],
    timeline: [CELL, ...ran('find {"text":"a"}', 'found a'), 'run_code: (no output)', CELL, 'run_code: found a true', 'agent: done'],
  }),
];
