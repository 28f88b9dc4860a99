import type { AnyTool } from '../src/define/tool-definition.ts';
import type { VerifiedOutcome } from '../src/define/tool-policy-options.ts';
import { LonghaulError } from '../src/domain/error.ts';
import type { VerifyCallInput, VerifyCallOutput } from '../src/protocol.ts';
import { attempt } from './attempt.ts';
import { calledTool } from './called-tool.ts';
import { toOutcome } from './execute-tool.ts';
import { failingAs } from './failure.ts';
import { MissingHere } from './missing-here.ts';
import { dataFor } from './run-data.ts';
import { toolOutput } from './run-tool.ts';
import type { ActivityRuntime } from './runtime.ts';
import { toolContext } from './tool-context.ts';
import { timeLimit } from './tool-timeout.ts';

/** Asks a tool what became of a call whose answer was lost. What the tool throws is tried again. */
export function verifyCallActivity(runtime: ActivityRuntime): (input: VerifyCallInput) => Promise<VerifyCallOutput> {
  return failingAs('verification_failed', (input) => verifyCall(runtime, input));
}

async function verifyCall(runtime: ActivityRuntime, input: VerifyCallInput): Promise<VerifyCallOutput> {
  const { tool: name, agentName } = input;
  const tool = calledTool(runtime, input, name);
  if (tool === undefined) throw runtime.registry.missingTool(agentName, name, input.mcp?.server);
  const verify = verifierOf(tool);
  return attempt(runtime.aborts, { heartbeatMs: runtime.heartbeatMs }, async (own) => {
    const { deps, state } = await dataFor(input);
    const limit = timeLimit(name, input.timeoutMs ?? 60_000, (reason) => own.abort(reason));
    try {
      const parts = {
        deps: runtime.registry.deps(agentName, deps),
        state,
        resources: await runtime.resourcePool.use(tool.resources),
        changes: new Map(),
        attempt: own,
      };
      const context = toolContext(runtime, input, parts);
      const found = clearly(name, await limit.race(Promise.resolve(verify(context.idempotencyKey, context as never))));
      if (!found.happened) return { happened: false, tool: name };
      const executed = { ...(await toOutcome(tool, found.result)), durationMs: 0 };
      return {
        happened: true,
        output: await toolOutput(runtime, { input, name, tool, args: {}, deps, state, resources: parts.resources }, executed),
      };
    } finally {
      limit.clear();
    }
  });
}

/** What says neither is not taken for a no: the call may have happened. */
function clearly(name: string, found: VerifiedOutcome | undefined | null): VerifiedOutcome {
  if (typeof found?.happened === 'boolean') return found;
  throw new LonghaulError(
    'verification_failed',
    `"verify" of tool "${name}" returned neither {happened: true, result} nor {happened: false}`,
  );
}

function verifierOf({ name, verify }: AnyTool): NonNullable<AnyTool['verify']> {
  if (verify !== undefined) return verify;
  const message = `This worker has no "verify" of tool "${name}": it cannot say what became of the call`;
  throw new MissingHere('verification_failed', message, { kind: '"verify" of tool', name, known: [] });
}
