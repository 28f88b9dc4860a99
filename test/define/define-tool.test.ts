import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/define/define-tool.ts';
import { UsageError } from '../../src/core/domain/errors.ts';

const BASE = { name: 'search', description: 'Searches.', parameters: z.object({ query: z.string() }), execute: () => 'found' };

test('a tool has documented defaults', () => {
  expect(defineTool(BASE)).toMatchObject({
    kind: 'longhaul.tool',
    name: 'search',
    parallel: true,
    policy: { timeoutMs: 60_000, maxAttempts: 3 },
    maxResultBytes: 64_000,
    overflow: 'cut',
    strict: true,
    schema: { type: 'object', required: ['query'] },
    providerSchema: { type: 'object', required: ['query'], additionalProperties: false },
  });
});

test.each([
  [1_500, 1_500],
  ['500ms', 500],
  ['30s', 30_000],
  ['1.5m', 90_000],
  ['2h', 7_200_000],
  ['1.5d', 129_600_000],
] as const)('a timeout of %j is %d ms', (timeout, expected) => {
  expect(defineTool({ ...BASE, timeout }).policy.timeoutMs).toBe(expected);
});

test('a tool has a version if it is given one', () => {
  for (const version of ['2', '1.4.0', 'v2_rc-1+build.7', 'x'.repeat(64)]) expect(defineTool({ ...BASE, version }).version).toBe(version);
  expect(defineTool(BASE)).not.toHaveProperty('version');
  const { execute: _, ...described } = BASE;
  expect(defineTool({ ...described, execute: 'none', version: '2' }).version).toBe('2');
});

test('a schema without a strict form is validated by Longhaul, with the reason', () => {
  const tool = defineTool({ ...BASE, parameters: z.object({ headers: z.record(z.string(), z.string()) }) });
  expect(tool).toMatchObject({ strict: false, strictProblem: '"headers" is a record' });
  expect(tool.schema).toMatchObject({ properties: { headers: { additionalProperties: { type: 'string' } } } });
  expect(tool.providerSchema).toMatchObject({ properties: { headers: { description: '(fields of any other name, each: string)' } } });
  expect(defineTool({ ...BASE, strict: false })).toMatchObject({ strict: false });
  expect(defineTool({ ...BASE, strict: false })).not.toHaveProperty('strictProblem');
});

test('the schema that validates arguments keeps optional fields optional', () => {
  const tool = defineTool({ ...BASE, parameters: z.object({ query: z.string(), limit: z.int().optional() }) });
  expect(tool.schema).toMatchObject({ required: ['query'] });
  expect(tool.providerSchema).toMatchObject({ required: ['query', 'limit'], properties: { limit: { type: ['integer', 'null'] } } });
});

test('a tool has a label for people if it is given one', () => {
  expect(defineTool({ ...BASE, label: 'Search' }).label).toBe('Search');
  expect(defineTool({ ...BASE, label: 'x'.repeat(60) }).label).toBe('x'.repeat(60));
  expect(defineTool(BASE)).not.toHaveProperty('label');
});

test.each([
  [true, true],
  [false, false],
  [
    ['a', 'b', 'a'],
    ['a', 'b'],
  ],
])('a tool may declare what its calls change: %j', (updates, expected) => {
  expect(defineTool({ ...BASE, updates }).updates).toEqual(expected);
  expect(defineTool(BASE)).not.toHaveProperty('updates');
});

test('a tool may use the largest budget for its results', () => {
  expect(defineTool({ ...BASE, maxResultBytes: 400_000, overflow: 'spill' })).toMatchObject({ maxResultBytes: 400_000, overflow: 'spill' });
});

describe('a tool that is a schema alone', () => {
  const { execute: _, ...described } = BASE;

  test('is described like any tool and says that it is one', () => {
    const { execute, ...tool } = defineTool({ ...described, execute: 'none' });
    const { execute: __, ...ordinary } = defineTool(BASE);
    expect(tool).toEqual({ ...ordinary, notExecutable: true });
    expect(execute).toThrow("Tool 'search' is not executable");
    expect(ordinary).not.toHaveProperty('notExecutable');
  });

  test('may say if the provider enforces the schema, and leave options undefined', () => {
    expect(defineTool({ ...described, execute: 'none', strict: false, timeout: undefined } as never)).toMatchObject({ strict: false });
  });

  test.each<[string, object]>([
    ['approval', { approval: 'always' }],
    ['effect', { effect: 'once' }],
    ['verify', { effect: undefined, verify: () => ({ happened: false }) }],
    ['tier', { tier: 'local' }],
    ['timeout', { timeout: '5s' }],
    ['maxAttempts', { maxAttempts: 1 }],
    ['resources', { resources: ['db'] }],
    ['result', { result: z.string() }],
    ['label', { label: 'Search' }],
    ['parallel', { parallel: false }],
    ['updates', { updates: true }],
    ['maxResultBytes', { maxResultBytes: 5_000 }],
  ])('has no option "%s"', (option, more) => {
    const define = (): unknown => defineTool({ ...described, ...more, execute: 'none' });
    expect(define).toThrow(UsageError);
    expect(define).toThrow(`tool "search": "${option}" has no effect with "execute": "none": leave it out, or write a function`);
  });
});

test.each([
  ['no name', { name: '' }, 'a tool has no name'],
  ['a name with a blank', { name: 'search web' }, 'tool "search web": providers refuse this name: use 1 to 64 letters, digits, "_" or "-"'],
  ['a long name', { name: 'x'.repeat(65) }, 'providers refuse this name'],
  ['a name of ours', { name: 'final_answer' }, 'tool "final_answer": this name is reserved'],
  ['the name of an activity', { name: 'callModel' }, 'tool "callModel": this name is reserved'],
  ['a name of Temporal', { name: '__temporal_x' }, 'tool "__temporal_x": this name is reserved'],
  ['no description', { description: ' ' }, 'tool "search": "description" is " ": write a text'],
  ['an empty label', { label: ' ' }, 'tool "search": "label" is " ": write a text'],
  ['a label that is not text', { label: 7 }, 'tool "search": "label" is 7: write a text'],
  ['a long label', { label: 'x'.repeat(61) }, 'tool "search": "label" has 61 characters: write at most 60'],
  ['an empty version', { version: '' }, 'tool "search": "version" is "": write a text of 1 to 64 letters'],
  ['a version that is a number', { version: 2 }, 'tool "search": "version" is 2: write a text of 1 to 64 letters'],
  ['a version with a blank', { version: '1 beta' }, 'tool "search": "version" is "1 beta": write a text of 1 to 64 letters'],
  ['a long version', { version: 'x'.repeat(65) }, `tool "search": "version" is "${'x'.repeat(65)}": write a text of 1 to 64 letters`],
  ['a label of two lines', { label: 'a\nb' }, 'tool "search": "label" is "a\\nb": write one line of text'],
  ['parameters of another library', { parameters: { type: 'object' } }, 'tool "search": "parameters" is not a schema of zod 4'],
  ['parameters that are a list', { parameters: z.array(z.string()) }, 'tool "search": parameters are not an object schema'],
  [
    'parameters that are a union',
    { parameters: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]) },
    'not an object schema',
  ],
  [
    'a date',
    { parameters: z.object({ when: z.date() }) },
    'tool "search": parameters.when: dates cannot be represented in JSON: use z.iso.datetime()',
  ],
  [
    'strict without a strict form',
    { strict: true, parameters: z.object({ t: z.tuple([z.string()]) }) },
    'tool "search" cannot be strict: "t" is a tuple',
  ],
  [
    'updates that are not a list',
    { updates: 'count' },
    'tool "search": "updates" is "count": write true, false, or the keys of deps and state that its calls change',
  ],
  ['updates of nothing in particular', { updates: [] }, 'tool "search": "updates" is []: write true, false, or the keys'],
  ['an update without a key', { updates: ['a', ''] }, 'tool "search": "updates" is ["a",""]: write true, false, or the keys'],
  ['no attempts', { maxAttempts: 0 }, 'tool "search": "maxAttempts" is 0: write a whole number of at least 1'],
  ['half an attempt', { maxAttempts: 1.5 }, '"maxAttempts" is 1.5'],
  ['room for no result', { maxResultBytes: 999 }, 'tool "search": "maxResultBytes" is 999: write a whole number of at least 1000'],
  [
    'a result larger than a run can carry',
    { maxResultBytes: 400_001 },
    'tool "search": "maxResultBytes" is 400001: write at most 400000, or keep large results with "overflow": "spill"',
  ],
  ['an overflow that does not exist', { overflow: 'drop' }, 'tool "search": "overflow" is "drop": write "cut", "spill" or "error"'],
  ['no time', { timeout: 0 }, 'tool "search": "timeout" is 0: write milliseconds'],
  ['a time in words', { timeout: 'soon' }, '"timeout" is "soon"'],
  ['no function', { execute: undefined }, 'tool "search": "execute" is missing: write a function, or "none" for a schema only'],
  ['a word that is not a function', { execute: 'nothing' }, 'tool "search": "execute" is "nothing": write a function, or "none"'],
  ['a result schema of another library', { result: {} }, 'tool "search": "result" is not a schema of zod 4'],
  ['a misspelt option', { retries: 3 }, 'tool "search" has an unknown option "retries"'],
])('%s is a usage error', (_, change, message) => {
  const define = (): unknown => defineTool({ ...BASE, ...change } as typeof BASE);
  expect(define).toThrow(UsageError);
  expect(define).toThrow(message);
});

describe('a local tool', () => {
  const LOCAL = { name: 'look', description: 'Looks', parameters: z.object({}), tier: 'local', execute: () => '' } as const;

  test('a local tool has less time and shorter waits than a remote one', () => {
    expect(defineTool(LOCAL).policy).toEqual({ timeoutMs: 5_000, maxAttempts: 3, tier: 'local' });
    expect(defineTool({ ...LOCAL, timeout: '10s' }).policy.timeoutMs).toBe(10_000);
    expect(defineTool({ ...LOCAL, backoff: { initial: 5 } }).policy.backoff).toEqual({ initialMs: 5, factor: 2, maxMs: 1_000 });
  });

  test('a local tool may wait for approval', () => {
    expect(defineTool({ ...LOCAL, approval: 'always' })).toMatchObject({ policy: { tier: 'local' }, approval: { when: 'always' } });
  });

  test.each([
    [
      'an effect that happens once',
      { effect: 'once' },
      'tool "look" has "tier": "local" and "effect": "once": a local call runs again whenever the task of its workflow does. Write "tier": "remote", or leave it out',
    ],
    ['a bound on heartbeats', { heartbeatTimeout: '5s' }, '"tier": "local" and "heartbeatTimeout": a local call has no heartbeats'],
    ['a task queue', { taskQueue: 'gpu' }, '"tier": "local" and "taskQueue": a local call runs where its workflow does'],
    [
      'a long timeout',
      { timeout: '11s' },
      'tool "look": "timeout" is 11000 ms, but a local tool may take at most 10000: write "tier": "remote"',
    ],
    ['long waits', { backoff: { max: '1m' } }, '"backoff.max" is 60000 ms, but a local tool holds the task of its workflow'],
    ['an unknown tier', { tier: 'near' }, 'tool "look": "tier" is "near": write "remote" or "local"'],
  ] as const)('a local tool with %s is refused', (_, options, message) => {
    const define = (): unknown => defineTool({ ...LOCAL, ...(options as object) });
    expect(define).toThrow(UsageError);
    expect(define).toThrow(message);
  });
});
