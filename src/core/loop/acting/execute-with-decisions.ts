import type { Decision } from '../../domain/approvals/approval.ts';
import { deadlineOf, isAskedAbout, pendingOf } from '../approvals/approvals.ts';
import { continueBeforeTool } from '../limits/continuing.ts';
import { endsByDeadline } from '../limits/limits.ts';
import { takeRequests } from '../messages.ts';
import { noWorker } from './no-worker.ts';
import type { RunPorts, ToolOutcome } from '../ports.ts';
import { type Acting, interrupted, result } from './prepare-call.ts';
import { recordResults } from './record-results.ts';
import { settleDecisions, settleRemembered } from '../approvals/settle-decisions.ts';
import { type DecidedBatch, StartedCalls } from './started-calls.ts';
import { reevaluatePredicate } from './ask-again.ts';
import { askAboutOutcomes } from './ask-about-outcomes.ts';
import { unknown } from './start-tool.ts';
import { requestDecision, showWaiting, notifyAgain, waitForChange } from '../approvals/wait-for-decisions.ts';

/**
 * Executes calls of which some wait for a decision. The others go ahead; a call that is approved starts at once, or as
 * soon as nothing else runs where calls must not overlap. Once nothing runs, the results so far are recorded, and the
 * run waits: at no cost, and in the next execution where this one is full. Gives all outcomes by place, with null for
 * those that wait there.
 */
export async function executeWithDecisions(acting: Acting, ports: RunPorts, batch: DecidedBatch): Promise<(ToolOutcome | null)[]> {
  const { state } = acting;
  const calls = new StartedCalls(acting, ports, batch);
  notifyAgain(state, ports);
  askForDecisions(acting, ports, batch);
  for (;;) {
    const { received } = ports.inbox;
    takeRequests(state, ports);
    // First of all: whoever was told that a decision is taken must see it carried out.
    const asked = state.approvals.pending.filter(({ kind }) => kind === 'outcome').map(({ callId }) => callId);
    for (const decision of await settleDecisions(state, ports)) applyDecision(acting, batch, decision, asked.includes(decision.callId));
    if (!isToStop(acting, ports, batch)) {
      askAboutOutcomes(acting, ports, batch);
      // Where nothing runs: a call that ends meanwhile would not have its changes applied before the next one starts.
      if (batch.inSequence && calls.running === 0) await askPredicatesAgain(acting, ports, { batch, calls });
    }
    // Something may have come while they were asked.
    if (isToStop(acting, ports, batch)) giveUp(acting, ports, batch, calls);
    const isHeldBack = calls.start();
    showWaiting(state, ports);
    if (calls.running === 0) {
      // What may start and did not belongs into the next execution: results are recorded, and changes applied, as without the switch.
      if (isHeldBack) return batch.outcomes;
      calls.applyChanges();
      if (!batch.outcomes.includes(null)) return batch.outcomes;
      recordResults(acting, ports, batch.outcomes);
      ports.recorded?.(state);
      if (continueBeforeTool(state, ports, batch)) return batch.outcomes;
    }
    // A cancellation ends every wait at once: what still runs is told of it, and that alone is waited for.
    if (ports.cancelRequested()) await calls.one();
    else await waitForChange(state, ports, { received, ended: () => calls.ended });
  }
}

/** Where calls see what the calls before them changed, the predicate of the next one is asked about that. */
async function askPredicatesAgain(
  acting: Acting,
  ports: RunPorts,
  { batch, calls }: { batch: DecidedBatch; calls: StartedCalls },
): Promise<void> {
  calls.applyChanges();
  while (await reevaluatePredicate(ports, batch, calls.next())) askForDecisions(acting, ports, batch);
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
    const remembered = settleRemembered(state, ports, { callId, toolName: tool.name, digest });
    if (remembered !== undefined) {
      applyDecision(acting, batch, remembered, false);
      continue;
    }
    const now = ports.now();
    requestDecision(state, ports, {
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

/** What a decision means for its call; or for what came of it, where nobody knew. */
function applyDecision(
  { state, calls }: Acting,
  { outcomes }: DecidedBatch,
  { type, callId, toolName, arguments: edited, reason, content }: Decision,
  isAboutOutcome: boolean,
): void {
  const index = calls.findIndex(({ toolCallId }) => toolCallId === callId);
  if (type === 'approve') state.approvals.approved.push({ callId, ...(edited === undefined ? {} : { arguments: edited }) });
  if (type === 'reject')
    outcomes[index] = isAboutOutcome ? unknown(toolName, reason) : { ...result('error', denial(reason)), durationMs: null };
  if (type === 'respond') outcomes[index] = { ...result('success', ...(content === undefined ? [] : [content])), durationMs: null };
}

/** What the model reads of a call that was rejected. */
function denial(reason: string | undefined): string {
  const denied = 'User denied the tool execution.';
  return reason === undefined ? denied : `${denied} Reason: ${reason}`;
}

/** Nothing more is to begin: the run is cancelled or over its time, a message says where to go instead, or a call ends the run. */
function isToStop({ state }: Acting, ports: RunPorts, { outcomes }: DecidedBatch): boolean {
  if (ports.cancelRequested() || ports.inbox.isSteered || noWorker(ports, outcomes) !== undefined) return true;
  return endsByDeadline(state, ports.now());
}

/** Calls that have not started are given up; those that run are waited for. */
function giveUp({ state }: Acting, ports: RunPorts, { prepared, outcomes }: DecidedBatch, calls: StartedCalls): void {
  const { pending } = state.approvals;
  state.approvals.pending = [];
  for (const [index, one] of prepared.entries()) {
    if (outcomes[index] !== null) continue;
    if (one.type === 'execute' && isAskedAbout(pending, one.invocation.call.toolCallId)) {
      outcomes[index] = unknown(one.invocation.tool.name);
      continue;
    }
    if (calls.has(index)) continue;
    outcomes[index] = one.type === 'immediate' && !ports.cancelRequested() ? one.outcome : interrupted();
  }
}
