import { describe, expect, test } from 'vitest';
import { CAN_ISOLATE } from '../../../security/can-isolate.ts';
import { MOMENT } from '../course.ts';
import { executor, runAll } from './opened-executors.ts';

// Without bubblewrap, or without user namespaces, no code in Python runs at all.
describe.skipIf(!CAN_ISOLATE)('Python under bubblewrap', () => {
  test('printed text is the output, and an expression alone prints nothing', async () => {
    const result = await runAll(['x = 4 + 3\nprint(x, "a", {"b": [1, None]}, sep="-")\n1 + 1']);
    expect(result).toMatchObject({ output: "7-a-{'b': [1, None]}", success: true, isFinal: false, error: null });
    expect(result.namespace).toEqual({ x: { type: 'int', value: 7 } });
  });

  test('the last final answer counts, its value comes back, and the next run has no answer', async () => {
    const one = executor();
    expect(await runAll(['final_answer(1)\ny = final_answer({"a": (2, 2.5)})\nprint(y)'], one)).toMatchObject({
      isFinal: true,
      finalValue: { a: [2, 2.5] },
      output: "{'a': (2, 2.5)}",
    });
    expect(await runAll(['print(1)'], one)).toMatchObject({ isFinal: false, finalValue: null, success: true });
    expect(await runAll(['final_answer(None)'], one)).toMatchObject({ isFinal: true, finalValue: null });
    expect(await runAll(['final_answer(1)\n1 / 0'], one)).toMatchObject({ isFinal: false, finalValue: null, success: false });
  });

  test.each([
    ['{1}', 'TypeError: The value of final_answer has a value of type "set", which is not JSON'],
    ['float("nan")', 'ValueError: The value of final_answer has the number nan, which is not JSON'],
    ['2 ** 53', 'ValueError: The value of final_answer has a whole number beyond 2**53, which JSON does not keep: give it as a text'],
    ['{(1, 2): 3}', 'TypeError: The value of final_answer has a key of type "tuple", which is not JSON'],
    ['"x" * 500_000', 'ValueError: The value of final_answer has more than 400000 characters of JSON'],
  ])('the final answer %s is refused', async (value, message) => {
    expect((await runAll([`final_answer(${value})`])).error).toEqual({ kind: 'runtime', message });
  });

  test('names live on between runs, and a failed run keeps those that it has set', async () => {
    const one = executor();
    await runAll(['n = 1\ndef f():\n  return n', 'n = 2\nm = 3\n1 / 0'], one);
    expect(await runAll(['print(n, f(), m)'], one)).toMatchObject({
      output: '2 2 3',
      namespace: { n: { type: 'int', value: 2 }, f: { type: 'function' }, m: { type: 'int', value: 3 } },
    });
  });

  test.each([
    ['print(a', 'syntax', /^Syntax error in code: '\(' was never closed/],
    ['\0', 'syntax', /null bytes/],
    [`${'('.repeat(5_000)}1${')'.repeat(5_000)}`, 'syntax', /too many nested parentheses/],
    ['print(missing)', 'undefined_name', /^NameError: name 'missing' is not defined$/],
    ["eval('1+1')", 'undefined_name', /^NameError: name 'eval' is not defined$/],
    ["open('/etc/passwd')", 'undefined_name', /name 'open'/],
    ["raise ValueError('bad')", 'undefined_name', /name 'ValueError'/],
    ['class A: pass', 'undefined_name', /__build_class__/],
    ['1 / 0', 'runtime', /^ZeroDivisionError: division by zero$/],
    ['def f():\n  print(a)\n  a = 1\nf()', 'runtime', /^UnboundLocalError/],
    ['def f(): f()\nf()', 'runtime', /^RecursionError/],
    ['import os.path', 'import_not_allowed', /^Import 'os.path' not allowed$/],
    ['from os import environ', 'import_not_allowed', /^Import from 'os' not allowed$/],
    ['from . import a', 'import_not_allowed', /^Import from '.' not allowed$/],
    ['def f():\n  import math, json', 'import_not_allowed', /^Import 'json' not allowed$/],
    ['vars(print)', 'runtime', /^TypeError/],
    ['[].__class__.__base__.__subclasses__()[0].missing', 'runtime', /^AttributeError/],
  ])('%j fails with %s', async (code, kind, message) => {
    const { error, success, namespace } = await runAll(['before = 1', code], executor({ allowedImports: ['math'] }));
    expect(error).toEqual({ kind, message: expect.stringMatching(message) as string });
    expect({ success, namespace }).toEqual({ success: false, namespace: {} });
  });

  test('an import that is not written as one is refused when it runs, and nothing before it is undone', async () => {
    const hidden = 'print(1)\nfinal_answer.__globals__["checked_import"]("os")';
    expect(await runAll([hidden])).toMatchObject({
      output: '1',
      error: { kind: 'import_not_allowed', message: "Import 'os' not allowed" },
    });
  });

  test('allowed packages can be imported', async () => {
    const one = executor({ allowedImports: ['math', 'json', 'statistics'] });
    const code = 'from math import sqrt\nimport json, statistics\nprint(sqrt(25), json.dumps({"a": 1}), statistics.mean([1, 2]))';
    expect((await runAll([code], one)).output).toBe('5.0 {"a": 1} 1.5');
  });

  test('a bare except catches errors, though no class of them has a name', async () => {
    expect((await runAll(['try:\n  1 / 0\nexcept:\n  print("caught")'])).output).toBe('caught');
    expect((await runAll(['try:\n  1 / 0\nexcept Exception:\n  print("caught")'])).error?.kind).toBe('undefined_name');
  });

  test('the same moment gives the same time, numbers and order', async () => {
    const allowedImports = ['random', 'time', 'datetime', 'uuid', 'secrets'];
    const code = [
      'import random, time, datetime, uuid, secrets',
      'print(random.random(), time.time(), time.monotonic(), datetime.datetime.now(), datetime.date.today(), uuid.uuid4())',
      'print(secrets.token_hex(4), time.ctime(), {"a", "b", "c", "d"}, hash("a"))',
    ].join('\n');
    const [first, second] = [await runAll([code], executor({ allowedImports })), await runAll([code], executor({ allowedImports }))];
    expect(first).toMatchObject({ error: null, output: second.output });
    expect(first.output).toContain('1767312000.0 1767312000.0 2026-01-02 00:00:00 2026-01-02');
    const other = await executor({ allowedImports }).run(code, { now: 0, seed: 8 });
    expect(other.output).toContain('0.0 0.0 1970-01-01 00:00:00');
  });

  test('output is cut to its limit, also where the run failed', async () => {
    const limits = { maxOutputBytes: 10 };
    expect((await runAll(["print('x'*50)"], executor({ limits }))).output).toBe('xxxxxxxxxx\n[OUTPUT TRUNCATED]');
    expect((await runAll(["print('x'*10)"], executor({ limits }))).output).toBe('xxxxxxxxxx');
    expect((await runAll(["print('x'*50)\n1/0"], executor({ limits }))).output).toBe('xxxxxxxxxx\n[OUTPUT TRUNCATED]');
    expect((await runAll(["print('é😀' * 400_000)\n1/0"], executor({ limits }))).output).toBe('é😀é\n[OUTPUT TRUNCATED]');
  });

  test('a value can be injected, and reset forgets it with all names', async () => {
    const one = executor();
    one.inject('rates', { eur: [1.5, null] });
    expect((await runAll(['print(rates)'], one)).output).toBe("{'eur': [1.5, None]}");
    await one.reset();
    expect((await runAll(['print(rates)'], one)).error).toEqual({
      kind: 'undefined_name',
      message: "NameError: name 'rates' is not defined",
    });
    for (const name of ['def', 'a-b', 'final_answer', 'orders', 'store', '__builtins__']) {
      expect(() => one.inject(name, 1)).toThrow(`"${name}" cannot be injected`);
    }
  });

  test('code that uses up its time is killed, its output is kept, and its names are lost', async () => {
    const one = executor({ limits: { timeoutSeconds: 0.5 } });
    const result = await runAll(['print("before")\nwhile True:\n  try:\n    1 / 0\n  except:\n    pass'], one);
    expect(result).toMatchObject({
      timeout: true,
      output: 'before',
      error: { kind: 'timeout', message: 'Execution timed out after 0.5s' },
    });
    one.inject('given', [2]);
    expect(await runAll(['print(given)'], one)).toMatchObject({ output: '[2]', emptiedBy: 'timeout' });
    expect(await runAll(['print(given)'], one)).toMatchObject({ output: '[2]', emptiedBy: null });
  });

  test('the smallest limit of memory leaves room for the interpreter', async () => {
    expect((await runAll(['print(sum(range(1_000)))'], executor({ limits: { maxMemoryMb: 1 } }))).output).toBe('499500');
  });

  test('code that takes too much memory fails', async () => {
    expect((await runAll(['x = [0] * 10_000_000'])).error?.kind).toBe('memory');
  });

  test('kill ends what runs at once', async () => {
    const one = executor();
    const running = one.run('while True: pass', MOMENT);
    await one.kill();
    expect((await running).error?.kind).toBe('killed');
    expect(await runAll(['print(1)'], one)).toMatchObject({ output: '1', emptiedBy: 'killed' });
    await one.close();
    await expect(one.run('1', MOMENT)).rejects.toThrow('The executor is closed');
  });

  test('the memory of the interpreter is measured from outside', async () => {
    const { memoryUsedBytes } = await runAll(['x = "x" * 20_000_000\nx = None'], executor({ limits: { maxMemoryMb: 64 } }));
    expect(memoryUsedBytes).toBeGreaterThan(20_000_000);
    expect(memoryUsedBytes).toBeLessThan(90_000_000);
  });

  test("names that no code may change keep the executor's values", async () => {
    const result = await runAll(['final_answer = 3\nprint = 4', 'x = final_answer']);
    expect(result.namespace).toMatchObject({ x: { type: 'int', value: 3 } });
  });
});
