import type { RecordedResponse } from '../../domain/model/recorded-response.ts';
import { bytesInFlight, continueBeforeTool } from '../limits/continuing.ts';
import { InFlight } from './in-flight.ts';
import type { RunPorts, ToolInvocation, ToolOutcome } from '../ports.ts';
import type { Acting, PreparedCall } from './prepare-call.ts';
import { applyChanges } from './apply-changes.ts';
import { isAskedAbout } from '../approvals/approvals.ts';
import { startTool } from './start-tool.ts';

/** The calls of a response of which some need a decision. */
export interface DecidedBatch {
  response: RecordedResponse;
  prepared: PreparedCall[];
  outcomes: (ToolOutcome | null)[];
  /** Its calls must not overlap. */
  inSequence: boolean;
}

/** Those of them that have started. */
export class StartedCalls {
  /** How many have ended. */
  ended = 0;
  readonly #acting: Acting;
  readonly #ports: RunPorts;
  readonly #batch: DecidedBatch;
  readonly #running = new InFlight();
  readonly #started = new Set<number>();

  constructor(acting: Acting, ports: RunPorts, batch: DecidedBatch) {
    this.#acting = acting;
    this.#ports = ports;
    this.#batch = batch;
  }

  /** How many are going on. */
  get running(): number {
    return this.#running.count;
  }

  has(index: number): boolean {
    return this.#started.has(index);
  }

  /** Until one of them has ended. */
  async one(): Promise<void> {
    await this.#running.one();
  }

  /** The place of the first call that may start; undefined where none may. */
  next(): number | undefined {
    const { prepared, outcomes } = this.#batch;
    const index = prepared.findIndex(
      (one, at) => outcomes[at] === null && !this.#started.has(at) && one.type === 'execute' && this.#startable(one) !== undefined,
    );
    return index < 0 ? undefined : index;
  }

  /** Starts what may start, in the model's order. True where a full history keeps a call from it. */
  start(): boolean {
    const { prepared, outcomes, inSequence } = this.#batch;
    let isHeldBack = false;
    for (const [index, one] of prepared.entries()) {
      if (outcomes[index] !== null || this.#started.has(index) || (inSequence && this.running > 0)) continue;
      if (one.type === 'immediate') {
        outcomes[index] = one.outcome;
        continue;
      }
      const invocation = this.#startable(one);
      if (invocation === undefined) continue;
      if (continueBeforeTool(this.#acting.state, this.#ports, this.#batch)) {
        isHeldBack = true;
        continue;
      }
      if (!this.#running.hasRoomFor(bytesInFlight(invocation))) break;
      this.#begin(index, invocation);
    }
    return isHeldBack;
  }

  /** What calls that overlapped have changed is applied in call order, never in completion order. */
  applyChanges(): void {
    const { prepared, outcomes } = this.#batch;
    for (const [index, one] of prepared.entries()) {
      const outcome = outcomes[index];
      if (outcome) outcomes[index] = applyChanges(this.#acting.state, one, outcome);
    }
  }

  #begin(index: number, invocation: ToolInvocation): void {
    this.#started.add(index);
    this.#running.add(bytesInFlight(invocation), startTool(this.#acting.state, this.#ports, invocation), (outcome) => {
      this.ended += 1;
      this.#batch.outcomes[index] = outcome;
    });
  }

  /** A call that needs no decision, or has been approved: as the model asked for it, or with the arguments of the decision. */
  #startable({ invocation, terms }: PreparedCall & { type: 'execute' }): ToolInvocation | undefined {
    const { call } = invocation;
    const { approvals } = this.#acting.state;
    if (isAskedAbout(approvals.pending, call.toolCallId)) return undefined;
    if (terms === undefined) return invocation;
    const approved = approvals.approved.find(({ callId }) => callId === call.toolCallId);
    if (approved === undefined) return undefined;
    return approved.arguments === undefined
      ? invocation
      : { ...invocation, call: { ...call, arguments: approved.arguments }, edited: true };
  }
}
