import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ActivityFunctions, ParseArgumentsInput, ParseArgumentsOutput } from '../../src/core/activity-requests/contracts.ts';
import { type AgentSnapshot, toolOwner, type ToolSnapshot } from '../../src/core/domain/agent.ts';
import type { ApprovalRequirement } from '../../src/core/domain/approvals.ts';
import { cutText } from '../../src/core/domain/byte-budgets.ts';
import { isToolCall, type ToolCall } from '../../src/core/domain/content.ts';
import { errorMessage, LonghaulError } from '../../src/core/domain/errors.ts';
import { canonicalJson, defined, type JsonObject } from '../../src/core/domain/json.ts';
import type { RecordedResponse } from '../../src/core/domain/model.ts';
import type { RunSubject } from '../../src/core/domain/run.ts';
import { unknownField } from '../../src/core/domain/text.ts';
import { isoTime } from '../../src/core/domain/time.ts';
import {
  type ApprovalsPage,
  type AuthorizeDecisionInput,
  type AuthorizeDecisionOutput,
  type DataView,
  type DecisionContent,
  type DecisionQuestion,
  type NotifyWaitingInput,
  type OfRun,
  QUERIES,
  type ReevaluateApprovalInput,
  type StatusView,
} from '../../src/core/protocol.ts';
import {
  type ApprovalContext,
  type AuthorizeContext,
  type AuthorizeDecision,
  type DecisionToAuthorize,
  requirementFrom,
  type WaitingNotice,
} from '../../src/define/approvals.ts';
import type { AnyTool } from '../../src/define/tool-definition.ts';
import { attemptInfo } from '../attempts/attempt-info.ts';
import { isWaitOver, runAttempt, withTimeout } from '../attempts/attempt.ts';
import { logToolError } from '../attempts/checked-activity.ts';
import { failingAs, MissingOnWorkerError } from '../attempts/failure.ts';
import { queryRun, runIdOf, runKey } from '../run-queries/query-run.ts';
import { type ActivityRuntime, dataFor } from '../runtime.ts';
import { parsedArguments } from '../tool-calls/parse-arguments.ts';
import { callArguments, findTool } from '../tool-calls/run-tool.ts';
import type { ReviewScope } from '../worker-part.ts';

/** 132 bits in base64url, as in the digest of a snapshot. */
const DIGEST_LENGTH = 22;

/** The time limit of a predicate, in milliseconds: a paid model call waits for it. */
const PREDICATE_MS = 30_000;

/** The maximum bytes of JSON of a reason: it is shown with the call, and carried into the next execution while the call waits. */
const REQUIREMENT_BYTES = 500;

/** The answer of a predicate, without the digest that binds a decision. */
type PredicateAnswer = Omit<ApprovalRequirement, 'digest'>;

/**
 * Returns the approval requirements of the calls that need a decision, by call id; undefined if no call does. A call also needs a decision
 * if its predicate throws, does not answer in time, or is missing from this worker.
 */
export async function approvalRequirements(
  scope: ReviewScope,
  response: Pick<RecordedResponse, 'content' | 'problems'>,
): Promise<Record<string, ApprovalRequirement> | undefined> {
  const { snapshot, run, data: read = () => queryRun<DataView>(run, QUERIES.data, null) } = scope;
  const { problems = {} } = response;
  let data: Promise<DataView> | undefined;
  const dataOnce: () => Promise<DataView> = () => (data ??= read());
  const entries = response.content.filter(isToolCall).map(async (call): Promise<[string, ApprovalRequirement][]> => {
    const approval = snapshot.tools.find(({ name }) => name === call.name)?.approval;
    if (approval === undefined || Object.hasOwn(problems, call.toolCallId)) return [];
    const requirement = approval.when === 'always' ? {} : await askPredicate(scope, call, dataOnce);
    return requirement === undefined ? [] : [[call.toolCallId, { digest: callDigest(call), ...requirement }]];
  });
  const requirements = (await Promise.all(entries)).flat();
  // Call ids come from models and may be `__proto__`: fromEntries makes every key an own property.
  return requirements.length === 0 ? undefined : Object.fromEntries(requirements);
}

/** Returns the digest that binds a decision to a call: equal calls have equal digests. */
export function callDigest({ name, arguments: args }: ToolCall): string {
  return createHash('sha256')
    .update(canonicalJson({ name, arguments: args }))
    .digest('base64url')
    .slice(0, DIGEST_LENGTH);
}

/**
 * Throws `MissingOnWorkerError` before the model call is paid for, if this worker lacks a tool in the snapshot that another worker may have
 * and that the review of its calls needs: for its predicate, or for its schema if that changes arguments. Once the wait for another worker
 * is over, calls of a tool with a predicate need a decision for the rest of the run, and the others have a problem. The same applies if the
 * tool no longer has a predicate.
 */
export function requireReviewedTool(
  runtime: ActivityRuntime,
  run: OfRun,
  snapshot: AgentSnapshot,
  { name, approval, changesArguments, mcp }: ToolSnapshot,
): void {
  if (approval?.when !== 'predicate' && !changesArguments) return;
  const owner = toolOwner(snapshot);
  if (findTool(runtime, { ...owner, ...defined({ mcp }) }, name) !== undefined) return;
  const key = `${runKey(run).chain}/${name}`;
  if (isWaitOver()) runtime.missingNames.add(key);
  if (!runtime.missingNames.has(key)) throw runtime.registry.missingTool(owner, name, mcp?.server);
}

/** Asks the predicate of a call, with the deps and the state that `data` returns. */
async function askPredicate(scope: ReviewScope, call: ToolCall, data: () => Promise<DataView>): Promise<PredicateAnswer | undefined> {
  const { runtime, snapshot, signal } = scope;
  const mcp = snapshot.tools.find(({ name }) => name === call.name)?.mcp;
  const tool = findTool(runtime, { ...toolOwner(snapshot), ...defined({ mcp }) }, call.name);
  const when = tool?.approval?.when;
  if (tool === undefined || typeof when !== 'function')
    return { reason: 'This worker lacks the predicate that decides whether the call needs approval' };
  const timeUp = new AbortController();
  const predicateSignal = AbortSignal.any([signal, timeUp.signal]);
  try {
    const answer = callPredicate(scope, { call, tool, when, data, signal: predicateSignal });
    const late = delay(PREDICATE_MS, undefined, { signal: predicateSignal }).then(() => {
      throw new Error(`no answer within ${PREDICATE_MS / 1000} s`);
    });
    return await Promise.race([answer, late]);
  } catch (error) {
    logToolError(runtime, { what: `"approval" of tool "${call.name}"`, agent: snapshot.name, callId: call.toolCallId }, error, 'error');
    return { reason: briefReason(runtime, `Whether the call needs approval could not be told: ${errorMessage(error)}`) };
  } finally {
    timeUp.abort();
  }
}

/** The input of a predicate. */
interface PredicateCall {
  call: ToolCall;
  tool: AnyTool;
  when: Exclude<NonNullable<AnyTool['approval']>['when'], 'always'>;
  data: () => Promise<DataView>;
  signal: AbortSignal;
}

async function callPredicate(
  { runtime, run, snapshot }: ReviewScope,
  { call, tool, when, data, signal }: PredicateCall,
): Promise<PredicateAnswer | undefined> {
  const parsed = await tool.parameters.safeParseAsync(call.arguments);
  // The tool would refuse them too, but an approver can correct them.
  if (!parsed.success) return { reason: 'The arguments do not fit the tool' };
  const { deps, state, principal = {} } = await data();
  const context: ApprovalContext<unknown> = {
    deps: Object.freeze(structuredClone(runtime.registry.deps(toolOwner(snapshot), deps))),
    principal: Object.freeze(structuredClone(principal)),
    resources: await runtime.resourcePool.use(),
    state: Object.freeze(structuredClone(state)),
    agent: snapshot.name,
    runId: runIdOf(run),
    callId: call.toolCallId,
    signal,
  };
  const requirement = requirementFrom(`tool "${tool.name}"`, await when(parsed.data as never, context as never));
  return requirement?.reason === undefined ? requirement : { ...requirement, reason: briefReason(runtime, requirement.reason) };
}

/** Secrets are redacted before the text is cut: part of a secret would not be found. */
function briefReason({ secrets }: ActivityRuntime, reason: string): string {
  return cutText(secrets.redact(reason).toWellFormed(), REQUIREMENT_BYTES);
}

/** The activities that call the worker's approval functions. */
export function decisionActivities(
  runtime: ActivityRuntime,
): Pick<ActivityFunctions, 'authorizeDecision' | 'notifyWaiting' | 'reevaluateApproval' | 'parseArguments'> {
  return {
    authorizeDecision: authorizeDecisionActivity(runtime),
    notifyWaiting: notifyWaitingActivity(runtime),
    reevaluateApproval: reevaluateApprovalActivity(runtime),
    parseArguments: parseArgumentsActivity(runtime),
  };
}

/** The maximum bytes of JSON of a name and of a reason: both are recorded, and continue-as-new carries names over. */
const NAME_BYTES = 300;
const REASON_BYTES = 2_000;

/**
 * Creates the activity that asks the worker's `authorize` whether the author of a decision may decide. An error that the function throws
 * counts as a refusal: the approver waits for the answer, and can send the decision again. Only failures before the call of the function
 * are retried.
 */
export function authorizeDecisionActivity(runtime: ActivityRuntime): (input: AuthorizeDecisionInput) => Promise<AuthorizeDecisionOutput> {
  return failingAs('authorization_failed', async (input) => {
    const { authorize, aborts, heartbeatMs } = runtime;
    if (authorize === undefined) {
      const message = 'This worker has no "authorize", but the run was started by a worker that has one';
      throw new MissingOnWorkerError('authorization_failed', message, { kind: 'function', name: 'authorize', known: [] });
    }
    return runAttempt(aborts, { heartbeatMs }, async ({ signal }) => {
      const decision = await readDecision(runtime, input);
      const { deps } = await queryRun<DataView>(input, QUERIES.data, null);
      const runId = runIdOf(input);
      const resources = await runtime.resourcePool.use();
      const context = { deps: Object.freeze(deps), resources, signal, runId, agent: input.agentName };
      const answer = await askAuthorize(runtime, authorize, decision, context);
      return runtime.secrets.redactJson(answer) as AuthorizeDecisionOutput;
    });
  });
}

async function readDecision(runtime: ActivityRuntime, input: AuthorizeDecisionInput): Promise<DecisionToAuthorize> {
  const { at, eventId, rewritten, decision, kind } = input;
  const { id, type, callId, toolName, reason, remember, by, source } = decision;
  const { arguments: edited, content } = input.contentByReference
    ? await queryRun<DecisionContent>(input, QUERIES.decision, { id } satisfies DecisionQuestion)
    : input;
  return {
    id,
    type,
    kind,
    callId,
    toolName,
    arguments:
      at === undefined || eventId === undefined
        ? {}
        : await callArguments(runtime, input, { at, eventId, callId, ...(rewritten ? { rewritten } : {}) }),
    ...defined({ editedArguments: edited, content, reason, remember }),
    by,
    source,
  };
}

async function askAuthorize(
  runtime: ActivityRuntime,
  authorize: AuthorizeDecision,
  decision: DecisionToAuthorize,
  context: AuthorizeContext,
): Promise<AuthorizeDecisionOutput> {
  try {
    return readVerdict(await authorize(decision, context));
  } catch (error) {
    if (context.signal.aborted) throw context.signal.reason;
    // The approver reads the message; the author of the function needs the stack.
    logToolError(runtime, { what: '"authorize"', agent: context.agent, callId: decision.callId }, error, 'error');
    return refusal(errorMessage(error) || '"authorize" failed without a message');
  }
}

/** Reads the answer of the function. Anything but a clear identity is a refusal. */
function readVerdict(answer: unknown): AuthorizeDecisionOutput {
  const { as, refuse, ...others } = typeof answer === 'object' && answer !== null ? (answer as Partial<Record<string, unknown>>) : {};
  const problem = unknownField(others, { as: true, refuse: true });
  if (problem !== undefined) return refusal(`"authorize" returned an ${problem}`);
  if (typeof refuse === 'string') return refusal(refuse);
  if (typeof as === 'string' && as !== '') return { type: 'authorized', as: cutText(as.toWellFormed(), NAME_BYTES) };
  return refusal('"authorize" returned neither {as: "name"} nor {refuse: "reason"}');
}

function refusal(reason: string): AuthorizeDecisionOutput {
  return { type: 'refused', reason: cutText(reason.toWellFormed(), REASON_BYTES) };
}

/**
 * The longest time of one attempt, in milliseconds: less than the server's limit of a minute, so that a hanging function does not block a
 * worker slot.
 */
const NOTIFY_MS = 50_000;

/**
 * Creates the activity that notifies the worker's `notify` of a call that waits for a decision. A failed attempt is retried with the same
 * id.
 */
export function notifyWaitingActivity(runtime: ActivityRuntime): (input: NotifyWaitingInput) => Promise<void> {
  return failingAs('notification_failed', async (input) => {
    const { notify, aborts, heartbeatMs, resourcePool } = runtime;
    if (notify === undefined) {
      throw new LonghaulError('notification_failed', 'This worker has no "notify", but the run was started by a worker that has one');
    }
    await runAttempt(aborts, { heartbeatMs }, async ({ signal }) => {
      if (attemptInfo().attempt > 1 && !(await stillWaits(input))) return;
      const args = await argumentsOf(runtime, input);
      // By query, so that data that the run already has does not enter its history again.
      const { about } = await queryRun<StatusView>(input, QUERIES.status, null);
      const notice = noticeOf(input, args, about);
      const { deps } = await queryRun<DataView>(input, QUERIES.data, null);
      try {
        const resources = await resourcePool.use();
        const call = (attemptSignal: AbortSignal): void | Promise<void> =>
          notify(notice, { deps: Object.freeze(deps), resources, signal: attemptSignal });
        await withTimeout(call, { ms: NOTIFY_MS, stop: signal });
      } catch (error) {
        throw signal.aborted ? signal.reason : error;
      }
    });
  });
}

/**
 * Returns true if the call still waits for a decision. A retry may come much later, and a call that was decided meanwhile needs no notice.
 */
async function stillWaits(input: NotifyWaitingInput): Promise<boolean> {
  for (let from = 0; ;) {
    const { pending, total } = await queryRun<ApprovalsPage>(input, QUERIES.approvals, { from });
    // Another limit may have been reached at the same place of the record.
    if (pending.some(({ key, digest }) => key === input.waiting.key && digest === input.waiting.digest)) return true;
    from += pending.length;
    if (pending.length === 0 || from >= total) return false;
  }
}

async function argumentsOf(runtime: ActivityRuntime, input: NotifyWaitingInput): Promise<JsonObject> {
  const { at, eventId, rewritten, waiting } = input;
  if (at === undefined || eventId === undefined) return { ...waiting.proposal };
  return callArguments(runtime, input, { at, eventId, callId: waiting.callId, ...(rewritten ? { rewritten } : {}) });
}

function noticeOf(input: NotifyWaitingInput, args: JsonObject, about: RunSubject): WaitingNotice {
  const { notificationId, agentName, waiting } = input;
  const { kind, callId, toolName, digest, deadlineAt, onDeadline, reason } = waiting;
  return {
    id: notificationId,
    runId: runIdOf(input),
    agentName,
    about,
    kind,
    callId,
    toolName,
    arguments: args,
    digest,
    ...(deadlineAt === undefined ? {} : { deadline: isoTime(deadlineAt) }),
    ...defined({ onDeadline, reason }),
  };
}

/**
 * Creates the activity that asks a tool's predicate again, with the current deps, whether a call needs a decision. It returns null if not.
 */
function reevaluateApprovalActivity(runtime: ActivityRuntime): (input: ReevaluateApprovalInput) => Promise<ApprovalRequirement | null> {
  return failingAs('internal', async (input) => {
    const snapshot = await runtime.snapshots.load(input, input.agent);
    const tool = snapshot.tools.find(({ name }) => name === input.tool);
    if (tool !== undefined) requireReviewedTool(runtime, input, snapshot, tool);
    const call = {
      type: 'tool_call' as const,
      toolCallId: input.callId,
      name: input.tool,
      arguments: await callArguments(runtime, input, input),
    };
    return runAttempt(runtime.aborts, { heartbeatMs: runtime.heartbeatMs }, async ({ signal }) => {
      const requirement = await askPredicate({ runtime, run: input, snapshot, signal }, call, () => dataFor(runtime, input));
      return requirement === undefined ? null : { digest: callDigest(call), ...requirement };
    });
  });
}

/** Creates the activity that returns the arguments that a tool runs with, for arguments that no activity has made. */
function parseArgumentsActivity(runtime: ActivityRuntime): (input: ParseArgumentsInput) => Promise<ParseArgumentsOutput> {
  return failingAs('internal', async (input) => {
    const snapshot = await runtime.snapshots.load(input, input.agent);
    const tool = snapshot.tools.find(({ name }) => name === input.tool);
    if (tool !== undefined) requireReviewedTool(runtime, input, snapshot, tool);
    const { args, problem } = await parsedArguments(runtime, snapshot, input.tool, input.arguments);
    return problem === undefined ? { arguments: args } : { problem };
  });
}
