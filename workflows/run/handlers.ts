import { ApplicationFailure, rawValueTypeInfo } from '@temporalio/common';
import { condition, defineQuery, defineSignal, defineUpdate, log, setHandler, workflowInfo } from '@temporalio/workflow';
import type { Refusal } from '../../src/core/handlers/decisions.ts';
import { refuseUpdate, SIGNAL_KINDS, takeSignal, takeUpdate, UPDATE_KINDS } from '../../src/core/handlers/requests.ts';
import { withoutContent } from '../../src/core/domain/approvals.ts';
import type { Verdict } from '../../src/core/domain/requests.ts';
import { type DecisionReceipt, QUERIES, scopedName, SIGNALS, UPDATES } from '../../src/core/protocol.ts';
import { answerQuery, QUERY_KINDS } from '../../src/core/queries/queries.ts';
import { refusesUpdates } from '../interceptors/update-guard.ts';
import { endBurst } from './bursts.ts';
import { decodedValue, interruptModelCall, interruptTurn } from './schedule-activity.ts';
import type { LiveRun } from './live-run.ts';

const RAW = { typeInfo: { inputTypes: [rawValueTypeInfo] } };

/**
 * Registers the Updates and Signals of a run. Must be called before the first await: a message may arrive with the
 * first task. Handlers only write to the inbox, so that they never delay continue-as-new; the loop does the work.
 */
export function registerMessages(run: LiveRun): void {
  for (const name of Object.keys(UPDATE_KINDS) as (keyof typeof UPDATES)[]) {
    setHandler(
      defineUpdate<unknown, [unknown]>(scopedName(UPDATES[name], run.key), RAW),
      (raw) => handleUpdate(run, name, decodedValue(raw)),
      {
        validator: (raw) => throwRefusal(refusesUpdates() ? justLoaded(run) : refuseUpdate(run, name, decodedValue(raw), Date.now())),
        description: UPDATE_KINDS[name].description,
      },
    );
  }
  for (const name of Object.keys(SIGNAL_KINDS) as (keyof typeof SIGNALS)[]) {
    // The user cancels the surrounding workflow, with the runs in it.
    if (name === 'cancel' && run.key !== undefined) continue;
    setHandler(defineSignal<[unknown]>(scopedName(SIGNALS[name], run.key), RAW), (raw) => handleSignal(run, name, decodedValue(raw)), {
      description: `${SIGNAL_KINDS[name].description}; for callers that can only signal`,
    });
  }
}

/** Handles an Update. It waits only for the authorization of a decision, whose outcome its sender has to learn. */
function handleUpdate(run: LiveRun, name: keyof typeof UPDATES, input: unknown): unknown {
  const receipt = takeUpdate(run, name, input, Date.now());
  interruptModelCall(run);
  endBurst(run);
  interruptTurn(run);
  if (!run.snapshot?.authorize || !isDecision(receipt)) return receipt;
  // A repeated decision waits like the first, unless its outcome is known.
  const isChecked = run.inbox.decisions.every(({ id }) => id !== receipt.decision.id);
  return isChecked ? receipt : awaitOutcome(run, receipt);
}

async function awaitOutcome(run: LiveRun, receipt: DecisionReceipt): Promise<DecisionReceipt> {
  const { id } = receipt.decision;
  run.answering += 1;
  run.inbox.verdicts.await(id);
  try {
    await condition(() => run.inbox.verdicts.on(id) !== undefined || run.ending);
    return { ...receipt, decision: outcomeOf(run, run.inbox.verdicts.on(id)) };
  } finally {
    run.inbox.verdicts.forget(id);
    run.answering -= 1;
  }
}

function isDecision(receipt: unknown): receipt is DecisionReceipt {
  return typeof receipt === 'object' && receipt !== null && 'decision' in receipt;
}

/**
 * Returns the outcome of a decision, or throws if it was refused. A decision that is carried over is answered by the
 * next execution, or by the record of a run that has ended.
 */
function outcomeOf({ runId }: LiveRun, verdict: Verdict | undefined): DecisionReceipt['decision'] {
  if (verdict?.type === 'decided') return withoutContent(verdict.decision);
  if (verdict?.type === 'refused') throw failureOf(verdict);
  throw failureOf({ code: 'busy', message: `Run "${runId}" continues in its next execution: send the decision again` });
}

function handleSignal(run: LiveRun, name: keyof typeof SIGNALS, input: unknown): void {
  const refused = takeSignal(run, name, input, Date.now());
  interruptModelCall(run);
  endBurst(run);
  interruptTurn(run);
  if (refused !== undefined) log.warn(`The signal "${name}" was refused: ${refused.message}`, { runId: run.runId, code: refused.code });
}

function justLoaded({ runId }: LiveRun): Refusal {
  return { code: 'busy', message: `Run "${runId}" was just loaded by its worker: send it again` };
}

/** Refuses an Update: history stays unchanged, and the caller gets the reason. */
function throwRefusal(refused: Refusal | undefined): void {
  if (refused !== undefined) throw failureOf(refused);
}

/** Creates a failure without a stack: the Temporal UI shows it to the sender of the Update. */
function failureOf({ code, message }: { code: string; message: string }): ApplicationFailure {
  const failure = ApplicationFailure.create({ type: code, message, nonRetryable: true });
  failure.stack = '';
  return failure;
}

/** Registers the queries of a run. Must be called before the first await: a query may arrive with the first task. */
export function registerQueries(run: LiveRun): void {
  for (const name of Object.keys(QUERY_KINDS) as (keyof typeof QUERIES)[]) {
    const query = defineQuery<unknown, [unknown?]>(scopedName(QUERIES[name], run.key));
    setHandler(query, (question) => ofExecution(name, answerQuery(run, name, question)), { description: QUERY_KINDS[name].description });
  }
}

/** Adds the execution id to a page of the record: a reader has to notice if `retry` has replaced the execution. */
function ofExecution(name: keyof typeof QUERIES, answer: unknown): unknown {
  return name === 'record' ? { ...(answer as object), executionId: workflowInfo().runId } : answer;
}
