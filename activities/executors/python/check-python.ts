import { existsSync } from 'node:fs';
import { setTimeout as passed } from 'node:timers/promises';
import { UsageError } from '../../../src/core/domain/errors/error.ts';
import { executionLimits } from '../../../src/core/execution/execution-limits.ts';
import type { ExecutionResult } from '../../../src/core/execution/execution-result.ts';
import type { Program } from '../process/program.ts';
import { ProcessExecutor } from '../process/process-executor.ts';
import { isolationProblem, missingIsolation } from './isolation-problem.ts';
import { MEMORY_PROBE, PROBE_LIMITS, PROBES, REACH_PROBE, REST_MS, REST_PROBE, TIME_PROBE } from './probes.ts';
import { BUBBLEWRAP, PYTHON, sandboxedPython } from './sandbox.ts';

/** The parts of a machine that isolate Python. */
export interface Isolation {
  platform: string;
  bubblewrap: string;
  python: string;
  program: () => Program;
}

const OF_THIS_MACHINE: Isolation = { platform: process.platform, bubblewrap: BUBBLEWRAP, python: PYTHON, program: sandboxedPython };

/** Checks that code in Python is isolated on this machine, by code that goes a little beyond each limit. Throws a UsageError. */
export async function checkPython({ platform, bubblewrap, python, program }: Isolation = OF_THIS_MACHINE): Promise<void> {
  if (platform !== 'linux') {
    throw missingIsolation(
      `bubblewrap is for Linux, and this is ${platform}`,
      'run the worker on Linux, or use quickjs() or custom({...})',
    );
  }
  if (!existsSync(bubblewrap)) {
    throw missingIsolation(`bubblewrap is not installed, there is no ${bubblewrap}`, 'install it: apt-get install bubblewrap');
  }
  if (!existsSync(python)) throw missingIsolation(`there is no ${python}`, 'install it: apt-get install python3');
  const { error, finalValue } = await probed(program, [REACH_PROBE]);
  if (error !== null) throw isolationProblem(error.message);
  for (const [name, { expected, problem }] of Object.entries(PROBES)) {
    const found = (finalValue as Record<string, unknown> | null)?.[name];
    if (found !== expected) throw limitProblem(problem);
  }
  const kinds = [
    { code: MEMORY_PROBE, kind: 'memory', problem: 'code could take more memory than its limit' },
    { code: TIME_PROBE, kind: 'timeout', problem: 'code could take more time than its limit' },
  ];
  for (const { code, kind, problem } of kinds) {
    const result = await probed(program, [code]);
    if (result.error?.kind !== kind) throw limitProblem(problem);
  }
  const rested = await probed(program, [REST_PROBE, '']);
  if (typeof rested.finalValue !== 'number' || rested.finalValue < REST_MS / 2) throw limitProblem('code could go on after its end');
}

function limitProblem(problem: string): UsageError {
  return missingIsolation(problem, 'use a kernel on which limits hold, or custom({...})');
}

/** Runs cells one after the other, with a pause between them, and returns the last result. */
async function probed(program: () => Program, [first = '', ...others]: readonly string[]): Promise<ExecutionResult> {
  const limits = executionLimits(PROBE_LIMITS);
  const executor = new ProcessExecutor(program, { language: 'python', limits, allowedImports: ['os'] }, { tools: [], scratchpad: false });
  try {
    let result = await executor.run(first, { now: 0, seed: 0 });
    for (const cell of others) {
      await passed(REST_MS);
      result = await executor.run(cell, { now: 0, seed: 0 });
    }
    return result;
  } catch (error) {
    throw error instanceof UsageError ? error : isolationProblem(String(error));
  } finally {
    await executor.close();
  }
}
