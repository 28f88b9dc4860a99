import { RUN_CODE } from '../../../src/core/domain/tool-calls.ts';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import { defineTool, quickjs } from '../../../src/index.ts';
import type { AnyTool } from '../../../src/define/tool-definition.ts';
import { approve, callTool, cancelRun, reject, respond, say, type ScriptedReply } from '../../../src/testing/index.ts';
import { z } from 'zod';
import { agentWith, scenario, toolThat } from './scenario.ts';

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
  scenario('code calls tools in sequence', coder([look]), {
    script: [run("print(look({ text: 'a' })); print(look({ text: 'b' }));"), say('Done.')],
    timeline: [/run_code/, /calls look .*"a"/, 'look: seen a', /calls look .*"b"/, 'look: seen b', /seen a\nseen b/, 'agent: Done.'],
  }),
  scenario('code calls tools together', coder([look]), {
    script: [run("print((await Promise.all(['a', 'b'].map((text) => tools.look({ text })))).join());"), say('Done.')],
    timeline: [/run_code/, /calls look .*"a"/, /calls look .*"b"/, 'look: seen a', 'look: seen b', /seen a,seen b/, 'agent: Done.'],
  }),
  scenario('a callback of code calls a tool', coder([look]), {
    script: [run("print(['a', 'b'].reduce((all, text) => all + look({ text }).length, 0));"), say('Done.')],
    timeline: [/run_code/, /calls look/, 'look: seen a', /calls look/, 'look: seen b', /^run_code: [^]*12/, 'agent: Done.'],
  }),
  scenario('names are kept for later code', coder([look]), {
    script: [run("const one = look({ text: 'a' });"), run('print(one.length);'), say('Done.')],
    timeline: [/run_code/, /calls look/, 'look: seen a', /^run_code/, /calls run_code/, /^run_code: [^]*6/, 'agent: Done.'],
  }),
  scenario('code of a local tier calls local and remote tools', coder([look, near], 'local'), {
    script: [run("print(near({ text: look({ text: 'a' }) }));"), say('Done.')],
    timeline: [/run_code/, /calls look/, 'look: seen a', /calls near/, 'near: near seen a', /^run_code: [^]*near seen a/, 'agent: Done.'],
  }),
  scenario('code catches the error of a tool', coder([broken]), {
    script: [run('try { broken(); } catch (error) { print(`caught ${error.message}`); }'), say('Done.')],
    timeline: [/run_code/, /calls broken/, /^broken failed/, /^run_code: [^]*caught [^]*out of order/, 'agent: Done.'],
  }),
  scenario('an error of a tool that code does not catch ends the code', coder([broken]), {
    script: [run("broken(); print('never');"), say('Done.')],
    timeline: [/run_code/, /calls broken/, /^broken failed/, /^run_code failed: [^]*out of order/, 'agent: Done.'],
  }),
  scenario('an approved call of code runs', coder([pay]), {
    script: [paying, say('Done.')],
    decide: () => approve({ by: 'ann' }),
    timeline: [/run_code/, /calls pay/, 'ann approves pay', 'pay: paid 150', /^run_code: [^]*paid 150/, 'agent: Done.'],
  }),
  scenario('an approved call of code runs with other arguments', coder([pay]), {
    script: [paying, say('Done.')],
    decide: () => approve({ arguments: { amount: 5 }, by: 'ann' }),
    timeline: [/run_code/, /calls pay/, 'ann approves pay', 'pay: paid 5', /^run_code: [^]*paid 5/, 'agent: Done.'],
  }),
  scenario('a rejected call of code throws', coder([pay]), {
    script: [paying, say('Done.')],
    decide: () => reject('too much', { by: 'ann' }),
    timeline: [/run_code/, /calls pay/, 'ann rejects pay: too much', /^pay failed/, /^run_code failed: [^]*too much/, 'agent: Done.'],
  }),
  scenario('a person answers a call of code', coder([pay]), {
    script: [run('print(pay(150).voucher);'), say('Done.')],
    decide: () => respond({ voucher: 42 }, { by: 'ann' }),
    timeline: [/run_code/, /calls pay/, 'ann answers pay', /^pay: .*42/, /^run_code: [^]*42/, 'agent: Done.'],
  }),
  scenario('a cancellation ends code whose call runs', coder([look]), {
    script: [run("look({ text: 'a' });")],
    meanwhile: [cancelRun('enough', { step: 1, tool: 'look' })],
    timeline: [/run_code/, /calls look/, /^look failed/, /^run_code failed/],
    status: 'cancelled',
  }),
];

function coder(tools: readonly AnyTool[], tier: 'local' | 'remote' = 'remote'): AnyAgent {
  return agentWith(tools, { code: { executor: quickjs({ limits: { timeoutSeconds: 10 } }), tier } });
}

function run(code: string): ScriptedReply {
  return callTool(RUN_CODE, { code });
}
