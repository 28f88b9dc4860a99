import { UsageError } from '../src/core/domain/errors/error.ts';
import { ACTIVITIES } from '../src/core/protocol.ts';
import { archiveEventsActivity } from './hooks/archive-events.ts';
import { authorizeDecisionActivity } from './hooks/authorize-decision.ts';
import { checkGuardrailsActivity } from './guardrails/check-guardrails.ts';
import { callHooksActivity } from './hooks/call-hooks.ts';
import { callModelActivity } from './model-calls/call-model.ts';
import { checkedActivity } from './attempts/checked-activity.ts';
import { type DefaultActivity, defaultActivity } from './tool-calls/default-activity.ts';
import { withGrowingDelay } from './attempts/delayed-failure.ts';
import { withWorkerFailover } from './attempts/worker-failover.ts';
import { notifyEndedActivity } from './hooks/notify-ended.ts';
import { notifyWaitingActivity } from './hooks/notify-waiting.ts';
import { checkParent } from './run-queries/check-parent.ts';
import { readCallInput } from './run-queries/read-call-input.ts';
import { readResult } from './run-queries/read-result.ts';
import { requestRunCancel } from './run-queries/request-run-cancel.ts';
import { resolveAgentActivity } from './agents/resolve-agent.ts';
import { runToolActivity } from './tool-calls/run-tool.ts';
import { askRequirementActivity } from './tool-calls/ask-requirement.ts';
import { askStepActivity } from './programs/ask-step.ts';
import { loadOutputActivity } from './programs/load-output.ts';
import { runCodeActivity } from './code/run-code.ts';
import { readProgramActivity } from './programs/read-program.ts';
import { resolveProgramActivity } from './programs/resolve-program.ts';
import { storeOutputsActivity } from './programs/store-outputs.ts';
import { useMemoryActivity } from './programs/use-memory.ts';
import { summariseActivity } from './model-calls/summarise.ts';
import { verifyCallActivity } from './tool-calls/verify-call.ts';
import type { ActivityRuntime } from './runtime.ts';

/** The name of the activity that the SDK runs for a type that is not registered. */
export const DEFAULT = 'default';

/** Activities by name, as a Temporal worker takes them. */
export type Activities = Record<string, (input: never) => Promise<unknown>>;

/**
 * Returns all activities of a worker: Longhaul's own, and one for each tool under the tool's name. The `default`
 * activity runs calls of types that are not registered, such as tools of MCP servers, and passes any other call to
 * `existing`. With `existing` set to 'kept', Longhaul registers no `default` activity.
 */
export function createActivities(runtime: ActivityRuntime, existing?: DefaultActivity | 'kept'): Activities {
  const checked = <Input, Output>(activity: (input: Input) => Promise<Output>) =>
    withGrowingDelay(checkedActivity(runtime.secrets, withWorkerFailover(runtime, activity)));
  const runTool = checked(runToolActivity(runtime));
  const activities: Activities = {
    [ACTIVITIES.resolveAgent]: checked(resolveAgentActivity(runtime)),
    [ACTIVITIES.callModel]: checked(callModelActivity(runtime)),
    [ACTIVITIES.summarise]: checked(summariseActivity(runtime)),
    [ACTIVITIES.archiveEvents]: checked(archiveEventsActivity(runtime)),
    [ACTIVITIES.readResult]: checked(readResult),
    [ACTIVITIES.readCallInput]: checked(readCallInput),
    [ACTIVITIES.authorizeDecision]: checked(authorizeDecisionActivity(runtime)),
    [ACTIVITIES.notifyWaiting]: checked(notifyWaitingActivity(runtime)),
    [ACTIVITIES.notifyEnded]: checked(notifyEndedActivity(runtime)),
    [ACTIVITIES.requestCancel]: checked(requestRunCancel),
    [ACTIVITIES.verifyCall]: checked(verifyCallActivity(runtime)),
    [ACTIVITIES.askTerms]: checked(askRequirementActivity(runtime)),
    [ACTIVITIES.resolveProgram]: checked(resolveProgramActivity(runtime)),
    [ACTIVITIES.askStep]: checked(askStepActivity(runtime)),
    [ACTIVITIES.checkParent]: checked(checkParent),
    [ACTIVITIES.useMemory]: checked(useMemoryActivity(runtime)),
    [ACTIVITIES.readProgram]: checked(readProgramActivity(runtime)),
    [ACTIVITIES.storeOutputs]: checked(storeOutputsActivity(runtime)),
    [ACTIVITIES.runCode]: checked(runCodeActivity(runtime)),
    [ACTIVITIES.checkGuardrails]: checked(checkGuardrailsActivity(runtime)),
    [ACTIVITIES.callHooks]: checked(callHooksActivity(runtime)),
    [ACTIVITIES.loadOutput]: checked(loadOutputActivity(runtime)),
  };
  for (const name of new Set([...runtime.registry.toolNames, ...runtime.programs.toolNames])) {
    if (Object.hasOwn(activities, name)) throw new UsageError(`tool "${name}" has the name of an activity of Longhaul: rename the tool`);
    activities[name] = runTool;
  }
  if (existing === 'kept') return activities;
  const knownNames = (): string[] => [...Object.keys(activities).filter((name) => name !== DEFAULT), ...runtime.otherActivities];
  activities[DEFAULT] = defaultActivity({ runTool, existing, knownNames }) as Activities[string];
  return activities;
}
