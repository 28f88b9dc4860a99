import type { JsonObject } from '../../domain/json/json.ts';
import { COUNT, DURATION, MOMENT } from '../bounded-number.ts';
import { LIMIT_CHANGES_SCHEMA } from '../limits-schema.ts';
import { PERMISSIONS_SCHEMA } from '../permissions-schema.ts';
import { propertiesOf } from '../../json-schema/json-schema.ts';
import { RUN_INPUT_SCHEMA } from '../run-input-schema.ts';
import { NEXT_TURN_SCHEMA } from '../requests/next-turn-schema.ts';
import { CLOSING_SCHEMA, SESSION_LIMITS_SCHEMA, TURN_INTERRUPT_SCHEMA } from '../requests/session-schema.ts';
import { DEADLINE_ACTION } from '../snapshot-schema.ts';

const TEXT: JsonObject = { type: 'string' };
const OBJECT: JsonObject = { type: 'object' };
const TEXT_OR_NULL: JsonObject = { type: ['string', 'null'] };
const DECISION_TYPE: JsonObject = { enum: ['approve', 'reject', 'respond'] };

const PENDING: JsonObject = {
  type: 'object',
  properties: {
    kind: { enum: ['tool', 'question', 'limit', 'outcome'] },
    callId: TEXT,
    toolName: TEXT,
    digest: TEXT,
    key: TEXT,
    step: COUNT,
    at: TEXT,
    requestedAt: MOMENT,
    deadlineAt: MOMENT,
    onDeadline: DEADLINE_ACTION,
    reason: TEXT,
    proposal: LIMIT_CHANGES_SCHEMA,
    notified: { type: 'boolean' },
  },
  required: ['kind', 'callId', 'toolName', 'digest', 'key', 'step', 'requestedAt'],
};

const DECIDED: JsonObject = {
  type: 'object',
  properties: {
    id: TEXT,
    type: DECISION_TYPE,
    callId: TEXT,
    toolName: TEXT,
    digest: TEXT,
    reason: TEXT,
    remember: { enum: ['tool', 'arguments'] },
    by: TEXT_OR_NULL,
    verifiedBy: TEXT,
    source: { enum: ['update', 'signal', 'deadline', 'remembered'] },
    at: TEXT,
  },
  required: ['id', 'type', 'callId', 'toolName', 'digest', 'by', 'source', 'at'],
};

const DECISION: JsonObject = { ...DECIDED, properties: { ...propertiesOf(DECIDED), arguments: OBJECT, content: true } };

const REMEMBERED: JsonObject = {
  type: 'object',
  properties: {
    id: TEXT,
    type: DECISION_TYPE,
    toolName: TEXT,
    agent: TEXT,
    digest: TEXT,
    reason: TEXT,
    by: TEXT_OR_NULL,
    verifiedBy: TEXT,
    at: TEXT,
  },
  required: ['id', 'type', 'toolName', 'by', 'at'],
};

const MESSAGE: JsonObject = {
  type: 'object',
  properties: {
    id: TEXT,
    content: propertiesOf(RUN_INPUT_SCHEMA)['input'] ?? true,
    mode: { enum: ['steer', 'interrupt'] },
    timestamp: TEXT,
  },
  required: ['id', 'content', 'timestamp'],
};

const RAISE_OF_RUN: JsonObject = {
  type: 'object',
  properties: { id: TEXT, limits: LIMIT_CHANGES_SCHEMA, session: false, by: TEXT_OR_NULL, at: TEXT },
  required: ['id', 'limits', 'by', 'at'],
};

const RAISE_OF_SESSION: JsonObject = {
  type: 'object',
  properties: {
    id: TEXT,
    limits: { type: 'object', additionalProperties: false },
    session: SESSION_LIMITS_SCHEMA,
    by: TEXT_OR_NULL,
    at: TEXT,
  },
  required: ['id', 'limits', 'session', 'by', 'at'],
};

const RAISE: JsonObject = { anyOf: [RAISE_OF_RUN, RAISE_OF_SESSION] };

const PERMISSION_CHANGE: JsonObject = {
  type: 'object',
  properties: { id: TEXT, permissions: PERMISSIONS_SCHEMA, by: TEXT_OR_NULL, at: TEXT },
  required: ['id', 'permissions', 'by', 'at'],
};

const REFUSED: JsonObject = {
  type: 'object',
  properties: { request: TEXT, id: TEXT, callId: TEXT, by: TEXT, code: TEXT, message: TEXT },
  required: ['request', 'code', 'message'],
};

function listOf(items: JsonObject): JsonObject {
  return { type: 'array', items };
}

/** The JSON Schema of the approval that a call requires. */
export const REQUIREMENT_SCHEMA: JsonObject = {
  type: 'object',
  properties: { digest: TEXT, reason: TEXT, deadlineMs: DURATION, onDeadline: DEADLINE_ACTION },
  required: ['digest'],
};

/** The JSON Schema of the inbox of a run, carried into the next execution. */
export const CARRIED_INBOX_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    messages: listOf(MESSAGE),
    seen: listOf(TEXT),
    seenTurns: listOf({ type: 'array', items: COUNT, minItems: 2, maxItems: 2 }),
    paused: { type: 'boolean' },
    cancelReason: TEXT,
    cancelAsked: { const: true },
    decisions: listOf(DECISION),
    raises: listOf(RAISE),
    permissionChanges: listOf(PERMISSION_CHANGE),
    refused: listOf(REFUSED),
    closing: CLOSING_SCHEMA,
    turnInterrupt: TURN_INTERRUPT_SCHEMA,
    nextTurn: NEXT_TURN_SCHEMA,
    reportTo: TEXT,
    endedChildren: listOf(TEXT),
    waitingChildren: listOf(TEXT),
    pausedAbove: { const: true },
    childrenPaused: { const: true },
  },
  required: ['messages', 'seen', 'paused'],
};

/** The JSON Schema of pending approvals and of decisions. */
export const APPROVALS_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    pending: listOf(PENDING),
    approved: listOf({ type: 'object', properties: { callId: TEXT, arguments: OBJECT }, required: ['callId'] }),
    decided: listOf(DECIDED),
    remembered: listOf(REMEMBERED),
  },
  required: ['pending', 'approved', 'decided', 'remembered'],
};
