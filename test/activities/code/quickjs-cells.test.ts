import { StorageDriverClaim } from '@temporalio/common';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { createAgentExecutor } from '../../../activities/executors/create-executor.ts';
import type { RunSegmentOutput } from '../../../src/core/domain/activity-messages.ts';
import type { Executor } from '../../../src/core/domain/execution.ts';
import { quickjs } from '../../../src/index.ts';
import type { PayloadStore } from '../../../src/stores/payload-store.ts';
import { CodeRun, type CodeRunOptions, desk, found } from './code-run.ts';

const runs: CodeRun[] = [];

afterEach(async () => {
  await Promise.all(runs.splice(0).map(({ environment }) => environment.runtime.namespaces.close()));
});

/** A payload store in memory. */
function memoryStore(): PayloadStore {
  const kept = new Map<string, Parameters<PayloadStore['store']>[1][number]>();
  return {
    name: 'memory',
    type: 'memory',
    store: async (_, payloads) =>
      payloads.map((payload) => {
        const key = String(kept.size);
        kept.set(key, payload);
        return new StorageDriverClaim({ key });
      }),
    retrieve: async (_, claims) => claims.flatMap(({ claimData }) => kept.get(claimData['key'] ?? '') ?? []),
    deleteRun: () => Promise.resolve(),
  };
}

/** A run whose code QuickJS executes. */
function quickJsRun(options: CodeRunOptions = {}): { run: CodeRun; made: Executor[] } {
  const made: Executor[] = [];
  const run = new CodeRun({
    ...options,
    createExecutor: async (...args) => {
      const executor = await createAgentExecutor(...args);
      made.push(executor);
      return executor;
    },
  });
  runs.push(run);
  return { run, made };
}

const LINES = [
  'a = (typeof a === "number" ? a : 0) + 1;',
  'var a = 1;',
  'var f = () => a * 2;',
  'print(typeof f === "function" ? f() : typeof a);',
  'print(Date.now(), Math.random());',
  'for (const id of [1, 2]) print(orders({ id }).total);',
  'var both = await Promise.all([3, 4].map((id) => tools.orders({ id }))); print(both.length);',
  'try { orders({ id: "x" }); } catch (error) { print(error.message); }',
  'var pending = tools.orders({ id: 5 }); print((await pending).id);',
  'throw new Error("broken");',
  'final_answer(typeof both === "undefined" ? null : both);',
];

const cells = fc.array(
  fc.array(fc.constantFrom(...LINES), { minLength: 1, maxLength: 4 }).map((lines) => lines.join('\n')),
  {
    minLength: 1,
    maxLength: 4,
  },
);

function visible(output: RunSegmentOutput): unknown {
  const { id: _, durationMs: __, checkpoint: ___, ...rest } = output as RunSegmentOutput & { type: 'ended' };
  return rest;
}

function refusing(call: Parameters<typeof found>[0]): ReturnType<typeof found> {
  return typeof call.arguments['id'] === 'number' ? found(call) : { error: 'no such order' };
}

test.each([[false], [true]])(
  'cells of JavaScript are the same if the worker loses their namespace before any segment (checkpoints: %s)',
  async (keeps) => {
    await fc.assert(
      fc.asyncProperty(cells, fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }), async (codes, losses) => {
        const { run: calm } = quickJsRun();
        const { run: disturbed } = quickJsRun(keeps ? { payloadStore: memoryStore(), checkpoint: true } : {});
        let segments = 0;
        for (const code of codes) {
          await calm.cell(code, refusing);
          await disturbed.cell(code, refusing, () => {
            segments += 1;
            return losses[segments % losses.length] ? disturbed.environment.runtime.namespaces.close() : undefined;
          });
        }
        expect(disturbed.outputs.map(visible)).toEqual(calm.outputs.map(visible));
        await Promise.all([calm, disturbed].map(({ environment }) => environment.runtime.namespaces.close()));
      }),
      { numRuns: 6 },
    );
  },
  60_000,
);

test('a cell that used up its time does not change the values of earlier cells', async () => {
  const agent = { ...desk, code: { executor: quickjs({ limits: { timeoutSeconds: 1 } }), tier: 'remote' as const } };
  const { run, made } = quickJsRun({ agent });
  await run.cell('var kept = 5;');
  expect(await run.cell('kept = 6; for (;;);')).toMatchObject({
    isError: true,
    content: [expect.stringMatching(/^Error \(timeout\): Execution timed out after 1s\n\nNothing that this code has defined/)],
  });
  expect(await run.cell('print(kept);')).toMatchObject({ content: ['5'] });
  expect(made).toHaveLength(2);
});

test('a cancelled segment ends the thread of its code', async () => {
  const { run, made } = quickJsRun();
  await run.cell('var kept = 5;');
  run.begin('for (;;);');
  const running = run.segment(run.input());
  setTimeout(() => run.environment.cancel(), 100);
  await expect(running).rejects.toThrow('CANCELLED');
  await expect(made[0]?.begin('1', { now: 1, seed: 1 })).rejects.toThrow('is closed');
});
