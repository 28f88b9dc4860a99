import { isNarrowing, matchesGlob, permissionsProblem, rulesForNoTool } from '../domain/permissions.ts';
import { SET_PERMISSIONS_INPUT, type SetPermissionsInput, type SetPermissionsReceipt } from '../domain/permission-requests.ts';
import type { JsonValue } from '../domain/json.ts';
import { isoTime } from '../domain/time.ts';
import { changePermissions, ownPermissions, permissionChanges } from '../capabilities/permissions.ts';
import { requestProblem } from '../input-checks.ts';
import type { RunState } from '../kernel/run-state.ts';
import { invalidRequest, type MessageReceiver, noRoomForRequest, type Refusal, type RequestKind, unavailable } from './decisions.ts';

/** Sets the permissions of the run. Wider permissions require the worker's `authorize`. */
export const setPermissions: RequestKind<SetPermissionsInput, SetPermissionsReceipt> = {
  description: 'Sets the permissions: {"id": "your own", "permissions": {"mode": "default", "deny": [{"tool": "web_*"}], ...}, "by"?}',
  refusal: permissionsRefusal,
  asks: (_, { permissions }) => ({ permissions: permissions as JsonValue }),
  take({ inbox, state }, { id, permissions, by }, { now }) {
    if (inbox.accepted.has(id)) return { version: 1, id, status: 'duplicate' };
    const isNarrower =
      state !== undefined && [newestOwn({ inbox }, state), ownPermissions(state)].every((own) => isNarrowing(own, permissions));
    changePermissions(inbox, { id, permissions, by: by ?? null, at: isoTime(now) });
    return { version: 1, id, status: isNarrower ? 'set' : 'to_authorize' };
  },
};

function permissionsRefusal(run: MessageReceiver, input: unknown): Refusal | undefined {
  const { state, runId, inbox } = run;
  const problem = requestProblem(SET_PERMISSIONS_INPUT, input);
  if (problem !== undefined) return invalidRequest(run, 'setPermissions', problem);
  const { id, permissions } = input as SetPermissionsInput;
  const wrong = permissionsProblem(permissions);
  if (wrong !== undefined) return invalidRequest(run, 'setPermissions', `permissions.${wrong}`);
  const busy = unavailable(run, 'decisions');
  if (busy !== undefined) return busy;
  // This state is brief: the first activity of the run resolves the agent.
  if (state === undefined) return { code: 'busy', message: `Run "${runId}" has not resolved its agent yet: send it again in a moment` };
  if (inbox.accepted.has(id)) return undefined;
  if (state.program !== undefined) return invalidRequest(run, 'setPermissions', 'it is the run of a program, which has no permissions');
  const { tools, authorize } = state.snapshot;
  const [unknown] = rulesForNoTool(permissions, (glob) => tools.some(({ name }) => matchesGlob(glob, name, true)));
  if (unknown !== undefined) return invalidRequest(run, 'setPermissions', `permissions.${unknown} matches no tool of the run`);
  if (!authorize && !isNarrowing(newestOwn(run, state), permissions)) {
    const message = `The permissions of run "${runId}" would be wider: its worker has no "authorize", without which they can only be narrowed`;
    return { code: 'not_authorized', message };
  }
  return noRoomForRequest(input, run);
}

/** Returns the policy after the pending changes. */
function newestOwn({ inbox }: Pick<MessageReceiver, 'inbox'>, state: RunState): SetPermissionsInput['permissions'] {
  return permissionChanges(inbox).at(-1)?.permissions ?? ownPermissions(state);
}
