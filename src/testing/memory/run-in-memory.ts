import { runInput } from '../../client/start/input.ts';
import type { AnyAgent } from '../../define/agent-definition.ts';
import { UsageError } from '../../core/domain/errors.ts';
import { agentTrace } from '../../core/domain/agent-trace.ts';
import { RunResult } from '../../core/domain/result.ts';
import { checkRunId } from '../../temporal/run-id.ts';
import { effectsLedger } from '../effects-ledger.ts';
import { faultText } from '../faults.ts';
import { assertPlanCarriedOut } from '../harness/assert-plan.ts';
import { Harness } from '../harness/harness.ts';
import { withinTime } from '../harness/within-time.ts';
import { workerParts } from '../harness/worker-parts.ts';
import type { TestedRun, TestOptions } from '../tested-run.ts';
import { MemoryEnvironment } from './memory-environment.ts';

/** Runs an agent in memory with everything that the test plans. */
export async function runInMemory(agent: AnyAgent, options: TestOptions): Promise<TestedRun<unknown>> {
  const { model: _, ...start } = options;
  const input = runInput(agent, start);
  if (options.runId !== undefined) checkRunId(options.runId);
  const ledger = options.ledger ?? effectsLedger();
  const harness = new Harness(agent, options);
  const [cut] = harness.plan.of('disconnect');
  if (cut !== undefined) throw new UsageError(`${faultText(cut)}: a run in memory has no connection to a server: use durableTest`);
  const worker = workerParts(harness, agent, options, ledger);
  const environment = await MemoryEnvironment.open(harness, { start: { type: 'input', input }, worker, decide: options.decide });
  try {
    const fields = await withinTime(options.timeout ?? '30s', [environment.execute(), harness.failure]);
    const record = environment.record();
    const result = new RunResult<unknown>({ ...fields, steps: [...record.steps] });
    assertPlanCarriedOut(harness, options.model, fields);
    return { ...record, result, trace: agentTrace(environment.traceHeader(), record), ledger };
  } finally {
    await environment.close();
  }
}
