import { z } from 'zod';
import { list, members, MOST } from './bounded.ts';
import { component } from './component.ts';
import { inputContent } from './content.ts';
import { ignoredBy, requestIdText, version } from './json.ts';
import { runLimits } from './limits.ts';
import { limitOptions } from './start-requests.ts';

const id = requestIdText.exactOptional();
const by = ignoredBy.exactOptional();

/** The moment at which the model reads a message. */
export const messageMode = z.enum(['queue', 'steer', 'interrupt']);

/** The body of a message. */
export const messageBody = component(
  'SendMessage',
  z.strictObject({ content: inputContent, mode: messageMode.exactOptional().describe('Default `queue`.'), id }),
);

/** The answer to a message. */
export const messageReceipt = component(
  'MessageReceipt',
  z.object({
    version,
    id: z.string(),
    status: z.enum(['queued', 'duplicate']),
    queued: z.number(),
    offset: z.number().exactOptional(),
    turn: z.number().exactOptional(),
    beforeStep: z.number().exactOptional(),
  }),
);

/** The answer to a message that may have begun its session. */
export const noticedReceipt = component(
  'NoticedReceipt',
  messageReceipt.extend({
    notice: z.string().exactOptional().describe('What the sender should know, such as that no worker has had the agent so far.'),
  }),
);

/** The answer to a pause or its end. */
export const pauseReceipt = component('PauseReceipt', z.object({ version, paused: z.boolean() }));

/** The body of a cancellation. */
export const cancelBody = component('CancelRun', z.strictObject({ reason: z.string().min(1).exactOptional(), by }));

/** The answer to a cancellation. */
export const cancelReceipt = component('CancelReceipt', z.object({ runId: z.string(), outcome: z.enum(['requested', 'already_ended']) }));

/** The body of a raise. */
export const raiseBody = component('RaiseLimits', z.strictObject({ limits: limitOptions, id, by }));

/** The answer to a raise. */
export const raiseReceipt = component(
  'RaiseReceipt',
  z.object({ version, id: z.string(), status: z.enum(['raised', 'duplicate']), limits: runLimits }),
);

const rule = component(
  'PermissionRule',
  z.strictObject({
    tool: z.string().exactOptional(),
    category: z.string().exactOptional(),
    args: members(z.string()).exactOptional(),
  }),
);

const rules = list(z.union([z.string(), rule]), { max: MOST.parts }).exactOptional();

/** The body of a change of permissions. */
export const permissionsBody = component(
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
    id,
    by,
  }),
);

/** The answer to a change of permissions. */
export const permissionsReceipt = component(
  'SetPermissionsReceipt',
  z.object({ version, id: z.string(), status: z.enum(['set', 'to_authorize', 'duplicate']) }),
);

/** The body of a retry. */
export const retryBody = component('RetryRun', z.strictObject({ fromStep: z.int().min(1).exactOptional() }));

/** The answer to a retry. */
export const retryReceipt = component(
  'RetryReceipt',
  z.object({ runId: z.string(), fromStep: z.number(), executionId: z.string(), dropped: z.array(z.string()) }),
);

/** The answer to a deletion. */
export const deleteReceipt = component('DeleteReceipt', z.object({ runId: z.string(), outcome: z.enum(['deleted', 'not_found']) }));

/** An empty body, with the name of the caller that is ignored. */
export const emptyBody = component('Empty', z.strictObject({ by }));
