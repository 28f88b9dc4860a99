import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type AgentSnapshot, toolOwner, type ToolSnapshot } from '../../src/core/domain/agent.ts';
import type { ApprovalRequirement } from '../../src/core/domain/approvals.ts';
import { isToolCall, type ToolCall } from '../../src/core/domain/content.ts';
import { cutText } from '../../src/core/domain/byte-budgets.ts';
import { canonicalJson, defined } from '../../src/core/domain/json.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import type { RecordedResponse } from '../../src/core/domain/model.ts';
import { type DataView, type OfRun, QUERIES } from '../../src/core/protocol.ts';
import { type ApprovalContext, requirementFrom } from '../../src/define/approvals.ts';
import type { AnyTool } from '../../src/define/tool-definition.ts';
import { isWaitOver } from '../attempts/attempt.ts';
import { logToolError } from '../attempts/checked-activity.ts';
import { queryRun, runIdOf, runKey } from '../run-queries/query-run.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { findTool } from '../tool-calls/run-tool.ts';
import type { ReviewScope } from '../worker-part.ts';

/** 132 bits in base64url, as in the digest of a snapshot. */
const DIGEST_LENGTH = 22;

/** The time limit of a predicate, in milliseconds: a model call that has been paid for waits for it. */
const PREDICATE_MS = 30_000;

/** The most bytes of JSON of a reason: it is shown with the call, and carried over while the call waits. */
const REASON_BYTES = 500;

/** The answer of a predicate, without the digest that a decision is bound to. */
type PredicateAnswer = Omit<ApprovalRequirement, 'digest'>;

/**
 * Returns the approval requirements of the calls that need a decision, by call id; undefined if none does. A call also
 * needs a decision if its predicate throws, does not answer in time, or is missing from this worker.
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
 * Throws `MissingOnWorkerError` if this worker lacks a tool that has a predicate in the snapshot, and another worker may have
 * it: before the model call is paid for. Once the wait for another worker is over, calls of that tool need a decision
 * for the rest of the run. The same holds if the tool no longer has a predicate.
 */
export function requirePredicate(
  runtime: ActivityRuntime,
  run: OfRun,
  snapshot: AgentSnapshot,
  { name, approval, mcp }: ToolSnapshot,
): void {
  if (approval?.when !== 'predicate') return;
  const owner = toolOwner(snapshot);
  if (findTool(runtime, { ...owner, ...defined({ mcp }) }, name) !== undefined) return;
  const key = `${runKey(run).chain}/${name}`;
  if (isWaitOver()) runtime.missingNames.add(key);
  if (!runtime.missingNames.has(key)) throw runtime.registry.missingTool(owner, name, mcp?.server);
}

/** Asks the predicate of a call, with the deps and the state that `data` returns. */
export async function askPredicate(
  scope: ReviewScope,
  call: ToolCall,
  data: () => Promise<DataView>,
): Promise<PredicateAnswer | undefined> {
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

/** Secrets are redacted before the text is cut: a part of one would not be found. */
function briefReason({ secrets }: ActivityRuntime, reason: string): string {
  return cutText(secrets.redact(reason).toWellFormed(), REASON_BYTES);
}
