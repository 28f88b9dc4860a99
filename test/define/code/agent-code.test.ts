import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { UsageError } from '../../../src/core/domain/errors.ts';
import { askHuman, defineAgent, defineTool, mcpServer, python, quickjs, type ToolDefinition } from '../../../src/index.ts';
import { withOverrides } from '../../../src/define/model-settings.ts';

function tool(name: string, callers?: readonly ('model' | 'code')[]): ToolDefinition {
  const parameters = z.object({ id: z.number() });
  return defineTool({ name, description: 'd', parameters, execute: () => 'done', ...(callers === undefined ? {} : { callers }) });
}

const orders = tool('orders');
const server = mcpServer({ name: 'files', command: 'files' });
const SHORT = quickjs({ limits: { timeoutSeconds: 10 } });
const BASE = { name: 'desk', model: 'p/m' as const, tools: [orders] };

test('an agent with code has its executor, and runs code in separate activities by default', () => {
  const executor = quickjs();
  expect(defineAgent({ ...BASE, code: { executor } }).code).toEqual({ executor, tier: 'remote' });
  expect(defineAgent({ ...BASE, code: { executor: SHORT, tier: 'local' } }).code).toEqual({ executor: SHORT, tier: 'local' });
  expect(defineAgent(BASE)).not.toHaveProperty('code');
  expect(defineAgent(BASE)).not.toHaveProperty('replyFormat');
});

test("with the reply format code, the limit of steps is the executor's, unless the agent sets one", () => {
  const code = { executor: python({ limits: { maxSteps: 4 } }) };
  expect(defineAgent({ ...BASE, code, replyFormat: 'code' }).limits.steps).toBe(4);
  expect(defineAgent({ ...BASE, code, replyFormat: 'code', limits: { steps: 7 } }).limits.steps).toBe(7);
  expect(defineAgent({ ...BASE, code }).limits.steps).toBe(10);
});

test('a name that code cannot spell is fine for a tool that only the model may call', () => {
  const agent = defineAgent({
    ...BASE,
    tools: [orders, tool('look-up', ['model']), tool('import', ['model'])],
    code: { executor: quickjs() },
  });
  expect(agent.tools).toHaveLength(3);
});

test('an agent whose MCP servers may have tools needs no tools of its own', () => {
  expect(defineAgent({ ...BASE, tools: [], mcp: [server], code: { executor: quickjs() } }).code).toBeDefined();
  expect(defineAgent({ ...BASE, tools: [], mcp: [server], replyFormat: 'json' }).replyFormat).toBe('json');
});

test('an agent that answers with JSON may run code, too', () => {
  const agent = defineAgent({ ...BASE, code: { executor: quickjs() }, replyFormat: 'json' });
  expect(agent).toMatchObject({ replyFormat: 'json', code: { tier: 'remote' } });
});

test('a question to a person has callers like any tool', () => {
  const ask = askHuman({ name: 'ask', description: 'd', answer: z.string(), callers: ['model'] });
  expect(ask.callers).toEqual(['model']);
});

test('the model may be made to call run_code, and not a tool that only code may call', () => {
  const tools = [orders, tool('hidden', ['code'])];
  const agent = defineAgent({ ...BASE, tools, code: { executor: quickjs() }, settings: { toolChoice: { tool: 'run_code' } } });
  expect(agent.settings.toolChoice).toEqual({ tool: 'run_code' });
  const hidden = { toolChoice: { tool: 'hidden' } };
  expect(() => defineAgent({ ...BASE, tools, code: { executor: quickjs() }, settings: hidden })).toThrow(
    'names the tool "hidden", which the agent does not have (it has: orders, run_code)',
  );
  expect(() => withOverrides(agent, { settings: hidden })).toThrow('names the tool "hidden"');
  expect(() => defineAgent({ ...BASE, settings: { toolChoice: { tool: 'run_code' } } })).toThrow('names the tool "run_code"');
});

describe('an agent whose code cannot work is a usage error', () => {
  const executor = quickjs();
  test.each([
    [
      'code without executor',
      { code: {} },
      'agent "desk": "code" has no "executor": write quickjs(), python(), custom({...}) or inProcess({...})',
    ],
    ['an executor as code', { code: executor }, 'agent "desk": "code" is an executor: write {executor: quickjs(…)}'],
    ['code that is true', { code: true }, 'agent "desk": "code" is true: write {executor: quickjs()}'],
    ['another object as executor', { code: { executor: { kind: 'quickjs' } } }, '"code.executor" is not an executor: make it with quickjs'],
    ['an executor that was not made', { code: { executor: quickjs } }, '"code.executor" is not an executor'],
    [
      'an unknown option of code',
      { code: { executor, limits: {} } },
      '"code" has an unknown option "limits" (known: executor, tier, inject, prune)',
    ],
    ['an unknown tier', { code: { executor, tier: 'near' } }, '"code.tier" is "near": write "local" or "remote"'],
    ['a long local tier', { code: { executor, tier: 'local' } }, 'but its executor has a time limit of 30 seconds'],
    [
      'a local tier without a limit of time',
      { code: { executor: python({ limits: { timeoutSeconds: -1 } }), tier: 'local' } },
      'but its executor has no time limit: write python({limits: {timeoutSeconds: 10}})',
    ],
    ['no tool', { code: { executor }, tools: [] }, 'agent "desk" requires at least one tool that its code may call: add one to "tools"'],
    ['no tool for code', { code: { executor }, tools: [tool('a', ['model'])] }, 'but only the model may call those that it has'],
    [
      'a tool for code without code',
      { tools: [tool('a', ['code'])] },
      'has the tool "a", which only code may call, but the agent runs no code',
    ],
    ['code as reply format without code', { replyFormat: 'code' }, '"replyFormat" is "code", but the agent runs no code'],
    ['json as reply format without tools', { replyFormat: 'json', tools: [] }, 'agent "desk" requires at least one tool, because'],
    ['an unknown reply format', { replyFormat: 'xml' }, '"replyFormat" is "xml": write "code" or "json", or leave it out'],
    ['two tools of one name', { code: { executor }, tools: [orders, orders] }, 'has two tools named "orders"'],
  ])('%s', (_, change, message) => {
    const define = (): unknown => defineAgent({ ...BASE, ...change } as never);
    expect(define).toThrow(UsageError);
    expect(define).toThrow(message);
  });

  test.each([
    ['look-up', quickjs(), 'JavaScript cannot spell this name: use letters, digits and "_", and begin with a letter'],
    ['2nd', quickjs(), 'JavaScript cannot spell this name: use letters, digits and "_", and begin with a letter'],
    ['delete', quickjs(), 'it is a reserved word of JavaScript'],
    ['lambda', python(), 'it is a reserved word of Python'],
    ['list', python(), 'Python has a function or a type of this name already'],
    ['ValueError', python(), 'Python has a function or a type of this name already'],
    ['Promise', quickjs(), 'JavaScript has a function or a type of this name already'],
    ['print', quickjs(), 'code has a function of this name already'],
    ['recall', python(), 'code has a function of this name already'],
    ['__proto__', quickjs(), 'a name that begins with "__" is reserved'],
  ])('a tool named %s', (name, own, problem) => {
    const define = (): unknown => defineAgent({ ...BASE, tools: [orders, tool(name)], code: { executor: own } });
    expect(define).toThrow(UsageError);
    expect(define).toThrow(
      `agent "desk" has the tool "${name}", which its code cannot call by this name: ${problem}. Give it another name`,
    );
  });

  test('a name is refused only in the language that cannot spell it', () => {
    const code = { executor: python() };
    expect(defineAgent({ ...BASE, tools: [tool('delete'), tool('fetch'), tool('Promise')], code }).tools).toHaveLength(3);
  });

  test('a tool named run_code is refused for every agent', () => {
    expect(() => tool('run_code')).toThrow('tool "run_code": this name is reserved: give the tool another one');
  });
});

describe('callers of a tool', () => {
  test('are absent if both may call it', () => {
    expect(tool('a')).not.toHaveProperty('callers');
    expect(tool('a', ['code', 'model'])).not.toHaveProperty('callers');
    expect(tool('a', ['code', 'code']).callers).toEqual(['code']);
  });

  test('may be set for a tool that is a schema alone', () => {
    const plan = defineTool({ name: 'plan', description: 'd', parameters: z.object({}), execute: 'none', callers: ['model'] });
    expect(plan.callers).toEqual(['model']);
  });

  test.each([
    ['an empty list', []],
    ['one name', 'model'],
    ['an unknown caller', ['model', 'human']],
  ])('%s is a usage error', (_, callers) => {
    expect(() => tool('a', callers as never)).toThrow(
      `tool "a": "callers" is ${JSON.stringify(callers)}: write ["model"], ["code"] or both`,
    );
  });

  test('of the tools of an MCP server are a list or a function of the name of the tool', () => {
    const http = { name: 'crm', url: 'https://crm.example.com/mcp' };
    expect(mcpServer({ ...http, callers: ['code'] }).callersOf('any')).toEqual(['code']);
    expect(mcpServer({ ...http, callers: (name) => (name === 'erase' ? ['model'] : undefined) }).callersOf('erase')).toEqual(['model']);
    expect(mcpServer({ ...http, callers: () => undefined }).callersOf('any')).toBeUndefined();
    expect(mcpServer(http).callersOf('any')).toBeUndefined();
    expect(() => mcpServer({ ...http, callers: [] })).toThrow('MCP server "crm": "callers" is []');
    expect(() => mcpServer({ ...http, callers: () => ['me'] as never }).callersOf('erase')).toThrow(
      'MCP server "crm", tool "erase": "callers"',
    );
  });
});
