import { describe, expect, test } from 'vitest';
import { createExecutor, type StandaloneExecutor } from '../../../activities/executors/create-executor.ts';
import { type Executor, newExecutionResult } from '../../../src/core/domain/execution.ts';
import { custom, type ExecutorDefinition, inProcess, python, quickjs, UsageError } from '../../../src/index.ts';
import { CAN_ISOLATE } from '../../security/can-isolate.ts';

async function using(definition: ExecutorDefinition, work: (executor: StandaloneExecutor) => Promise<void>): Promise<void> {
  const executor = await createExecutor(definition);
  try {
    await work(executor);
  } finally {
    await executor.close();
  }
}

const LIMITS = { timeoutSeconds: 0.5, maxMemoryMb: 32 };
const LANGUAGES = [
  {
    name: 'JavaScript',
    definition: quickjs({ limits: LIMITS }),
    keep: 'globalThis.n = x + 1',
    show: 'print(n)',
    answer: 'final_answer({ n })',
    spin: 'for (;;);',
  },
  {
    name: 'Python',
    definition: python({ limits: LIMITS }),
    keep: 'n = x + 1',
    show: 'print(n)',
    answer: "final_answer({'n': n})",
    spin: 'while True: pass',
  },
];

describe.each(LANGUAGES.filter(({ name }) => name !== 'Python' || CAN_ISOLATE))('$name', ({ definition, keep, show, answer, spin }) => {
  test('has the whole result', async () => {
    await using(definition, async (executor) => {
      executor.inject('x', 1);
      await executor.run(keep);
      const { durationMs, memoryUsedBytes, ...result } = await executor.run(`${show}\n${answer}`);
      expect(result).toEqual({
        success: true,
        output: '2',
        error: null,
        isFinal: true,
        finalValue: { n: 2 },
        timeout: false,
        namespace: expect.objectContaining({ n: expect.objectContaining({ value: 2 }) as unknown }) as unknown,
        emptiedBy: null,
      });
      expect(durationMs).toBeGreaterThan(0);
      expect(memoryUsedBytes).toBeGreaterThan(1_000);
    });
  });

  test('can be used after a timeout, and says that its names are lost', async () => {
    await using(definition, async (executor) => {
      executor.inject('x', 1);
      await executor.run(keep);
      expect(await executor.run(spin)).toMatchObject({
        success: false,
        timeout: true,
        error: { kind: 'timeout' },
        namespace: {},
        emptiedBy: null,
      });
      expect(await executor.run(show)).toMatchObject({ success: false, error: { kind: 'undefined_name' }, emptiedBy: 'timeout' });
      executor.inject('n', 5);
      expect(await executor.run(show)).toMatchObject({ output: '5', emptiedBy: null });
      await executor.reset();
      expect(await executor.run(show)).toMatchObject({ error: { kind: 'undefined_name' }, emptiedBy: null });
    });
  });

  test('kill ends what runs', async () => {
    await using(definition, async (executor) => {
      const running = executor.run(spin);
      await executor.kill();
      expect((await running).error?.kind).toBe('killed');
      expect(await executor.run('print(1)')).toMatchObject({ output: '1', emptiedBy: 'killed' });
    });
  });
});

test("the clock is the process's clock unless a moment is given", async () => {
  await using(quickjs(), async (executor) => {
    const before = Date.now();
    expect(Number((await executor.run('print(Date.now())')).output)).toBeGreaterThanOrEqual(before);
    expect((await executor.run('print(Date.now())', { now: 5 })).output).toBe('5');
    const random = (): Promise<{ output: string }> => executor.run('print(Math.random())', { seed: 7 });
    expect((await random()).output).toBe((await random()).output);
  });
});

test('an executor that does not run on this machine is refused, each time', async () => {
  const missing = custom({ command: ['/nowhere/cells'], language: 'python' });
  await expect(createExecutor(missing)).rejects.toThrow('"/nowhere/cells" cannot be started');
  await expect(createExecutor(missing)).rejects.toThrow(UsageError);
});

const IDLE: Executor = {
  run: (code) => Promise.resolve(newExecutionResult({ output: code })),
  begin: (code) => Promise.resolve({ type: 'ended', result: newExecutionResult({ output: code }), durationMs: 0 }),
  resume: () => Promise.reject(new Error('not used')),
  kill: () => Promise.resolve(),
  inject: () => undefined,
  reset: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

test("an executor of one's own is made with its settings", async () => {
  const given: unknown[] = [];
  const create = (settings: unknown): Executor => {
    given.push(settings);
    return IDLE;
  };
  await using(inProcess({ create, language: 'python', limits: { timeoutSeconds: 3 }, allowedImports: ['math'] }), async (executor) => {
    expect((await executor.run('hello')).output).toBe('hello');
  });
  expect(given).toEqual([
    {
      kind: 'in_process',
      language: 'python',
      limits: { timeoutSeconds: 3, maxMemoryMb: 256, maxOutputBytes: 10_000, maxSteps: 10 },
      allowedImports: ['math'],
      tools: [],
      scratchpad: false,
    },
  ]);
});

test.each([
  [undefined, 'the method "run"'],
  [{ run: IDLE.run }, 'the method "begin"'],
  [{ ...IDLE, close: 1 }, 'the method "close"'],
])('a function that returns no executor is refused: %j', async (made, message) => {
  const create = (): Executor => made as unknown as Executor;
  await expect(createExecutor(inProcess({ create, language: 'javascript' }))).rejects.toThrow(`returned something without ${message}`);
});

test.each([
  [{ language: 'javascript' }, '"create" is missing: write a function'],
  [{ create: () => IDLE, language: 'ruby' }, '"language" is "ruby"'],
  [{ create: () => IDLE, language: 'python', command: [] }, '"command"'],
])('options that cannot work are refused: %j', (options, message) => {
  expect(() => inProcess(options as never)).toThrow(message);
});
