import { z } from 'zod';
import { SET_PERMISSIONS_RECEIPT } from '../../../core/domain/permission-requests.ts';
import { recordedName } from '../../auth/caller.ts';
import { requestId } from '../../requests.ts';
import { defineRoute, ok, REQUEST_PROBLEMS, runParams } from '../../route.ts';
import { component, ignoredBy, list, members, MOST, requestIdText } from '../../schemas/values.ts';

const rule = component(
  'PermissionRule',
  z.strictObject({
    tool: z.string().exactOptional(),
    category: z.string().exactOptional(),
    args: members(z.string()).exactOptional(),
    capability: z.string().exactOptional(),
  }),
);

const rules = list(z.union([z.string(), rule]), { max: MOST.parts }).exactOptional();

/** The body of a change of permissions. */
const permissionsBody = component(
  'SetPermissions',
  z.strictObject({
    permissions: z.strictObject({
      mode: z.enum(['default', 'permissive', 'strict']).exactOptional(),
      deny: rules,
      ask: rules,
      allow: rules,
      approvalRequired: rules,
      allowUnattendedExecute: z.boolean().exactOptional(),
    }),
    id: requestIdText.exactOptional(),
    by: ignoredBy.exactOptional(),
  }),
);

/** The route that sets the permissions of a run. */
export const setPermissionsRoute = defineRoute(
  {
    method: 'PUT',
    tag: 'runs',
    params: runParams,
    path: '/v1/runs/{runId}/permissions',
    id: 'setPermissions',
    summary: 'Set the permissions of a run',
    // Who sets them decides which calls wait for a decision at all.
    scope: 'approvals:decide',
    body: permissionsBody,
    idempotencyKey: 'Becomes the id of the request, unless the body has one: the run accepts it once.',
    responses: ok(
      component('SetPermissionsReceipt', SET_PERMISSIONS_RECEIPT),
      'The permissions are set, or wait for the worker to authorize them.',
    ),
    problems: [...REQUEST_PROBLEMS, 'invalid_input', 'not_authorized', 'not_permitted', 'key_reused'],
  },
  async (request) => {
    const { params, body, caller, client } = request;
    const options = { by: recordedName(caller), ...requestId(body, request) };
    return { status: 200, body: await client.handle(params.runId).setPermissions(body.permissions, options) };
  },
);
