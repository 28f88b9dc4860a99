// Shared state: requests from outside, as they are carried into the next execution.

import type { Decision, RefusedRequest } from '../../domain/approvals.ts';
import type { LimitRaise } from '../../domain/limits.ts';
import type { PermissionChange } from '../../domain/permissions.ts';
import type { NextTurnInput } from '../../domain/children.ts';
import type { CloseRequest, TurnInterrupt } from '../../domain/sessions.ts';
import type { QueuedMessage } from '../../domain/content.ts';

/** The requests of callers that a run carries into its next execution. */
export interface CarriedInbox {
  /** Accepted messages that are not yet recorded, in order. */
  messages: QueuedMessage[];
  /** Ids of accepted messages, the newest last, to recognise a message that is sent again. */
  seen: string[];
  /** For a session: the turns that answer these messages, each with the number of successive ids. 0: no message. Absent if none has a turn. */
  seenTurns?: [turn: number, ids: number][];
  paused: boolean;
  /** The reason for a cancellation, if a caller gave it before the request to cancel. */
  cancelReason?: string;
  /** A caller has asked for a cancellation by Signal. */
  cancelAsked?: true;
  /** Decisions that were accepted and not yet applied. */
  decisions?: Decision[];
  raises?: LimitRaise[];
  /** Changes of the permissions that were accepted and not yet applied. */
  permissionChanges?: PermissionChange[];
  /** Refused requests that are not yet recorded. */
  refused?: RefusedRequest[];
  /** A caller has closed the session. */
  closing?: CloseRequest;
  /** A caller has interrupted the current turn. */
  turnInterrupt?: TurnInterrupt;
  /** The message of the run that keeps the session, before its turn has begun. */
  nextTurn?: NextTurnInput;
  /** The run that is told of the end of this one. */
  reportTo?: string;
  /** Ids of children that have told of their end. */
  endedChildren?: string[];
  /** Ids of children that wait for a person. */
  waitingChildren?: string[];
  /** The run above has paused this one. */
  pausedAbove?: true;
  /** The children have been told to pause, and not to go on. */
  childrenPaused?: true;
}
