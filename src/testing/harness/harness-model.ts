import { ModelCallError } from '../../core/domain/errors/error.ts';
import type { ModelCallContext, ModelClient, ModelResponse } from '../../core/domain/model/model.ts';
import type { Fault } from '../faults.ts';
import type { Occurrence } from '../meanwhile.ts';
import type { Harness } from './harness.ts';

/** The model of a test: keeps what it is asked, refuses calls as the test says, and lets people speak while it thinks. */
export function harnessModel(stage: Harness, model: ModelClient): ModelClient {
  const refusals = new Map<Fault, number>();
  return {
    capabilities: model.capabilities,
    call: async (request, context) => {
      const step = stage.step.getStore();
      refuse(stage, refusals, step);
      stage.requests.push(structuredClone(request));
      const said = step === undefined ? [] : stage.plan.takeOccurrences({ step });
      return said.length === 0 ? model.call(request, context) : callWhile(stage, said, () => model.call(request, context), context);
    },
  };
}

function refuse({ plan }: Harness, refusals: Map<Fault, number>, step: number | undefined): void {
  for (const fault of plan.of('rate_limit')) {
    const before = refusals.get(fault) ?? 0;
    if (before >= fault.times || (fault.step !== undefined && (step ?? 0) < fault.step)) continue;
    refusals.set(fault, before + 1);
    if (before + 1 === fault.times) plan.happened(fault);
    const { retryAfterMs } = fault;
    throw new ModelCallError('model_rate_limited', 'The provider of this test limits the rate (429)', { retryAfterMs });
  }
}

/** The answer, once everybody has spoken. What ends a call ends this one, whatever the model says: the run may hear of it a moment later. */
async function callWhile(
  stage: Harness,
  said: readonly Occurrence[],
  call: () => Promise<ModelResponse>,
  { signal }: Pick<ModelCallContext, 'signal'>,
): Promise<ModelResponse> {
  const answer = call();
  // It may be aborted before anybody waits for it.
  answer.catch(() => undefined);
  for (const one of said) await stage.say(one);
  return said.some(endsCall) ? aborted(signal) : answer;
}

function endsCall(one: Occurrence): boolean {
  return one.type === 'cancel' || (one.type === 'send' && one.mode === 'interrupt');
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}
