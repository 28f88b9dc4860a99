import { ModelCallError } from '../../core/domain/errors/error.ts';
import type { ModelCallContext, ModelClient, ModelResponse } from '../../core/domain/model/model.ts';
import type { Fault } from '../faults.ts';
import type { Occurrence } from '../meanwhile.ts';
import type { Harness } from './harness.ts';

/**
 * Returns the model of a test, which records requests, refuses calls as planned, and sends planned messages during a
 * call.
 */
export function harnessModel(harness: Harness, model: ModelClient): ModelClient {
  const refusals = new Map<Fault, number>();
  return {
    capabilities: model.capabilities,
    // A scripted model has no limit: calls that a test lets it refuse must not wait in real time.
    rateLimitKey: (request, context) => model.rateLimitKey?.(request, context),
    call: async (request, context) => {
      const step = harness.step.getStore();
      refuse(harness, refusals, step);
      harness.requests.push(structuredClone(request));
      const due = step === undefined ? [] : harness.plan.takeOccurrences({ step });
      return due.length === 0 ? model.call(request, context) : callWhile(harness, due, () => model.call(request, context), context);
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

/**
 * Returns the answer after the planned messages are sent. A cancellation or an interrupt always ends the call, even
 * if the model has answered: the run may receive it a moment later.
 */
async function callWhile(
  harness: Harness,
  due: readonly Occurrence[],
  call: () => Promise<ModelResponse>,
  { signal }: Pick<ModelCallContext, 'signal'>,
): Promise<ModelResponse> {
  const answer = call();
  // It may be aborted before it is awaited.
  answer.catch(() => undefined);
  for (const occurrence of due) await harness.say(occurrence);
  return due.some(endsCall) ? aborted(signal) : answer;
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
