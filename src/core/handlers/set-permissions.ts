import { matchesGlob } from '../domain/permissions/glob.ts';
import { isNarrowing } from '../domain/permissions/is-narrowing.ts';
import { permissionsProblem, rulesForNoTool } from '../domain/permissions/permissions-problem.ts';
import { ownPermissions } from '../loop/permissions/permission-changes.ts';
import type { RunState } from '../loop/state/run-state.ts';
import type { SetPermissionsInput, SetPermissionsReceipt } from '../protocol.ts';
import { setPermissionsProblem } from '../wire-schemas/requests/request-schema.ts';
import { invalidRequest, type MessageReceiver, noRoomForRequest, type Refusal, type RequestKind, unavailable } from './message-receiver.ts';
import { isoTime } from '../domain/record/time.ts';

/** Sets the permissions of the run. What makes them wider needs the `authorize` hook of the worker. */
export const setPermissions: RequestKind<SetPermissionsInput, SetPermissionsReceipt> = {
  description: 'Sets the permissions: {"id": "your own", "permissions": {"mode": "default", "deny": [{"tool": "web_*"}], ...}, "by"?}',
  refusal,
  take({ inbox, state }, { id, permissions, by }, { now }) {
    if (inbox.has(id)) return { version: 1, id, status: 'duplicate' };
    const isNarrower =
      state !== undefined && [newestOwn({ inbox }, state), ownPermissions(state)].every((own) => isNarrowing(own, permissions));
    inbox.changePermissions({ id, permissions, by: by ?? null, at: isoTime(now) });
    return { version: 1, id, status: isNarrower ? 'set' : 'to_authorize' };
  },
};

function refusal(run: MessageReceiver, input: unknown): Refusal | undefined {
  const { state, runId, inbox } = run;
  const problem = setPermissionsProblem(input);
  if (problem !== undefined) return invalidRequest(run, 'setPermissions', problem);
  const { id, permissions } = input as SetPermissionsInput;
  const wrong = permissionsProblem(permissions);
  if (wrong !== undefined) return invalidRequest(run, 'setPermissions', `permissions.${wrong}`);
  const busy = unavailable(run, 'decisions');
  if (busy !== undefined) return busy;
  // This state is short: the first activity of the run resolves the agent.
  if (state === undefined) return { code: 'busy', message: `Run "${runId}" has not resolved its agent yet: send it again in a moment` };
  if (inbox.has(id)) return undefined;
  if (state.program !== undefined) return invalidRequest(run, 'setPermissions', 'it is the run of a program, which has no permissions');
  const { tools, authorize } = state.snapshot;
  const [unknown] = rulesForNoTool(permissions, (glob) => tools.some(({ name }) => matchesGlob(glob, name, true)));
  if (unknown !== undefined) return invalidRequest(run, 'setPermissions', `permissions.${unknown} matches no tool of the run`);
  if (!authorize && !isNarrowing(newestOwn(run, state), permissions)) {
    const message = `The permissions of run "${runId}" would be wider: its worker has no "authorize" hook, without which they can only be narrowed`;
    return { code: 'not_authorized', message };
  }
  return noRoomForRequest(input, run);
}

/** Returns the policy as it will be after the changes that are not applied yet. */
function newestOwn({ inbox }: Pick<MessageReceiver, 'inbox'>, state: RunState): SetPermissionsInput['permissions'] {
  return inbox.permissionChanges.at(-1)?.permissions ?? ownPermissions(state);
}
