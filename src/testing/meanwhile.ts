import type { LimitOptions } from '../core/domain/limits.ts';
import type { ContentPart, MessageMode } from '../core/domain/content.ts';
import type { PermissionOptions } from '../define/permissions.ts';

/**
 * The time at which a test acts on a run: while the model is called for that step (1-based); with `tool`, while the
 * first call of the tool in that step runs; with `waiting`, while such a call waits for a decision and nothing else
 * is running.
 */
export interface Moment {
  step: number;
  tool?: string;
  waiting?: string;
}

/**
 * One planned action on a running run, created by the functions below. A test fails if a planned action does not
 * happen.
 */
export type Occurrence =
  | { readonly type: 'send'; readonly at: Moment; readonly content: string | ContentPart[]; readonly mode: MessageMode }
  | { readonly type: 'cancel'; readonly at: Moment; readonly reason: string }
  | { readonly type: 'permissions'; readonly at: Moment; readonly permissions: PermissionOptions }
  | { readonly type: 'raise'; readonly at: Moment; readonly limits: LimitOptions };

/** Sends a message to the run: `queue` (default), `steer` or `interrupt`. */
export function sendMessage(content: string | ContentPart[], { mode = 'queue', ...at }: Moment & { mode?: MessageMode }): Occurrence {
  return { type: 'send', at, content, mode };
}

/** Cancels the run. */
export function cancelRun(reason: string, at: Moment): Occurrence {
  return { type: 'cancel', at, reason };
}

/** Raises limits of the run. */
export function raiseLimits(limits: LimitOptions, at: Moment): Occurrence {
  return { type: 'raise', at, limits };
}

/** Sets the permissions of the run. */
export function setPermissions(permissions: PermissionOptions, at: Moment): Occurrence {
  return { type: 'permissions', at, permissions };
}

/** Returns the call that creates an occurrence, for messages. */
export function occurrenceText(occurrence: Occurrence): string {
  const { step, tool, waiting } = occurrence.at;
  const moment = `{step: ${step}${tool === undefined ? '' : `, tool: "${tool}"`}${waiting === undefined ? '' : `, waiting: "${waiting}"`}}`;
  switch (occurrence.type) {
    case 'send':
      return `sendMessage(${JSON.stringify(occurrence.content)}, ${moment})`;
    case 'cancel':
      return `cancelRun(${JSON.stringify(occurrence.reason)}, ${moment})`;
    case 'permissions':
      return `setPermissions(${JSON.stringify(occurrence.permissions)}, ${moment})`;
    case 'raise':
      return `raiseLimits(${JSON.stringify(occurrence.limits)}, ${moment})`;
  }
}
