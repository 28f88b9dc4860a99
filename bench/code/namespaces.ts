import { createAgentExecutor } from '../../activities/executors/create-executor.ts';
import type { CodeCallResult, Executor, Segment } from '../../src/core/domain/execution.ts';
import { quickjs } from '../../src/define/code.ts';
import { median, rounded } from '../figures/statistics.ts';
import { TOOL_NAME } from '../script/scripted-run.ts';
import { uniqueText } from '../script/unique-text.ts';
import { codeOfStep } from './coding-model.ts';

/** The number of executors measured for the median and the memory. */
const EXECUTORS = 20;

const MOMENT = { now: 1_700_000_000_000, seed: 7 };

/** The time and the size of executors, apart from any run. */
export interface NamespaceFigures {
  /** Milliseconds of the first cell of a new executor. */
  msColdP50: number;
  /** Milliseconds until a new executor has run all cells of a run again, with recorded results. */
  msRebuild: number;
  rssPerNamespaceMb: number;
  checkpointBytes: number;
}

/** Measures new executors, and one that runs `steps` cells of `calls` calls with results of `resultChars` characters. */
export async function measureNamespaces(steps: number, calls: number, resultChars: number): Promise<NamespaceFigures> {
  await (await started()).close();
  const cold: number[] = [];
  const executors: Executor[] = [];
  const before = process.memoryUsage.rss();
  for (let index = 0; index < EXECUTORS; index += 1) {
    const begun = performance.now();
    const executor = await started();
    cold.push(performance.now() - begun);
    executors.push(executor);
  }
  const rss = process.memoryUsage.rss() - before;
  await Promise.all(executors.map((executor) => executor.close()));
  const begun = performance.now();
  const rebuilt = await started();
  for (let step = 0; step < steps; step += 1) await runStep(rebuilt, step, calls, resultChars);
  const msRebuild = performance.now() - begun;
  const checkpoint = await rebuilt.checkpoint?.();
  await rebuilt.close();
  return {
    msColdP50: rounded(median(cold), 1),
    msRebuild: rounded(msRebuild, 1),
    rssPerNamespaceMb: rounded(rss / EXECUTORS / 1_048_576, 2),
    checkpointBytes: checkpoint?.byteLength ?? 0,
  };
}

async function started(): Promise<Executor> {
  const tools = [{ name: TOOL_NAME, parameters: ['page'] }];
  const executor = await createAgentExecutor(quickjs({ limits: { timeoutSeconds: 10, maxMemoryMb: 64 } }), { tools, scratchpad: false });
  const { result } = ended(await executor.begin('const ready = true;', MOMENT));
  if (!result.success) throw new Error(`The first cell failed: ${result.error?.message}`);
  return executor;
}

async function runStep(executor: Executor, step: number, calls: number, resultChars: number): Promise<void> {
  let segment = await executor.begin(codeOfStep(step, { way: 'sequence', calls }), MOMENT);
  while (segment.type === 'calls') {
    const results = segment.calls.map((call): CodeCallResult => ({ value: uniqueText(Number(call.arguments['page']), resultChars) }));
    segment = await executor.resume(results);
  }
  if (segment.result.output !== String(calls * resultChars)) throw new Error(`Step ${step} printed "${segment.result.output}"`);
}

function ended(segment: Segment): Extract<Segment, { type: 'ended' }> {
  if (segment.type === 'ended') return segment;
  throw new Error('The cell waits for calls');
}
