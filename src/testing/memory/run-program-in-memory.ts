import { programInput } from '../../client/start/start-program.ts';
import { ProgramResult } from '../../core/domain/result.ts';
import { traceOf } from '../../core/program/trace.ts';
import type { AnyProgram } from '../../define/program/program-definition.ts';
import { checkRunId } from '../../temporal/run-id.ts';
import { effectsLedger } from '../effects-ledger.ts';
import { assertPlanCarriedOut } from '../harness/assert-plan.ts';
import { Harness } from '../harness/harness.ts';
import { programParts, programStart } from '../harness/program-parts.ts';
import { withinTime } from '../harness/within-time.ts';
import type { ProgramTestOptions, TestedProgram } from '../tested-program.ts';
import { MemoryEnvironment } from './memory-environment.ts';

/** Runs a program in memory with everything that the test plans. */
export async function runProgramInMemory(program: AnyProgram, options: ProgramTestOptions): Promise<TestedProgram<unknown>> {
  const input = programInput(program, programStart(options));
  if (options.runId !== undefined) checkRunId(options.runId);
  const ledger = options.ledger ?? effectsLedger();
  const harness = new Harness(program, options);
  const worker = programParts(harness, program, options, ledger);
  const environment = await MemoryEnvironment.open(harness, { start: { type: 'program', input }, worker, decide: options.decide });
  try {
    const fields = await withinTime(options.timeout ?? '30s', [environment.execute(), harness.failure]);
    const { steps: _, ...record } = environment.record();
    const result = new ProgramResult<unknown>(fields);
    assertPlanCarriedOut(harness, options.model, fields);
    return { ...record, result, trace: traceOf(program.document, record.events), ledger };
  } finally {
    await environment.close();
  }
}
