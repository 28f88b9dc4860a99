import type { AnyTool } from '../../src/define/tools/tool-definition.ts';
import type { VerifiedOutcome } from '../../src/define/options/tool-policy-options.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { VerifyCallInput, VerifyCallOutput } from '../../src/core/protocol.ts';
import { type Attempt, runAttempt } from '../attempts/attempt.ts';
import { findTool } from './find-tool.ts';
import { toOutcome } from './execute-tool.ts';
import { failingAs } from '../failures/failure.ts';
import { MissingOnWorkerError } from '../attempts/missing-on-worker.ts';
import { dataFor } from '../run-queries/data.ts';
import { hookedResult, toolOutput } from './run-tool.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { toolContext } from './tool-context.ts';
import { ToolStream } from './tool-stream.ts';
import { startTimeLimit } from './tool-timeout.ts';

/** Creates the activity that asks a tool what happened to a call whose answer was lost. An error of the tool is retried. */
export function verifyCallActivity(runtime: ActivityRuntime): (input: VerifyCallInput) => Promise<VerifyCallOutput> {
  return failingAs('verification_failed', (input) => verifyCall(runtime, input));
}

async function verifyCall(runtime: ActivityRuntime, input: VerifyCallInput): Promise<VerifyCallOutput> {
  const { tool: name } = input;
  const tool = findTool(runtime, input, name);
  if (tool === undefined) throw runtime.registry.missingTool(input, name, input.mcp?.server);
  const verify = verifierOf(tool);
  return runAttempt(runtime.aborts, { heartbeatMs: runtime.heartbeatMs }, async (current) => {
    const limit = startTimeLimit(name, input.timeoutMs, (reason) => current.abort(reason));
    try {
      // Without a limit, a resource that never opens or a payload store that hangs would block the slot forever.
      return await limit.race(askVerifier(runtime, input, { tool, verify, attempt: current }));
    } finally {
      limit.clear();
    }
  });
}

/** The tool to ask, and the attempt that asks it. */
interface Verification {
  tool: AnyTool;
  verify: NonNullable<AnyTool['verify']>;
  attempt: Attempt;
}

async function askVerifier(
  runtime: ActivityRuntime,
  input: VerifyCallInput,
  { tool, verify, attempt: current }: Verification,
): Promise<VerifyCallOutput> {
  const { tool: name } = input;
  const { deps, state, principal } = await dataFor(runtime, input);
  const resources = await runtime.resourcePool.use(tool.resources);
  const stream = new ToolStream(runtime, input, current);
  const parts = { deps: runtime.registry.deps(input, deps), state, principal, resources, changes: new Map(), attempt: current, stream };
  const context = toolContext(runtime, input, parts);
  current.throwIfAborted();
  const found = requireClearAnswer(name, await verify(context.idempotencyKey, context as never));
  if (!found.happened) return { happened: false, tool: name };
  const executed = { ...(await toOutcome(tool, found.result)), durationMs: 0 };
  const call = { input, name, tool, args: input.arguments ?? {}, deps, state, principal, resources };
  const hooked = await hookedResult(runtime, call, executed, current.signal);
  return { happened: true, output: await toolOutput(runtime, call, { ...executed, ...hooked }) };
}

/** Returns the answer if it is a clear yes or no. Any other answer is not taken for a no: the call may have happened. */
function requireClearAnswer(name: string, found: VerifiedOutcome | undefined | null): VerifiedOutcome {
  if (typeof found?.happened === 'boolean') return found;
  throw new LonghaulError(
    'verification_failed',
    `"verify" of tool "${name}" returned neither {happened: true, result} nor {happened: false}`,
  );
}

function verifierOf({ name, verify }: AnyTool): NonNullable<AnyTool['verify']> {
  if (verify !== undefined) return verify;
  const message = `This worker has no "verify" of tool "${name}": it cannot say what became of the call`;
  throw new MissingOnWorkerError('verification_failed', message, { kind: '"verify" of tool', name, known: [] });
}
