import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import type { RunSegmentInput } from '../../src/core/domain/code/segment-messages.ts';
import type { Attempt } from '../attempts/attempt.ts';
import type { ActivityRuntime } from '../runtime.ts';
import type { Namespace } from './namespace.ts';

/** One attempt of a segment. */
export interface SegmentWork {
  runtime: ActivityRuntime;
  input: RunSegmentInput;
  snapshot: AgentSnapshot;
  attempt: Attempt;
}

/**
 * Works with a namespace, which is ended when the attempt is aborted, or if the work fails: an attempt that has no answer leaves none
 * behind.
 */
export async function withNamespace<Result>({ signal }: Attempt, namespace: Namespace, work: () => Promise<Result>): Promise<Result> {
  const kill = (): void => void namespace.kill();
  signal.addEventListener('abort', kill, { once: true });
  try {
    signal.throwIfAborted();
    const result = await work();
    signal.throwIfAborted();
    return result;
  } catch (error) {
    await namespace.kill();
    // An executor that was ended from outside fails in ways that say nothing.
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', kill);
  }
}
