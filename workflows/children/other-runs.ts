import { getExternalWorkflowHandle } from '@temporalio/workflow';

/** Sends a signal to another run. Returns false if that has ended. */
export async function signalRun<Input>(runId: string, name: string, input: Input): Promise<boolean> {
  try {
    await getExternalWorkflowHandle(runId).signal<[Input]>(name, input);
    return true;
  } catch {
    return false;
  }
}

/** Cancels another run, unless it has ended. */
export async function cancelRun(runId: string): Promise<void> {
  try {
    await getExternalWorkflowHandle(runId).cancel();
  } catch {
    // It has ended.
  }
}
