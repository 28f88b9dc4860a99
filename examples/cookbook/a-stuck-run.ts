// A run does not move: this says what it waits for, in a sentence, and what to do. It changes nothing.
import type { LonghaulClient } from 'longhaul/client';

/** What a run waits for. */
export interface Diagnosis {
  waitsFor: string;
  next: string;
}

export async function diagnose(client: LonghaulClient, runId: string, noWorkerAfterMs = 5_000): Promise<Diagnosis> {
  const run = client.handle(runId);
  const read = await Promise.race([
    run.status().catch((error: unknown) => ({ unread: error instanceof Error ? error.message : String(error) })),
    new Promise<{ unread: string }>((resolve) => setTimeout(resolve, noWorkerAfterMs, { unread: 'No worker answers' })),
  ]);
  if ('unread' in read) return { waitsFor: read.unread, next: 'Start a worker on its task queue: the run continues where it was' };
  const { status, agentName, missing = [], waitingFor, postponed = [], running = [], children = [], lastError } = read;

  const [lacking] = missing;
  if (lacking !== undefined) {
    const { kind, name, known, until } = lacking;
    return { waitsFor: `a worker with ${kind} "${name}"`, next: `The last one has ${known.join(', ')}. Deploy it by ${until}` };
  }
  if (waitingFor.length > 0) return { waitsFor: `a decision on ${waitingFor.join(', ')}`, next: `longhaul approvals ${runId}` };
  if (status === 'paused') return { waitsFor: 'someone to resume it', next: `longhaul resume ${runId}` };
  if (status === 'idle') return { waitsFor: 'the next message of its session', next: `longhaul chat ${agentName} --session ${runId}` };
  const [call] = postponed;
  if (call !== undefined) return { waitsFor: `${call.until}: ${call.reason}`, next: 'Nothing: it continues by itself' };
  const failing = running.find(({ lastFailure }) => lastFailure !== undefined);
  if (failing !== undefined) {
    const { name, attempt, lastFailure } = failing;
    return { waitsFor: `attempt ${attempt} of ${name}, after: ${lastFailure}`, next: 'Mend the cause: it is tried again by itself' };
  }
  if (children.length > 0) return { waitsFor: `its children ${children.join(', ')}`, next: `longhaul tree ${runId}` };
  if (running.length > 0) return { waitsFor: running.map(({ name }) => name).join(', '), next: 'Wait, or longhaul cancel' };
  return { waitsFor: status === 'running' ? 'its next workflow task' : `nothing: ${status}`, next: lastError ?? `longhaul show ${runId}` };
}
