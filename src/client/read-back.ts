import { randomUUID } from 'node:crypto';
import { modelFailure, modelOutcome, toolFailure, toolOutcome } from '../activity-outcome.ts';
import type { RunResultFields } from '../domain/run-result.ts';
import type { ModelCall, ModelCallOutcome, RunPorts, ToolInvocation, ToolOutcome } from '../loop/ports.ts';
import { runLoop } from '../loop/run-loop.ts';
import { newRunState, type RunState } from '../loop/run-state.ts';
import { QUIET_PORTS } from '../loop/quiet-ports.ts';
import type { RecordedRun } from './recorded-run.ts';

/** What a run's history says when the loop is run over it again. */
export interface ReadBackRun {
  /** As the input names it; empty where the input does not. */
  agentName: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** Undefined where the agent was never resolved. */
  state?: RunState;
  /** Undefined where the run has not come to its end. */
  result?: RunResultFields;
}

/**
 * Runs the loop over what was recorded, with every answer taken from history: events, steps and result are those
 * of the run, and no worker is needed. Ids of events that only the workflow knew are taken from the model calls
 * that named them, and made up where none did.
 */
export async function readBack(runId: string, recorded: RecordedRun): Promise<ReadBackRun> {
  const { input, snapshot, startedAt } = recorded;
  const known = { agentName: typeof input?.agent === 'string' ? input.agent : '', startedAt };
  if (input === undefined || snapshot === undefined) return known;
  const ports = new RecordedPorts(recorded);
  const state = newRunState({ runId, snapshot, input: input.input, startedAt }, ports);
  ports.state = state;
  try {
    const end = await runLoop(state, { ...QUIET_PORTS, ...boundPorts(ports) });
    return end.type === 'finished' ? { ...known, state, result: end.result } : { ...known, state };
  } catch (error) {
    if (error instanceof NotYetRecorded) return { ...known, state };
    throw error;
  }
}

/** The loop has come to where history ends. */
class NotYetRecorded extends Error {}

function boundPorts(ports: RecordedPorts): Omit<RunPorts, keyof typeof QUIET_PORTS> {
  return {
    now: () => ports.now(),
    uuid: () => ports.uuid(),
    callModel: (call) => ports.callModel(call),
    runTool: (invocation) => ports.runTool(invocation),
    cancelRequested: () => ports.cancelRequested(),
  };
}

class RecordedPorts {
  state: RunState | undefined;
  readonly #recorded: RecordedRun;
  #calls = 0;
  #clock: number;

  constructor(recorded: RecordedRun) {
    this.#recorded = recorded;
    this.#clock = recorded.startedAt;
  }

  now(): number {
    return this.#clock;
  }

  uuid(): string {
    return randomUUID();
  }

  cancelRequested(): boolean {
    return false;
  }

  callModel(call: ModelCall): Promise<ModelCallOutcome> {
    const recorded = this.#recorded.modelCalls[this.#calls];
    this.#calls += 1;
    if (recorded === undefined) return this.#unrecorded();
    const last = this.state?.context.events[call.through - 1];
    if (last !== undefined) last.id = recorded.input.lastEventId;
    this.#advance(recorded.seenAt);
    if (recorded.output !== undefined) return Promise.resolve(modelOutcome(recorded.output));
    if (recorded.failure !== undefined) return Promise.resolve(modelFailure(this.state?.snapshot.model ?? '', recorded.failure));
    return this.#unrecorded();
  }

  runTool({ call, tool }: ToolInvocation): Promise<ToolOutcome> {
    const recorded = this.#recorded.toolCalls.get(call.toolCallId);
    this.#advance(recorded?.seenAt);
    if (recorded?.output !== undefined) return Promise.resolve(toolOutcome(recorded.output));
    if (recorded?.failure !== undefined) return Promise.resolve(toolFailure(tool, recorded.failure));
    return this.#unrecorded();
  }

  /** What has no ending in history was cancelled, or is still to come. */
  #unrecorded(): Promise<{ type: 'cancelled' }> {
    const { cancelRequested, closedAt } = this.#recorded;
    if (cancelRequested === undefined || closedAt === undefined) return Promise.reject(new NotYetRecorded());
    this.#advance(closedAt);
    return Promise.resolve({ type: 'cancelled' });
  }

  #advance(time: number | undefined): void {
    if (time !== undefined && time > this.#clock) this.#clock = time;
  }
}
