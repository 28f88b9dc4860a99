import type { RunHandle } from '../client/run-handle.ts';
import type { ContentPart, MessageMode } from '../core/domain/content.ts';
import { type LimitOptions, plainLimits } from '../core/domain/limits.ts';
import type { RaiseInput, SendInput, UPDATES } from '../core/protocol.ts';
import { type PermissionOptions, plainPermissions } from '../define/permissions.ts';
import type { SetPermissionsInput } from '../core/domain/requests.ts';

/**
 * The time at which a test acts on a run: while the model is called for that step (1-based); with `tool`, while the
 * first call of the tool in that step runs; with `waiting`, while such a call waits for a decision and nothing else
 * is running.
 */
export interface Moment {
  /** The step in which it happens, from 1. */
  step: number;
  /** The tool whose call is running. */
  tool?: string;
  /** While a call waits for a person. */
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

/** A run in memory, by the rules of the handlers of its workflow. */
export interface RunInMemory {
  /** Sends an Update. Throws the error of a client if the run refuses it. */
  update(name: keyof typeof UPDATES, input: object): void;
  cancel(reason: string): void;
}

/** A kind of action: how it is written, and how a run gets it. */
interface OccurrenceKind<One extends Occurrence> {
  /** The function that plans it, and its argument besides the moment. */
  written(one: One): [name: string, argument: unknown];
  /** The first word of its id. Absent: it has none. */
  idWord?: string;
  /** Sends it to a run on a server, like any other client. */
  onServer(run: RunHandle<unknown>, one: One, id: string): Promise<unknown>;
  inMemory(run: RunInMemory, one: One, id: string): void;
}

const KINDS: { readonly [Type in Occurrence['type']]: OccurrenceKind<Extract<Occurrence, { type: Type }>> } = {
  send: {
    written: ({ content }) => ['sendMessage', content],
    idWord: 'message',
    onServer: (run, { content, mode }, id) => run.send(content, { id, mode }),
    inMemory: (run, { content, mode }, id) => run.update('send', { id, content, mode } satisfies SendInput),
  },
  cancel: {
    written: ({ reason }) => ['cancelRun', reason],
    onServer: (run, { reason }) => run.cancel(reason),
    inMemory: (run, { reason }) => run.cancel(reason),
  },
  permissions: {
    written: ({ permissions }) => ['setPermissions', permissions],
    idWord: 'permissions',
    onServer: (run, { permissions }, id) => run.setPermissions(permissions, { id }),
    inMemory(run, { permissions }, id) {
      run.update('setPermissions', { id, permissions: plainPermissions('setPermissions', permissions) } satisfies SetPermissionsInput);
    },
  },
  raise: {
    written: ({ limits }) => ['raiseLimits', limits],
    idWord: 'raise',
    onServer: (run, { limits }, id) => run.raise(limits, { id }),
    inMemory: (run, { limits }, id) => run.update('raise', { id, limits: plainLimits('raise', limits) } satisfies RaiseInput),
  },
};

/** Returns the kind of an occurrence, whichever it is. */
export function kindOf(occurrence: Occurrence): OccurrenceKind<Occurrence> {
  return KINDS[occurrence.type];
}

/** Returns the call that creates an occurrence, for messages. */
export function occurrenceText(occurrence: Occurrence): string {
  const { step, tool, waiting } = occurrence.at;
  const moment = `{step: ${step}${tool === undefined ? '' : `, tool: "${tool}"`}${waiting === undefined ? '' : `, waiting: "${waiting}"`}}`;
  const [name, argument] = kindOf(occurrence).written(occurrence);
  return `${name}(${JSON.stringify(argument)}, ${moment})`;
}
