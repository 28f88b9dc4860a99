import fc from 'fast-check';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { RunSegmentOutput } from '../../../src/core/domain/activity-messages.ts';
import { fileStore, type PayloadStore } from '../../../src/stores/payload-store.ts';
import { CodeRun, found } from './code-run.ts';

const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function store(): Promise<PayloadStore> {
  const folder = await mkdtemp(path.join(tmpdir(), 'checkpoints-'));
  folders.push(folder);
  return fileStore({ directory: folder });
}

/** Drops all namespaces of the worker, as its end would. */
function forget({ environment }: CodeRun): Promise<void> {
  return environment.runtime.namespaces.close();
}

const SETTING = ['let a 1', 'let b {"c":[2]}', 'copy b a', 'copy c $', 'copy c moment', 'print a', 'print b', 'print c', 'spend 3000'];
const CALLING = ['call orders {"id":1}', 'call orders {"id":2} | orders {"id":3}', 'call orders {"id":"no"}'];
const ENDING = ['final a', 'final c', 'throw broken', 'end timeout late', 'end memory full', 'huh'];

const cells = fc.array(
  fc
    .array(fc.constantFrom(...SETTING, ...SETTING, ...CALLING, ...ENDING), { maxLength: 6 })
    .map((lines) => [...lines, 'print c'].join('\n')),
  { minLength: 1, maxLength: 5 },
);

/** Returns all that a run can see of a segment: not its ids, nor the location of a checkpoint. */
function visible(output: RunSegmentOutput): unknown {
  const { id: _, checkpoint: __, at: ___, segment: ____, ...rest } = output as RunSegmentOutput & { type: 'ended' };
  return rest;
}

test.each([
  [false, false],
  [true, false],
  [false, true],
])('cells are the same if the worker loses their namespace before any segment (local: %s, checkpoints: %s)', async (isLocal, keeps) => {
  const payloadStore = keeps ? await store() : undefined;
  await fc.assert(
    fc.asyncProperty(cells, fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }), async (codes, losses) => {
      const calm = new CodeRun({ isLocal, payloadStore });
      const disturbed = new CodeRun({ isLocal, payloadStore });
      let calls = 0;
      let segments = 0;
      const count = (call: Parameters<typeof found>[0]): ReturnType<typeof found> => {
        calls += 1;
        return found(call);
      };
      for (const code of codes) {
        await calm.cell(code, count);
        await disturbed.cell(code, found, () => losses[segments++ % losses.length] && forget(disturbed));
      }
      expect(disturbed.outputs.map(visible)).toEqual(calm.outputs.map(visible));
      // Nothing is called again.
      expect(disturbed.outputs.flatMap((output) => (output.type === 'calls' ? output.calls : []))).toHaveLength(calls);
      await Promise.all([forget(calm), forget(disturbed)]);
      expect(calm.executors.alive() + disturbed.executors.alive()).toBe(0);
    }),
    { numRuns: 60 },
  );
});

test('a namespace is lost if a cell behaves differently when it is rerun, and the model is told which names are gone', async () => {
  const run = new CodeRun();
  await run.cell('let a 1\nlet b 2');
  await run.cell('call orders {"id":1}\ncall orders {"id":2}\nsurprise');
  await forget(run);
  run.executors.surprise = 'another';
  const { begun } = run.executors;
  const lost = await run.cell('print a');
  expect(lost).toEqual({
    type: 'ended',
    id: expect.any(String) as string,
    content: [
      'The names and values of earlier cells are lost: an earlier cell did something else when it was run again. This cell was not run. ' +
        'Lost names: moment, a, b, $. Calls that earlier cells have made, which are not undone: orders (2 times). Define again what you need.',
    ],
    isError: true,
    isLost: true,
    durationMs: 0,
  });
  expect(begun()).not.toContain('print a');
  expect(run.executors.alive()).toBe(0);
  expect(await run.cell('print a\nlet a 3')).toMatchObject({ content: ['null'] });
  expect(await run.cell('print a')).toMatchObject({ content: ['3'] });
});

test('the model is told the calls of a cell whose namespace is lost during the cell', async () => {
  const run = new CodeRun();
  let segments = 0;
  const lost = await run.cell('surprise\ncall orders {"id":1}\nprint $', found, async () => {
    segments += 1;
    if (segments === 1) return;
    await forget(run);
    run.executors.surprise = 'another';
  });
  expect(lost).toMatchObject({ isLost: true, isError: true });
  expect(lost.content[0]).toContain(
    'This cell was ended before its end. Calls that this cell and earlier ones have made, which are not undone: orders.',
  );
});

test('an executor that fails to rerun an earlier cell is retried, and then the namespace is lost', async () => {
  const run = new CodeRun({ info: { attempt: 1, retryPolicy: { maximumAttempts: 2 } } });
  await run.cell('let a 1');
  await forget(run);
  run.executors.fault = 'protocol';
  run.begin('print a');
  await expect(run.segment(run.input())).rejects.toMatchObject({ type: 'internal', nonRetryable: false });
  expect(run.executors.alive()).toBe(0);
  const last = new CodeRun();
  await last.cell('let a 1');
  await forget(last);
  last.executors.fault = 'protocol';
  expect(await last.cell('print a')).toMatchObject({ isLost: true, content: [expect.stringContaining('could not be run again')] });
});

test('a rebuild that takes too long is given up, and the namespace is lost', async () => {
  const run = new CodeRun({ info: { startToCloseTimeoutMs: 100 } });
  await run.cell('let a 1');
  await forget(run);
  run.executors.fault = 'hang';
  const lost = await run.cell('print a');
  expect(lost).toMatchObject({ isLost: true, content: [expect.stringContaining('running the earlier cells again took more than 0.05 s')] });
  expect(run.executors.alive()).toBe(0);
});

test('a retry of a segment does not continue in a namespace that an attempt has advanced', async () => {
  const run = new CodeRun();
  run.begin('let a 1\ncall orders {"id":1}\nprint $');
  const first = await run.segment(run.input());
  // The answer is lost: the workflow asks for the same segment again.
  const again = await run.segment(run.input());
  expect(visible(again)).toEqual(visible(first));
  run.record(again, found);
  const ended = await run.segment(run.input());
  expect(visible(await run.segment(run.input()))).toEqual(visible(ended));
  run.record(ended, found);
  expect(run.executors.all).toHaveLength(3);
  expect(run.executors.alive()).toBe(1);
  expect(await run.cell('print $')).toMatchObject({ content: ['[{"id":1,"total":10}]'] });
});

test('a namespace is not used if a different cell ended in it, even if the number of ended cells is the same', async () => {
  const run = new CodeRun();
  run.begin('let a 1');
  await run.segment(run.input());
  // The workflow gives that cell up and begins another, which another worker runs.
  run.journal.cells.pop();
  const other = new CodeRun();
  run.begin('let a 2');
  run.record(await other.segment(run.input()), found);
  expect(await run.cell('print a')).toMatchObject({ content: ['2'] });
});

test('a namespace of one execution is not used in another', async () => {
  const run = new CodeRun();
  await run.cell('let a 1');
  const next = new CodeRun({
    executors: run.executors,
    namespaces: run.environment.runtime.namespaces,
    info: { workflowExecution: { workflowId: 'run-1', runId: 'execution-2' } },
  });
  next.journal.cells.push(...run.journal.cells);
  expect(await next.cell('print a')).toMatchObject({ content: ['1'] });
  expect(run.executors.all).toHaveLength(2);
  expect(run.executors.alive()).toBe(1);
});

test('a checkpoint is taken after cells that took two seconds together, or if the run asks for one', async () => {
  const run = new CodeRun({ payloadStore: await store() });
  expect(await run.cell('let a 1\nspend 1500')).not.toHaveProperty('checkpoint');
  expect(await run.cell('let b 2\nspend 1500')).toHaveProperty('checkpoint');
  expect(run.journal.cells).toEqual([]);
  expect(await run.cell('print a')).not.toHaveProperty('checkpoint');
  run.begin('print b');
  expect(await run.segment(run.input({ checkpoint: true }))).toHaveProperty('checkpoint');
  expect(run.executors.all).toHaveLength(1);
});

test('a worker that restores a checkpoint does not rerun the cells before it', async () => {
  const run = new CodeRun({ payloadStore: await store() });
  await run.cell('let a 1\nspend 2000');
  await run.cell('let b 2');
  await forget(run);
  expect(await run.cell('print a')).toMatchObject({ content: ['1'] });
  expect(run.executors.all.at(-1)?.begun).toEqual(['let b 2', 'print a']);
});

test('a namespace is lost if its checkpoint cannot be read', async () => {
  const run = new CodeRun({ payloadStore: await store() });
  await run.cell('let a 1\nspend 2000');
  await forget(run);
  await rm(folders[0] ?? '', { recursive: true });
  expect(await run.cell('print a')).toMatchObject({ isLost: true, content: [expect.stringContaining('checkpoint could not be restored')] });
});

test('a checkpoint that cannot be stored is logged, and the cell is kept in the journal', async () => {
  const failing: PayloadStore = { ...(await store()), store: () => Promise.reject(new Error('disk full')) };
  const run = new CodeRun({ payloadStore: failing });
  expect(await run.cell('let a 1\nspend 2000')).not.toHaveProperty('checkpoint');
  expect(run.environment.logged).toMatchObject([{ level: 'WARN', meta: { error: 'disk full' } }]);
  await forget(run);
  expect(await run.cell('print a')).toMatchObject({ content: ['1'] });
});
