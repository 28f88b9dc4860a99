import { setTimeout as delay } from 'node:timers/promises';
import type { RunHandle } from '../../client/run-handle.ts';
import { ACTIVITIES, type RefusedCall, type RunningCall } from '../../core/protocol.ts';
import { printable } from '../../core/domain/text.ts';
import type { Output } from '../output.ts';

/** The interval between queries for the progress of a run's calls, in milliseconds. */
const EVERY_MS = 1_000;

/** The texts for calls that never report progress. */
const WITHOUT_PROGRESS: Partial<Record<string, string>> = {
  [ACTIVITIES.summarise]: 'summarises the conversation',
  [ACTIVITIES.askStep]: 'a step asks the model',
  [ACTIVITIES.useMemory]: 'a step uses the memory',
  [ACTIVITIES.storeOutputs]: 'stores large outputs of steps',
  [ACTIVITIES.loadOutput]: 'loads a large output of a step',
  [ACTIVITIES.archiveEvents]: 'sends events to the archive',
  [ACTIVITIES.notifyWaiting]: 'sends the notice of a pending decision',
  [ACTIVITIES.notifyEnded]: 'sends the notice that the run has ended',
};

/**
 * Returns the progress of a call, such as `deploy … 3 of 5 hosts`, with the number of the attempt if it is not the
 * first.
 */
export function progressText({ name, attempt, progress }: RunningCall): string {
  const text =
    progress === undefined
      ? (WITHOUT_PROGRESS[name] ?? 'no progress reported')
      : typeof progress === 'string'
        ? progress
        : JSON.stringify(progress);
  return printable(`${name} … ${text}${attempt > 1 ? ` (attempt ${attempt})` : ''}`);
}

/** Returns the lines for a running call, with the failure of the attempt before. */
export function runningLines(call: RunningCall): string[] {
  const { lastFailure, refused } = call;
  return [
    progressText(call),
    ...(lastFailure === undefined ? [] : [printable(`the attempt before failed: ${lastFailure}`)]),
    ...(refused === undefined ? [] : [printable(refusedText(refused))]),
  ];
}

function refusedText({ code, times, nextAttemptAt, givesUpAt }: RefusedCall): string {
  const next = nextAttemptAt === undefined ? '' : `tried again at ${nextAttemptAt}, `;
  return `refused by the provider ${times === 1 ? 'once' : `${times} times`} (${code}): ${next}given up at ${givesUpAt}`;
}

/** The part of a run handle that reports progress. */
type Progressing = Pick<RunHandle<unknown>, 'status'>;

/** Prints the progress that calls of a run report, each time it changes, until the signal is aborted. Never rejects. */
export async function followProgress(run: Progressing, output: Output, signal: AbortSignal, everyMs = EVERY_MS): Promise<void> {
  let shown = '';
  while (!signal.aborted) {
    const running = await callsWithProgress(run);
    const now = JSON.stringify(running);
    if (now !== shown && !signal.aborted) for (const call of running) print(call, output);
    shown = now;
    await delay(everyMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Returns the running calls with progress. A failed query is ignored: the events of the run will show the problem. */
async function callsWithProgress(run: Progressing): Promise<RunningCall[]> {
  try {
    const { running = [] } = await run.status();
    return running.filter(({ progress }) => progress !== undefined);
  } catch {
    return [];
  }
}

function print(call: RunningCall, output: Output): void {
  if (output.json) output.printJson({ progress: call });
  else output.print(output.look('dim', `         ${progressText(call)}`));
}
