import { type ApprovalRequirement, callDigest, deadlineOf, type Decision, type PendingApproval } from '../domain/approvals.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue } from '../domain/json.ts';
import type { StepDeadlineDocument, StepDocument } from '../domain/program-document.ts';
import type { RecordedCall } from '../domain/program-run.ts';
import { milliseconds } from '../domain/time.ts';
import { type AttemptEnd, type ProgramRun, recordCall, recordResult, type RunningStep, stepFailure } from './program-run.ts';
import { lookupAt, resolveValue } from './references.ts';

// Programs: the decision before a step costs anything.

/**
 * Waits for a person's decision about a step other than a tool call, once for all its attempts. Returns undefined once it is approved. An
 * answer given instead is the output of the step.
 */
export async function approve(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<AttemptEnd | undefined> {
  const { state, address } = running;
  if (step.approval === undefined || step.tool !== undefined || state.progress?.approved !== undefined) return undefined;
  const name = `${address.unit}.${address.step}`;
  const shown = resolveValue(editableFields(step), lookupAt(run.program, address), { lenient: run.program.document.lenient });
  const args = shown.ok && isJsonObject(shown.value) ? shown.value : {};
  // The question of the step itself is a separate call.
  const suffix = step.human === undefined ? {} : { suffix: '.approval' };
  const call = state.progress?.call ?? recordCall(run, running, { name, arguments: args, ...suffix });
  const decision = await waitForDecision(run, { kind: 'tool', call, toolName: name, arguments: args, deadline: step.approval });
  if (decision === undefined) return { type: 'stopped' };
  if (decision.type === 'reject') {
    const message = decision.reason === undefined ? 'The step was rejected' : `The step was rejected: ${decision.reason}`;
    const error = stepFailure(running, 'step_rejected', message);
    recordResult(run, running, call, { name, status: 'error', content: [message], error });
    return { type: 'failed', error, id: run.state.window.lastEventId, isFinal: true };
  }
  const output = decision.type === 'respond' ? (decision.content ?? null) : 'approved';
  recordResult(run, running, call, { name, status: 'success', content: [output] });
  if (decision.type === 'respond') return { type: 'done', output, id: run.state.window.lastEventId };
  state.progress = { ...state.progress, approved: defined({ arguments: decision.arguments }) };
  return undefined;
}

/** Returns the part of a step that a person is shown and may edit, with references. */
export function editableFields({ ask, agent, program, human, sleep, remember, recall }: StepDocument): JsonObject {
  if (ask !== undefined) return { prompt: ask.prompt };
  return { ...(agent ?? program ?? human ?? sleep ?? remember ?? recall) } as JsonObject;
}

/**
 * Returns the schema of the fields that a person edits when approving a step. A field that the step does not take from the edit keeps its
 * value, so that nobody believes to have changed it.
 */
export function editSchema(step: StepDocument): JsonObject {
  const fixed = Object.entries(editableFields(step)).map(([name, value]): [string, JsonObject] => [name, { const: value }]);
  return { type: 'object', properties: Object.fromEntries([...fixed, ...edits(step)]) };
}

function edits({ ask, agent, program, human, sleep, remember, recall }: StepDocument): [field: string, schema: JsonObject][] {
  if (ask !== undefined) return [['prompt', { type: 'string' }]];
  if (agent !== undefined) return Object.entries({ input: { type: 'string' }, deps: { type: 'object' } });
  if (program !== undefined) return [['input', { type: 'object' }]];
  if (human !== undefined) return [['question', { type: 'string' }]];
  if (sleep !== undefined) return [['for', { type: ['string', 'number'] }]];
  const scope = { scope: { type: 'string' } };
  if (remember !== undefined) return Object.entries({ key: { type: 'string' }, value: {}, metadata: { type: 'object' }, ...scope });
  if (recall !== undefined)
    return Object.entries({ query: { type: 'string' }, topK: { type: 'integer' }, minScore: { type: 'number' }, ...scope });
  return [];
}

// Programs: the review of a step's output.

/** The suffix of the name under which a person reviews the output of a step. */
export const REVIEW_SUFFIX = '.review';

/** Holds back the output until a person accepts it, edits it, or rejects it. A rejection is a failed attempt, with its reason. */
export async function review(
  run: ProgramRun,
  running: RunningStep,
  step: StepDocument,
  done: AttemptEnd & { type: 'done' },
): Promise<AttemptEnd> {
  if (step.review === undefined) return done;
  const { state, address } = running;
  const stepOutput = { output: done.output, id: done.id };
  state.progress = { ...state.progress, held: stepOutput };
  const name = `${address.unit}.${address.step}${REVIEW_SUFFIX}`;
  const reviewData = { output: stepOutput.output };
  const call = state.progress.call ?? recordCall(run, running, { name, arguments: reviewData, suffix: REVIEW_SUFFIX });
  const decision = await waitForDecision(run, { kind: 'tool', call, toolName: name, arguments: reviewData, deadline: step.review });
  if (decision === undefined) return { type: 'stopped' };
  delete state.progress.held;
  if (decision.type === 'reject') {
    const message = decision.reason ?? 'The output was rejected';
    const error = stepFailure(running, 'step_rejected', message);
    recordResult(run, running, call, { name, status: 'error', content: [message], error });
    return { type: 'failed', error, id: run.state.window.lastEventId };
  }
  const edited: JsonValue | undefined = decision.type === 'respond' ? (decision.content ?? null) : decision.arguments?.['output'];
  recordResult(run, running, call, { name, status: 'success', content: edited === undefined ? ['accepted'] : [edited] });
  return edited === undefined ? done : { type: 'done', output: edited, id: run.state.window.lastEventId };
}

// Programs: steps that wait for a person.

/** The subject of a person's decision. */
export interface DecisionRequest {
  kind: 'tool' | 'question';
  call: RecordedCall;
  toolName: string;
  /** The arguments as shown to the person. */
  arguments: JsonObject;
  deadline: true | StepDeadlineDocument;
  /** The requirement of the tool itself, if the tool needs the decision. */
  requirement?: Omit<ApprovalRequirement, 'digest'>;
}

/** Waits for the decision about a step's call. Returns undefined if the run stops first. */
export function waitForDecision(
  run: ProgramRun,
  { kind, call, toolName, arguments: args, deadline, requirement }: DecisionRequest,
): Promise<Decision | undefined> {
  const { state, ports } = run;
  const now = ports.now();
  const { reason, ...ownDeadline } = requirement ?? {};
  // The author of a step's event is the step's address.
  const at = state.window.events.findLast(({ id }) => id === call.eventId)?.author;
  const waiting: PendingApproval = {
    kind,
    callId: call.callId,
    toolName,
    digest: callDigest(toolName, args),
    key: `${call.eventId}/0`,
    step: state.context.currentStep + 1,
    ...defined({ at }),
    requestedAt: now,
    // As for agents: a deadline cannot answer a question.
    ...deadlineOf({ ...state.snapshot.approvals, ...ownDeadline, ...plainDeadline(deadline), ...onlyRejected(kind) }, now),
    ...defined({ reason }),
  };
  return run.decision(waiting);
}

function onlyRejected(kind: DecisionRequest['kind']): { onDeadline?: 'reject' } {
  return kind === 'question' ? { onDeadline: 'reject' } : {};
}

function plainDeadline(deadline: true | StepDeadlineDocument): { deadlineMs?: number; onDeadline?: 'approve' | 'reject' } {
  if (deadline === true) return {};
  return {
    ...(deadline.deadline === undefined ? {} : { deadlineMs: milliseconds(deadline.deadline, 'the deadline of a decision') }),
    ...defined({ onDeadline: deadline.onDeadline }),
  };
}
