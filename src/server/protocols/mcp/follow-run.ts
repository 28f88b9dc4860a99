import type { RunHandle } from '../../../client/run-handle.ts';
import type { StreamedResult } from '../../../client/stream/stream-item.ts';
import type { RunStatus } from '../../../core/domain/run/status.ts';
import type { McpSettings } from './mcp-options.ts';
import { namesText, progressText } from './progress-text.ts';

/** The part of a run's handle that a call follows. */
export type FollowedRun = Pick<RunHandle<unknown>, 'runId' | 'stream' | 'approvals'>;

/**
 * The outcome of the wait of a call: the end of its run, or the state in which the run goes on without it. `lastFinish`: the reason for
 * which the model ended its last answer.
 */
export type Followed =
  | { type: 'ended'; result: StreamedResult; lastFinish: string | undefined }
  | { type: 'goes_on'; status: RunStatus; waitsFor?: string };

/** The options of following a run. */
export interface FollowOptions {
  settings: McpSettings;
  /** Ends the wait: the caller has gone, its credentials have expired, or the service is about to end. */
  signal: AbortSignal;
  progress: (message: string) => void;
}

/** Waits for the end of a run within the bounds of a call. The run is left alone, however the wait ends. Throws the errors of reading it. */
export async function followRun(run: FollowedRun, { settings, signal, progress }: FollowOptions): Promise<Followed> {
  const late = new AbortController();
  const stop = (): void => late.abort();
  const timer = setTimeout(stop, settings.maxWaitMs);
  let decisionTimer: NodeJS.Timeout | undefined;
  let lastFinish: string | undefined;
  let state: { status: RunStatus; waitsFor?: string } = { status: 'running' };
  const waiting = AbortSignal.any([signal, late.signal]);
  try {
    for await (const item of run.stream({ signal: waiting })) {
      if (item.type === 'end') return { type: 'ended', result: item.result, lastFinish };
      if (item.type === 'step') lastFinish = item.step.finishReason;
      const text = progressText(item);
      if (item.type === 'status' && item.status === 'pending_confirmation') {
        decisionTimer ??= setTimeout(stop, settings.maxDecisionWaitMs);
        state = { status: item.status, waitsFor: await pendingCalls(run) };
        progress(state.waitsFor === '' ? `${text}` : `${text} about ${state.waitsFor}`);
        continue;
      }
      if (item.type === 'status') {
        clearTimeout(decisionTimer);
        decisionTimer = undefined;
        state = { status: item.status };
      }
      if (text !== undefined) progress(text);
    }
  } catch (error) {
    if (!waiting.aborted) throw error;
  } finally {
    clearTimeout(timer);
    clearTimeout(decisionTimer);
  }
  return { type: 'goes_on', ...state };
}

/** Returns the names of the calls that wait. The decision does not depend on them, so a worker that does not answer is no error. */
async function pendingCalls(run: FollowedRun): Promise<string> {
  try {
    return namesText((await run.approvals()).pending.map(({ toolName }) => toolName));
  } catch {
    return '';
  }
}
