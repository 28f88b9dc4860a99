import { runInput } from '../../client/start/run-input.ts';
import type { AnyAgent } from '../../define/agent-definition.ts';
import { UsageError } from '../../core/domain/errors/error.ts';
import { RunResult } from '../../core/domain/run/run-result.ts';
import { checkRunId } from '../../temporal/run-id.ts';
import { effectsLedger } from '../effects-ledger.ts';
import { faultText } from '../faults.ts';
import { assertPlayed } from '../harness/assert-played.ts';
import { Harness } from '../harness/harness.ts';
import { withinTime } from '../harness/within-time.ts';
import { workerParts } from '../harness/worker-parts.ts';
import type { TestedRun, TestOptions } from '../tested-run.ts';
import { MemoryWorld } from './memory-world.ts';

/** Runs an agent in memory, with everything around it that the test says. */
export async function runInMemory(agent: AnyAgent, options: TestOptions): Promise<TestedRun<unknown>> {
  const { model: _, ...start } = options;
  const input = runInput(agent, start);
  if (options.runId !== undefined) checkRunId(options.runId);
  const ledger = options.ledger ?? effectsLedger();
  const stage = new Harness(agent, options);
  const [cut] = stage.plan.of('disconnect');
  if (cut !== undefined) throw new UsageError(`${faultText(cut)}: a run in memory has no server to be cut off from: use durableTest`);
  const worker = workerParts(stage, agent, options, ledger);
  const world = await MemoryWorld.open(stage, { input, worker, decide: options.decide });
  try {
    const fields = await withinTime(options.timeout ?? '30s', [world.execute(), stage.failure]);
    const record = world.record();
    const result = new RunResult<unknown>({ ...fields, steps: [...record.steps] });
    assertPlayed(stage, options.model, fields);
    return { ...record, result, ledger };
  } finally {
    await world.close();
  }
}
