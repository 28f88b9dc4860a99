import type { AuthorizeContext, AuthorizeDecision, DecisionToAuthorize } from '../../src/define/decision-hooks.ts';
import { cutText } from '../../src/core/domain/content/cut-content.ts';
import { errorMessage } from '../../src/core/domain/errors/error.ts';
import {
  type AuthorizeDecisionInput,
  type AuthorizeDecisionOutput,
  type DataView,
  type DecisionContent,
  type DecisionQuestion,
  QUERIES,
} from '../../src/core/protocol.ts';
import { runAttempt } from '../attempts/attempt.ts';
import { callArguments } from '../tool-calls/call-arguments.ts';
import { failingAs } from '../failures/failure.ts';
import { MissingOnWorkerError } from '../attempts/missing-on-worker.ts';
import { queryRun, runIdOf } from '../run-queries/access.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { logToolError } from '../tool-calls/tool-errors.ts';

/** The most bytes of JSON of a name and of a reason: both are recorded, and names are carried over by continue-as-new. */
const NAME_BYTES = 300;
const REASON_BYTES = 2_000;

/**
 * Creates the activity that asks the worker's `authorize` whether the author of a decision may decide. An error that
 * the hook throws is a refusal, like a refusal that it returns: the approver waits for the answer, and can send the
 * decision again. Only failures that happen before the hook is called are retried.
 */
export function authorizeDecisionActivity(runtime: ActivityRuntime): (input: AuthorizeDecisionInput) => Promise<AuthorizeDecisionOutput> {
  return failingAs('authorization_failed', async (input) => {
    const { authorize, aborts, heartbeatMs } = runtime;
    if (authorize === undefined) {
      const message = 'This worker has no "authorize", but the run was started by a worker that has one';
      throw new MissingOnWorkerError('authorization_failed', message, { kind: 'hook', name: 'authorize', known: [] });
    }
    return runAttempt(aborts, { heartbeatMs }, async ({ signal }) => {
      const decision = await readDecision(runtime, input);
      const { deps } = await queryRun<DataView>(input, QUERIES.data, null);
      const runId = runIdOf(input);
      const resources = await runtime.resourcePool.use();
      const context = { deps: Object.freeze(deps), resources, signal, runId, agent: input.agentName };
      const answer = await ask(runtime, authorize, decision, context);
      return runtime.secrets.redactJson(answer) as AuthorizeDecisionOutput;
    });
  });
}

async function readDecision(runtime: ActivityRuntime, input: AuthorizeDecisionInput): Promise<DecisionToAuthorize> {
  const { at, eventId, rewritten, decision } = input;
  const { id, type, callId, toolName, reason, remember, by, source } = decision;
  const { arguments: edited, content } = input.contentByReference
    ? await queryRun<DecisionContent>(input, QUERIES.decision, { id } satisfies DecisionQuestion)
    : input;
  return {
    id,
    type,
    callId,
    toolName,
    arguments:
      at === undefined || eventId === undefined
        ? {}
        : await callArguments(runtime, input, { at, eventId, callId, ...(rewritten ? { rewritten } : {}) }),
    ...(edited === undefined ? {} : { editedArguments: edited }),
    ...(content === undefined ? {} : { content }),
    ...(reason === undefined ? {} : { reason }),
    ...(remember === undefined ? {} : { remember }),
    by,
    source,
  };
}

async function ask(
  runtime: ActivityRuntime,
  authorize: AuthorizeDecision,
  decision: DecisionToAuthorize,
  context: AuthorizeContext,
): Promise<AuthorizeDecisionOutput> {
  try {
    return verdict(await authorize(decision, context));
  } catch (error) {
    if (context.signal.aborted) throw context.signal.reason;
    // The approver reads the message; the author of the hook needs the stack.
    logToolError(runtime, { what: '"authorize"', agent: context.agent, callId: decision.callId }, error, 'error');
    return refused(errorMessage(error) || '"authorize" failed without a message');
  }
}

/** Reads the answer of the hook. Anything but a clear identity is a refusal. */
function verdict(answer: unknown): AuthorizeDecisionOutput {
  const { as, refuse } = typeof answer === 'object' && answer !== null ? (answer as Partial<Record<string, unknown>>) : {};
  if (typeof refuse === 'string') return refused(refuse);
  if (typeof as === 'string' && as !== '') return { type: 'authorized', as: cutText(as.toWellFormed(), NAME_BYTES) };
  return refused('"authorize" returned neither {as: "name"} nor {refuse: "reason"}');
}

function refused(reason: string): AuthorizeDecisionOutput {
  return { type: 'refused', reason: cutText(reason.toWellFormed(), REASON_BYTES) };
}
