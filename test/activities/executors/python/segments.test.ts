import { describe, expect, test } from 'vitest';
import { CAN_ISOLATE } from '../../../security/can-isolate.ts';
import { course, MOMENT } from '../course.ts';
import { executor } from './opened-executors.ts';

const order = (id: number): object => ({ tool: 'orders', arguments: { id } });

// Without bubblewrap, or without user namespaces, no code in Python runs at all.
describe.skipIf(!CAN_ISOLATE)('calls of tools from Python', () => {
  test('a tool by its plain name blocks, in loops, comprehensions and sort keys', async () => {
    const code = [
      'total = 0',
      'for id in (1, 2):',
      '  total += orders(id)["id"]',
      'mapped = [orders(id=id)["id"] for id in (3, 4)]',
      'ordered = sorted([6, 5], key=lambda id: orders({"id": id})["id"])',
      'final_answer([total, mapped, ordered])',
    ].join('\n');
    const { batches, result } = await course(executor(), code);
    expect(batches).toEqual([[order(1)], [order(2)], [order(3)], [order(4)], [order(6)], [order(5)]]);
    expect(result.finalValue).toEqual([3, [3, 4], [5, 6]]);
  });

  test('awaited calls run together with a blocking one, and gather collects their results', async () => {
    const code = [
      'first, second = tools.orders(1), tools.orders(id=2)',
      'print(first.done())',
      'third = orders(3)',
      'print(first.done(), first.result()["id"], second.result()["id"], third["id"])',
      'print([one["id"] for one in gather(*[tools.orders(id) for id in (5, 4)])], gather([tools.orders(6)]))',
    ].join('\n');
    const { batches, outputs, result } = await course(executor(), code);
    expect(batches).toEqual([[order(1), order(2), order(3)], [order(5), order(4)], [order(6)]]);
    expect(outputs).toEqual(['False\n', 'True 1 2 3\n', '']);
    expect(result.output).toBe("False\nTrue 1 2 3\n[5, 4] [{'id': 6}]");
  });

  test('a call that nothing waits for is not made, which the output says', async () => {
    const one = executor();
    const { batches, result } = await course(one, 'late = tools.orders(1)\ntools.orders(2)\nfinal_answer(2)');
    expect(batches).toEqual([]);
    expect(result).toMatchObject({ output: '[NOT CALLED] orders, orders: the code ended without waiting for these calls', finalValue: 2 });
    expect((await course(one, 'late.result()')).result.error?.message).toBe('ToolError: The code ended before this call was made');
  });

  test('a failed call raises a ToolError with its message, which code can catch', async () => {
    const fails = (): { error: string } => ({ error: 'No order 1' });
    const caught = await course(executor(), 'try:\n  orders(1)\nexcept ToolError as error:\n  final_answer(str(error))', fails);
    expect(caught.result.finalValue).toBe('No order 1');
    const { result } = await course(executor(), 'print(1)\ngather(tools.orders(1))', fails);
    expect(result).toMatchObject({ output: '1', error: { kind: 'runtime', message: 'ToolError: No order 1' } });
  });

  test.each([
    ['orders(1, "north")', { id: 1, region: 'north' }],
    ['orders(1, region="north")', { id: 1, region: 'north' }],
    ['orders(region=None, id=(1, 2))', { region: null, id: [1, 2] }],
    ['orders({"id": 1, "other": [True]})', { id: 1, other: [true] }],
    ['orders()', {}],
    ['orders([1])', { id: [1] }],
  ])('%s gives the arguments %j', async (code, given) => {
    const { batches } = await course(executor(), code);
    expect(batches).toEqual([[{ tool: 'orders', arguments: given }]]);
  });

  test.each([
    ['orders(1, 2, 3)', 'TypeError: orders was called with 3 arguments, and has the parameters id, region'],
    ['orders(1, id=2)', "TypeError: orders got two values for 'id'"],
    ['orders({1})', 'TypeError: The argument of orders has a value of type "set", which is not JSON'],
    ['gather(1)', "TypeError: 'int' object is not iterable"],
    ['gather([1])', 'TypeError: gather takes calls: write gather(tools.name(...), tools.name(...))'],
  ])('%s makes no call', async (code, message) => {
    const { batches, result } = await course(executor(), code);
    expect({ batches, error: result.error }).toEqual({ batches: [], error: { kind: 'runtime', message } });
  });

  test('a run outside of an agent may not call', async () => {
    const { error } = await executor().run('orders(1)', MOMENT);
    expect(error?.message).toBe("ToolError: A tool can be called only by an agent's code");
  });

  test('time that calls take does not count', async () => {
    const one = executor({ limits: { timeoutSeconds: 1 } });
    const segment = await one.begin('final_answer(orders(1))', MOMENT);
    expect(segment.type).toBe('calls');
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(await one.resume([{ value: 5 }])).toMatchObject({ type: 'ended', result: { finalValue: 5 } });
  });

  test('a code that waits refuses other work, and can be killed', async () => {
    const one = executor();
    await one.begin('orders(1)', MOMENT);
    await expect(one.run('1', MOMENT)).rejects.toThrow('waits for the results of calls');
    await expect(one.resume([])).rejects.toThrow('waits for 1 calls, and there are 0 results');
    await one.kill();
    await expect(one.resume([{ value: 1 }])).rejects.toThrow('No code waits for calls');
  });

  test('signals return their arguments', async () => {
    const { finalValue } = await executor().run("final_answer([uncertain('u'), explore('e'), commit(3)])", MOMENT);
    expect(finalValue).toEqual(['u', 'e', 3]);
  });

  test('the scratchpad outlives failures, and its signals are printed', async () => {
    const one = executor();
    const code = [
      'store("rate", {"eur": 1.5})',
      'observe("rates are stale"); memory.fail("guessing")',
      'uncertain("maybe"); explore("other"); commit("go")',
      'print(recall("rate"), recall("none", 7), memory.values, memory.observations, memory.failed)',
      '1 / 0',
    ].join('\n');
    const { output, error, scratchpad } = await one.run(code, MOMENT);
    expect(output).toBe(
      "[UNCERTAIN] maybe\n[EXPLORE] other\n[COMMIT] go\n{'eur': 1.5} 7 {'rate': {'eur': 1.5}} ['rates are stale'] ['guessing']",
    );
    expect(error?.kind).toBe('runtime');
    const kept = { values: { rate: { eur: 1.5 } }, observations: ['rates are stale'], failed: ['guessing'] };
    expect(scratchpad).toEqual(kept);
    expect((await one.run('print(recall("rate"))', MOMENT)).scratchpad).toEqual(kept);
    expect((await one.run('store("big", "x" * 70_000)', MOMENT)).error?.message).toContain('more than 64000 characters');
  });
});
