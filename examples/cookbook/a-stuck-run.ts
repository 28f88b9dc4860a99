// A run does not move: this says what it waits for, in a sentence, and what to do. It changes nothing.
import type { LonghaulClient, WaitForWorker } from 'longhaul/client';

/** What a run waits for. */
export interface Diagnosis {
  waitsFor: string;
  next: string;
}

export async function diagnose(client: LonghaulClient, runId: string): Promise<Diagnosis> {
  const run = await client.handle(runId).status();
  const { status, agentName, missing = [], waitingFor, waitingChildren = [], postponed = [], running = [], children = [], limits } = run;

  const [lacking] = missing;
  if (lacking !== undefined) {
    const { kind, name, known, until } = lacking;
    const has = known.length === 0 ? 'none' : known.join(', ');
    return { waitsFor: `a worker with ${kind} "${name}"`, next: `Deploy it by ${until}: the last worker has ${has}` };
  }
  if (run.waitsForWorker !== undefined) return workerOf(run.waitsForWorker);
  if (waitingFor.length > 0) return { waitsFor: `a decision on ${waitingFor.join(', ')}`, next: `longhaul approvals ${runId}` };
  if (waitingChildren.length > 0) return { waitsFor: `a decision in ${waitingChildren.join(', ')}`, next: `longhaul approvals ${runId}` };
  if (status === 'paused') return { waitsFor: 'someone to resume it', next: `longhaul resume ${runId}` };
  if (status === 'idle') return { waitsFor: 'the next message of its session', next: `longhaul chat ${agentName} --session ${runId}` };
  const [call] = postponed;
  if (call !== undefined) return { waitsFor: `${call.until}: ${call.reason}`, next: 'Nothing: it continues by itself' };
  for (const { name, attempt, lastFailure, refused, waitsForBatch } of running) {
    if (waitsForBatch !== undefined) return { waitsFor: `a batch of ${waitsForBatch.collector}`, next: 'Nothing: it continues by itself' };
    if (refused !== undefined) {
      const waitsFor = `the provider, which has refused ${name} ${refused.times} times: ${lastFailure ?? refused.code}`;
      return { waitsFor, next: `Nothing if the provider recovers by ${refused.givesUpAt}; then the call fails` };
    }
    if (lastFailure !== undefined)
      return { waitsFor: `attempt ${attempt} of ${name}, after: ${lastFailure}`, next: 'Mend the cause: it is tried again by itself' };
  }
  if (children.length > 0) return { waitsFor: `its children ${children.join(', ')}`, next: `longhaul tree ${runId}` };
  const seconds = limits?.deadlineMs === undefined ? undefined : (Date.parse(run.startTime) + limits.deadlineMs - Date.now()) / 1000;
  const ends = seconds === undefined ? 'It has no deadline' : `Its deadline is in ${Math.round(seconds)} s`;
  if (running.length > 0) return { waitsFor: running.map(({ name }) => name).join(', '), next: `${ends}: wait, or cancel it` };
  if (status === 'running') return { waitsFor: 'nothing: it is between two calls', next: 'Ask again in a moment' };
  return { waitsFor: `nothing: it has ended (${status})`, next: `longhaul show ${runId}` };
}

/** What is wrong with the workers of a task queue. */
function workerOf({ why, taskQueue, workers, builds = [], build = 'that is current', lastPollAt, backlog = 1 }: WaitForWorker): Diagnosis {
  const waits: Record<WaitForWorker['why'], [waitsFor: string, next: string]> = {
    no_worker: [`a worker: none polls task queue "${taskQueue}"`, 'Start one on it: the run continues where it was'],
    no_build: [`a worker with build "${build}": the workers have ${builds.join(', ')}`, 'Start one, or make a build current'],
    busy: [`one of ${workers} workers: ${backlog} tasks wait, the last worker polled at ${lastPollAt}`, 'Start more workers'],
    failing: ['its workflow task, which fails each time', 'Read the failure in the Temporal UI; test the code with longhaul replay'],
  };
  return { waitsFor: waits[why][0], next: waits[why][1] };
}
