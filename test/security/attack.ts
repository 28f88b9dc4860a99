import { isDeepStrictEqual } from 'node:util';
import { pythonExecutor } from '../../activities/executors/python/python-executor.ts';
import { quickjsExecutor } from '../../activities/executors/quickjs/quickjs-executor.ts';
import type { CodeCall, ExecutionResult, Executor } from '../../src/core/domain/execution.ts';
import type { Attempt } from './attempts/attempt.ts';
import type { Canaries } from './canaries.ts';
import { callProblems, runWithTools, TOOLS } from './tools.ts';
import { wakingCodeProblems } from './waking-code.ts';

/** Milliseconds that a run may take longer than its limit, and megabytes that the process may grow more than its limit. */
const TOLERATED = { overLimitMs: 1_000, growthMb: 64 } as const;

/** Megabytes that the interpreter of Python takes itself. */
const OWN_MB = 24;

const MOMENT = { now: 0, seed: 1 };
const SAMPLE_MS = 20;

/** The outcome of one attempt. */
export interface Outcome {
  /** Canaries that are dead. */
  escapes: string[];
  /** Everything else that should have been otherwise. */
  problems: string[];
  overLimitMs: number;
  growthMb: number;
  /** How the last cell ended. */
  ended: string;
}

/** Runs an attempt in a separate executor, and checks what is left. */
export async function attack(attempt: Attempt, canaries: Canaries): Promise<Outcome> {
  const make = attempt.language === 'python' ? pythonExecutor : quickjsExecutor;
  const executor = make(
    { limits: attempt.limits, allowedImports: attempt.hasTools === true ? ['math'] : [] },
    { tools: attempt.hasTools === true ? TOOLS : [], scratchpad: attempt.hasTools === true },
  );
  try {
    await executor.run('0', MOMENT);
    executor.inject('bait', canaries.bait);
    const { results, calls, overLimitMs, growthMb } = await measured(executor, attempt);
    return {
      escapes: await canaries.problems(results),
      problems: [
        ...unmet(attempt, results.at(-1)),
        ...callProblems(calls),
        ...unexpected(attempt, calls),
        ...(attempt.language === 'python' ? [...impossibleFigures(attempt, results), ...(await wakingCodeProblems())] : []),
      ],
      overLimitMs,
      growthMb,
      ended: endOf(results.at(-1)),
    };
  } finally {
    await executor.close();
  }
}

/** The limits that an outcome has broken. */
export function broken({ limits }: Attempt, { overLimitMs, growthMb }: Outcome): string[] {
  return [
    ...(overLimitMs > TOLERATED.overLimitMs ? [`it took ${Math.round(overLimitMs)} ms longer than its limit`] : []),
    ...(growthMb > limits.maxMemoryMb + TOLERATED.growthMb ? [`the process grew by ${Math.round(growthMb)} MB`] : []),
  ];
}

async function measured(
  executor: Executor,
  { cells, limits, hasTools }: Attempt,
): Promise<{ results: ExecutionResult[]; calls: CodeCall[]; overLimitMs: number; growthMb: number }> {
  const before = process.memoryUsage.rss();
  let most = before;
  const sample = (): void => {
    most = Math.max(most, process.memoryUsage.rss());
  };
  const sampler = setInterval(sample, SAMPLE_MS);
  const results: ExecutionResult[] = [];
  const calls: CodeCall[] = [];
  let overLimitMs = 0;
  for (const cell of cells) {
    const began = performance.now();
    const ran = hasTools === true ? await runWithTools(executor, cell, MOMENT) : { result: await executor.run(cell, MOMENT), calls: [] };
    results.push(ran.result);
    calls.push(...ran.calls);
    overLimitMs = Math.max(overLimitMs, performance.now() - began - limits.timeoutSeconds * 1_000);
  }
  sample();
  clearInterval(sampler);
  return { results, calls, overLimitMs, growthMb: (most - before) / 1_048_576 };
}

function unmet({ ends, answer, output }: Attempt, result: ExecutionResult | undefined): string[] {
  const ended = endOf(result);
  const isExpected = ends === undefined ? ended !== 'protocol' : ends.some((one) => one === ended);
  return [
    ...(isExpected ? [] : [`it ended with ${ended}: ${result?.error?.message ?? ''}`]),
    ...(answer === undefined || isDeepStrictEqual(result?.finalValue, answer)
      ? []
      : [`its answer is ${JSON.stringify(result?.finalValue)}`]),
    ...(output === undefined || result?.isFinal === false ? [] : ['it is final']),
    ...(output === undefined || result?.output === output ? [] : [`its output is ${JSON.stringify(result?.output)}`]),
    ...((result?.output.length ?? 0) <= 70_000 ? [] : ['its output was not cut']),
  ];
}

/** An interpreter takes some megabytes, but at most its limit. */
function impossibleFigures({ limits }: Attempt, results: readonly ExecutionResult[]): string[] {
  return results
    .filter(({ success, memoryUsedBytes: used }) => success && (used < 2 ** 20 || used > (limits.maxMemoryMb + OWN_MB) * 2 ** 20))
    .map(({ memoryUsedBytes }) => `it claims to have taken ${memoryUsedBytes} bytes`);
}

function unexpected({ calls: expected }: Attempt, calls: readonly CodeCall[]): string[] {
  const made = calls.map((call) => [call.tool, call.arguments]);
  return expected === undefined || isDeepStrictEqual(made, expected) ? [] : [`its calls are ${JSON.stringify(made).slice(0, 500)}`];
}

function endOf(result: ExecutionResult | undefined): string {
  return result?.success === true ? 'success' : (result?.error?.kind ?? 'nothing');
}
