import type { SpilledContent } from '../../src/core/domain/content/content.ts';
import type { StoreOutputsInput, StoreOutputsOutput } from '../../src/core/domain/program/messages.ts';
import { runAttempt } from '../attempts/attempt.ts';
import { failingAs } from '../failures/failure.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** Creates the activity that moves outputs of a program to the payload store. Storing an output a second time changes nothing. */
export function storeOutputsActivity(runtime: ActivityRuntime): (input: StoreOutputsInput) => Promise<StoreOutputsOutput> {
  const { aborts, heartbeatMs } = runtime;
  return failingAs('payload_store_failed', (input) => runAttempt(aborts, { heartbeatMs }, () => storeOutputs(runtime, input)));
}

async function storeOutputs({ stepValues }: ActivityRuntime, input: StoreOutputsInput): Promise<StoreOutputsOutput> {
  const stored: Record<string, SpilledContent> = {};
  for (const [address, value] of await stepValues.outputs(input)) {
    stored[address] = await stepValues.store.put(input.outputs[address] ?? '', value);
  }
  return { stored };
}
