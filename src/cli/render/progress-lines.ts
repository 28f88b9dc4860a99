import { setTimeout as delay } from 'node:timers/promises';
import type { RunHandle } from '../../client/run-handle.ts';
import { ACTIVITIES, type RunningCall } from '../../core/protocol.ts';
import { printable } from '../../core/domain/content/printable.ts';
import type { Output } from '../output.ts';

/** How often a run is asked for the progress of its calls, in milliseconds. */
const EVERY_MS = 1_000;

/** Says what calls do that never tell progress. */
const WITHOUT_PROGRESS: Partial<Record<string, string>> = {
  [ACTIVITIES.archiveEvents]: 'hands events to the archive',
  [ACTIVITIES.notifyWaiting]: 'tells that a decision is waited for',
  [ACTIVITIES.notifyEnded]: 'tells that the run has ended',
};

/** `deploy  3 of 5 hosts`, and the attempt where it is not the first. */
export function progressText({ name, attempt, progress }: RunningCall): string {
  const said =
    progress === undefined
      ? (WITHOUT_PROGRESS[name] ?? 'no progress told')
      : typeof progress === 'string'
        ? progress
        : JSON.stringify(progress);
  return printable(`${name} … ${said}${attempt > 1 ? ` (attempt ${attempt})` : ''}`);
}

/** A call that is going on, and why the attempt before failed. */
export function runningLines(call: RunningCall): string[] {
  return [progressText(call), ...(call.lastFailure === undefined ? [] : [printable(`the attempt before failed: ${call.lastFailure}`)])];
}

/** A run, as far as its progress is asked for. */
type Progressing = Pick<RunHandle<unknown>, 'status'>;

/** Prints the progress that calls of a run tell, each time it has changed, until the signal is aborted. Never rejects. */
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

/** Progress is worth no error: what goes wrong here shows in the events. */
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
