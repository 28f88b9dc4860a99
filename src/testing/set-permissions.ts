import { type PermissionOptions, setPermissionsInput } from '../define/permissions.ts';
import type { Moment, Occurrence } from './test-plan.ts';

/** Sets the permissions of the run. */
export function setPermissions(permissions: PermissionOptions, at: Moment): Occurrence {
  return {
    at,
    written: ['setPermissions', permissions],
    idWord: 'permissions',
    onServer: (run, id) => run.setPermissions(permissions, { id }),
    inMemory(run, id) {
      run.update('setPermissions', setPermissionsInput(run.runId, { id, permissions }));
    },
  };
}
