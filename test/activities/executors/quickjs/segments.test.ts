import { expect, test } from 'vitest';
import { course, MOMENT } from '../course.ts';
import { executor, ordersOf } from './opened-executors.ts';

test('a tool by its plain name blocks: loops, callbacks and comparators continue with its result in the same stack', async () => {
  const { batches, result } = await course(
    executor(),
    `let sum = 0;
     for (let id = 1; id <= 2; id += 1) sum += orders({ id }).id;
     const mapped = [3, 4].map((id) => orders({ id }).id);
     const sorted = [6, 5].sort((a, b) => orders({ id: a }).id - orders({ id: b }).id);
     final_answer({ sum, mapped, sorted });`,
  );
  expect(result).toMatchObject({ success: true, finalValue: { sum: 3, mapped: [3, 4], sorted: [5, 6] } });
  expect(batches.slice(0, 4)).toEqual([ordersOf(1), ordersOf(2), ordersOf(3), ordersOf(4)]);
  expect(batches.every((batch) => batch.length === 1)).toBe(true);
});

test('promises of calls that are pending together are one segment, and get their results in the order of the calls', async () => {
  const { batches, result } = await course(
    executor(),
    `const seen = [];
     const all = await Promise.all([3, 1, 2].map((id) => tools.orders({ id }).then((one) => { seen.push(one.id); return one.id; })));
     final_answer({ all, seen, next: (await tools.orders({ id: 9 })).id });`,
  );
  expect(batches).toEqual([ordersOf(3, 1, 2), ordersOf(9)]);
  expect(result.finalValue).toEqual({ all: [3, 1, 2], seen: [3, 1, 2], next: 9 });
});

test('a call that blocks takes the pending promises of calls along', async () => {
  const { batches, result } = await course(
    executor(),
    `const later = tools.orders({ id: 1 }); const now = orders({ id: 2 }); final_answer([(await later).id, now.id]);`,
  );
  expect(batches).toEqual([ordersOf(1, 2)]);
  expect(result.finalValue).toEqual([1, 2]);
});

test.each([
  ['orders({ id: 1, other: [null] })', { id: 1, other: [null] }],
  ['orders(1, "north")', { id: 1, region: 'north' }],
  ['orders(undefined, "north")', { region: 'north' }],
  ['orders()', {}],
  ['orders([1, 2])', { id: [1, 2] }],
  ['orders({ id: undefined, region: null })', { region: null }],
  ['orders(new Date(0))', { id: '1970-01-01T00:00:00.000Z' }],
  ['orders({ toJSON: () => ({ id: 3 }) })', { id: 3 }],
  ['orders({ get id() { return 4 } })', { id: 4 }],
  ['orders(new (class Order { id = 5; #hidden = 6 })())', { id: 5 }],
  ['orders(Object.create({ inherited: 1 }, { id: { value: 7, enumerable: true } }))', { id: 7 }],
  ['orders({ ["__proto__"]: 8 })', JSON.parse('{"__proto__":8}')],
])('%s gives the arguments %j', async (code, expected) => {
  const { batches } = await course(executor(), code);
  expect(batches).toEqual([[{ tool: 'orders', arguments: expected }]]);
});

test.each([
  ['orders({ id: () => 1 })', 'The argument of orders.id is a function, which is not JSON'],
  ['tools.orders({ id: [Symbol()] })', 'The argument of orders.id[0] is a symbol, which is not JSON'],
  ['orders(1n)', 'The argument of orders "id" is a bigint, which is not JSON'],
  ['orders({ id: NaN })', 'The argument of orders.id is NaN, which JSON has no number for'],
  ['orders({ id: tools.orders({}) })', 'The argument of orders.id is a promise: await it first'],
  ['const self = {}; self.self = self; orders(self)', 'is nested deeper than 64 levels, or contains itself'],
  ['let deep = {}; for (let i = 0; i < 64; i += 1) deep = { deep }; orders(deep)', 'is nested deeper than 64 levels'],
  ['orders({ id: "x".repeat(500_000) })', 'The argument of orders has more than 400000 characters of JSON'],
  ['orders(new Array(1e9))', 'The argument of orders "id" has more than 400000 characters of JSON'],
  ['orders(new Uint8Array(2 ** 20))', 'The argument of orders has more than 400000 characters of JSON'],
  ['orders(1, 2, 3)', 'orders was called with 3 arguments, and has the parameters id, region'],
])('%s throws a TypeError before anything is asked', async (code, message) => {
  const { batches, result } = await course(executor(), `try { ${code} } catch (error) { print(error.name + ': ' + error.message) }`);
  expect(batches).toEqual([]);
  expect(result.output).toContain('TypeError: ');
  expect(result.output).toContain(message);
});

test('a call that failed throws a ToolError with its message, in both forms', async () => {
  const { result } = await course(
    executor(),
    `const told = [];
     try { orders({ id: 1 }) } catch (error) { told.push(error.name, error.message, error instanceof Error) }
     await tools.orders({ id: 2 }).catch((error) => told.push(String(error)));
     final_answer(told);
     orders({ id: 3 });`,
    ({ arguments: { id } }) => ({ error: `Order ${JSON.stringify(id)} does not exist` }),
  );
  expect(result.error).toEqual({ kind: 'runtime', message: 'ToolError: Order 3 does not exist' });
  const told = await course(
    executor(),
    `const told = []; try { orders(1) } catch (error) { told.push(error.name, error.message) }
     await tools.orders(2).catch((error) => told.push(String(error))); final_answer(told)`,
    () => ({ error: 'no' }),
  );
  expect(told.result.finalValue).toEqual(['ToolError', 'no', 'ToolError: no']);
});

test('a tool whose name is not a variable name is a member of tools', async () => {
  const { batches } = await course(executor(), "await tools['send-mail']('ann')");
  expect(batches).toEqual([[{ tool: 'send-mail', arguments: { to: 'ann' } }]]);
});

test('code can declare the name of a tool for itself and for later cells', async () => {
  const one = executor();
  expect((await course(one, 'const orders = (id) => id * 2; print(orders(4))')).result.output).toBe('8');
  const { batches, result } = await course(one, 'print(orders(5)); await tools.orders({ id: 6 }); tools.orders = 1; delete tools.orders');
  expect(batches).toEqual([ordersOf(6)]);
  expect(result).toMatchObject({ output: '10', namespace: { orders: { type: 'function' } } });
  expect((await course(executor(), 'orders(7)')).batches).toEqual([ordersOf(7)]);
});

test('each segment has the text that it printed, and the result has all of it', async () => {
  const { outputs, result } = await course(executor(), "print('a'); orders(1); print('b'); print('c'); await tools.orders(2); print('d')");
  expect(outputs).toEqual(['a\n', 'b\nc\n']);
  expect(result.output).toBe('a\nb\nc\nd');
});

test('the time that code waits for calls does not count as its own', async () => {
  const one = executor({ limits: { timeoutSeconds: 0.4 } });
  const waits = await one.begin('orders(1); print("on"); await tools.orders(2); print("end")', MOMENT);
  await new Promise((later) => void setTimeout(later, 900));
  expect(waits).toMatchObject({ type: 'calls' });
  const next = await one.resume([{ value: 1 }]);
  expect(next).toMatchObject({ type: 'calls', output: 'on\n' });
  await new Promise((later) => void setTimeout(later, 900));
  const end = await one.resume([{ value: 1 }]);
  expect(end).toMatchObject({ type: 'ended', result: { success: true, output: 'on\nend' } });
  expect(end.type === 'ended' ? end.result.durationMs : 0).toBeGreaterThanOrEqual(waits.durationMs);
});

test('the limit of time holds for all segments of a cell together', async () => {
  const one = executor({ limits: { timeoutSeconds: 0.4 } });
  // performance.now() stands still for the code: it can only count.
  const spin = 'let n = 0; for (let i = 0; i < 2e6; i += 1) n += i % 7;';
  const { batches, result } = await course(one, `for (let id = 0; ; id += 1) { ${spin} orders({ id }); }`);
  expect(result).toMatchObject({ timeout: true, error: { kind: 'timeout' } });
  expect(batches.length).toBeLessThan(1_000);
  await expect(one.resume([])).rejects.toThrow('No code waits for calls');
});

test('a cell has at most 10,000 calls and 1,000 segments', async () => {
  const many = await course(executor(), 'for (let i = 0; i < 1e5; i += 1) tools.orders(i)');
  expect(many.result.error).toEqual({ kind: 'runtime', message: 'Error: The code has made 10000 calls of tools, and can make no more' });
  expect(many.batches).toEqual([]);
  const long = await course(executor(), 'let n = 0; try { for (;;) { orders(n); n += 1 } } catch (error) { print(n, error.message) }');
  expect(long.batches).toHaveLength(999);
  expect(long.result.output).toBe('999 The code has waited 999 times for calls of tools, and can wait no more');
});

test('calls that the code did not await are not made, which its output says', async () => {
  const one = executor();
  const { batches, result } = await course(one, "globalThis.late = tools.orders(1); tools['send-mail']('ann')");
  expect(batches).toEqual([]);
  expect(result.output).toBe('[NOT CALLED] orders, send-mail: the code ended without awaiting these calls');
  const next = await course(one, 'await late.catch((error) => print(String(error)))');
  expect(next.result.output).toBe('ToolError: The code ended before this call was made');
});

test('code that an agent did not write cannot call tools', async () => {
  const result = await executor().run('orders(1)', MOMENT);
  expect(result.error).toEqual({ kind: 'runtime', message: "Error: A tool can be called only by an agent's code" });
});

test('a cell that waits must be continued with one result for each call, or ended', async () => {
  const one = executor();
  await one.begin('const a = orders(1); print(a)', MOMENT);
  await expect(one.begin('1', MOMENT)).rejects.toThrow('The code waits for the results of calls: call resume() or kill() before begin()');
  await expect(one.checkpoint?.()).rejects.toThrow('call resume() or kill() before checkpoint()');
  expect(() => one.inject('b', 1)).toThrow('call resume() or kill() before inject()');
  await expect(one.resume([])).rejects.toThrow('The code waits for 1 calls, and there are 0 results');
  expect(await one.resume([{ value: null }])).toMatchObject({ type: 'ended', result: { output: 'null' } });
  await expect(one.resume([])).rejects.toThrow('No code waits for calls');
});

test('a result that is too large for the code is an error of its call', async () => {
  const { result } = await course(executor(), 'try { orders(1) } catch (error) { print(error.message) }', () => ({
    value: 'x'.repeat(4_000_001),
  }));
  expect(result.output).toMatch(/^The result has 40000\d\d characters of JSON, and code can take 4000000/);
});
