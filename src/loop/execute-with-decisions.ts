import type { Decision } from '../domain/approval.ts';
import type { RecordedResponse } from '../domain/recorded-response.ts';
import { deadlineOf, pendingOf, rememberedFor } from './approvals.ts';
import { bytesInFlight, continueBeforeTool } from './continuing.ts';
import { InFlight } from './in-flight.ts';
import { isOver } from './limits.ts';
import { takeRequests } from './messages.ts';
import type { RunPorts, ToolInvocation, ToolOutcome } from './ports.ts';
import { type Acting, interrupted, type PreparedCall, result } from './prepare-call.ts';
import { recordResults } from './record-results.ts';
import { settleDecisions, settleRemembered } from './settle-decisions.ts';
import { startTool, withState } from './start-tool.ts';
import { beginToWait, showWaiting, tellAgain, waitForChange } from './wait-for-decisions.ts';

/** The calls of a response of which some need a decision. */
export interface DecidedBatch {
  response: RecordedResponse;
  prepared: PreparedCall[];
  outcomes: (ToolOutcome | null)[];
  /** Its calls must not overlap. */
  inSequence: boolean;
}

/**
 * Executes calls of which some wait for a decision. The others go ahead; a call that is approved starts at once, or as
 * soon as nothing else runs where calls must not overlap. Once nothing runs, the results so far are recorded, and the
 * run waits: at no cost, and in the next execution where this one is full. Gives all outcomes by place, with null for
 * those that wait there.
 */
export async function executeWithDecisions(acting: Acting, ports: RunPorts, batch: DecidedBatch): Promise<(ToolOutcome | null)[]> {
  const { state } = acting;
  const running = new InFlight();
  const started = new Set<number>();
  let ended = 0;
  tellAgain(state, ports);
  askForDecisions(acting, ports, batch);
  for (;;) {
    takeRequests(state, ports);
    // First of all: whoever was told that a decision is taken must see it carried out.
    for (const decision of await settleDecisions(state, ports)) carryOut(acting, batch, decision);
    if (isToStop(acting, ports)) giveUp(acting, ports, batch, started);
    if (batch.inSequence && running.count === 0) applyChanges();
    const isHeldBack = start();
    showWaiting(state, ports);
    if (running.count === 0) {
      // What may start and did not belongs into the next execution: results are recorded, and changes applied, as without the switch.
      if (isHeldBack) return batch.outcomes;
      applyChanges();
      if (!batch.outcomes.includes(null)) return batch.outcomes;
      recordResults(acting, ports, batch.outcomes);
      ports.recorded?.(state);
      if (continueBeforeTool(state, ports, batch)) return batch.outcomes;
    }
    // A cancellation ends every wait at once: what still runs is told of it, and that alone is waited for.
    if (ports.cancelRequested()) await running.one();
    else await waitForChange(state, ports, () => ended);
  }

  /** What calls that overlapped have changed is applied in call order, never in completion order. */
  function applyChanges(): void {
    for (const [place, one] of batch.prepared.entries()) {
      const outcome = batch.outcomes[place];
      if (outcome) batch.outcomes[place] = withState(state, one, outcome);
    }
  }

  /** Starts what may start, in the model's order. True where a full history keeps a call from it. */
  function start(): boolean {
    let isHeldBack = false;
    for (const [place, one] of batch.prepared.entries()) {
      if (batch.outcomes[place] !== null || started.has(place) || (batch.inSequence && running.count > 0)) continue;
      if (one.type === 'immediate') {
        batch.outcomes[place] = one.outcome;
        continue;
      }
      const invocation = startable(acting, one);
      if (invocation === undefined) continue;
      if (continueBeforeTool(state, ports, batch)) {
        isHeldBack = true;
        continue;
      }
      const bytes = bytesInFlight(invocation);
      if (!running.hasRoomFor(bytes)) break;
      started.add(place);
      running.add(bytes, startTool(state, ports, invocation), (outcome) => {
        ended += 1;
        batch.outcomes[place] = outcome;
      });
    }
    return isHeldBack;
  }
}

/** A call that needs no decision, or has been approved: as the model asked for it, or with the arguments of the decision. */
function startable({ state }: Acting, { invocation, terms }: PreparedCall & { type: 'execute' }): ToolInvocation | undefined {
  if (terms === undefined) return invocation;
  const { call } = invocation;
  const approved = state.approvals.approved.find(({ callId }) => callId === call.toolCallId);
  if (approved === undefined) return undefined;
  return approved.arguments === undefined ? invocation : { ...invocation, call: { ...call, arguments: approved.arguments }, edited: true };
}

/** Every call that needs a decision begins to wait, but for those that an earlier decision holds for. */
function askForDecisions(acting: Acting, ports: RunPorts, batch: DecidedBatch): void {
  const { state } = acting;
  const { approvals, snapshot } = state;
  for (const [place, one] of batch.prepared.entries()) {
    if (one.type !== 'execute' || one.terms === undefined || batch.outcomes[place] !== null) continue;
    const { call, tool, eventId, index, step } = one.invocation;
    const callId = call.toolCallId;
    if (pendingOf(approvals, callId) !== undefined || approvals.approved.some((approved) => approved.callId === callId)) continue;
    const { digest, reason, ...deadline } = one.terms;
    const remembered = rememberedFor(approvals, tool.name, digest);
    const now = ports.now();
    if (remembered !== undefined) {
      const { id, digest: _, ...rest } = remembered;
      const decision: Decision = {
        ...rest,
        id: `${id} for ${callId}`,
        callId,
        digest,
        source: 'remembered',
        at: new Date(now).toISOString(),
      };
      carryOut(acting, batch, settleRemembered(state, ports, decision));
      continue;
    }
    beginToWait(state, ports, {
      kind: tool.answer === undefined ? 'tool' : 'question',
      callId,
      toolName: tool.name,
      digest,
      key: `${eventId}/${index}`,
      step,
      requestedAt: now,
      ...deadlineOf({ ...snapshot.approvals, ...tool.approval, ...deadline }, now),
      ...(reason === undefined ? {} : { reason }),
    });
  }
}

/** What a decision means for its call. */
function carryOut(
  { state, calls }: Acting,
  { outcomes }: DecidedBatch,
  { type, callId, arguments: edited, reason, content }: Decision,
): void {
  const place = calls.findIndex(({ toolCallId }) => toolCallId === callId);
  if (type === 'approve') state.approvals.approved.push({ callId, ...(edited === undefined ? {} : { arguments: edited }) });
  if (type === 'reject') outcomes[place] = { ...result('error', denial(reason)), durationMs: null };
  if (type === 'respond') outcomes[place] = { ...result('success', ...(content === undefined ? [] : [content])), durationMs: null };
}

/** What the model reads of a call that was rejected. */
function denial(reason: string | undefined): string {
  const denied = 'User denied the tool execution.';
  return reason === undefined ? denied : `${denied} Reason: ${reason}`;
}

/** Nothing more is to begin: the run is cancelled or over its time, or a message says where to go instead. */
function isToStop({ state }: Acting, ports: RunPorts): boolean {
  if (ports.cancelRequested() || ports.inbox.isSteered) return true;
  return state.limits.onLimit !== 'ask' && isOver(state, ports.now());
}

/** Calls that have not started are given up; those that run are waited for. */
function giveUp({ state }: Acting, ports: RunPorts, { outcomes }: DecidedBatch, started: ReadonlySet<number>): void {
  state.approvals.pending = [];
  for (const [place, outcome] of outcomes.entries()) {
    if (outcome === null && !started.has(place)) outcomes[place] = ports.cancelRequested() ? { type: 'cancelled' } : interrupted();
  }
}
