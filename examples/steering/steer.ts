// Steers a run while it runs.
import type { LonghaulClient } from 'longhaul/client';

export async function narrow(client: LonghaulClient, runId: string): Promise<string> {
  const handle = client.handle(runId);
  await handle.send('Only this year, please'); // the model reads it after the current step
  await handle.send('Skip the appendix', { mode: 'steer' }); // before its next call: waiting calls are abandoned
  await handle.pause(); // nothing new begins after the current step; a paused run costs nothing
  await handle.resume();
  await handle.raise({ totalTokens: 100_000 });
  await handle.send('Stop: start over with 2026', { mode: 'interrupt' }); // now: the model call in flight is aborted
  const result = await handle.result();
  return result.summary();
}
