import { z } from 'zod';
import { TIERS } from '../../core/domain/batch.ts';
import type { ProgramDocument } from '../../core/domain/program-document.ts';
import { REASONING_EFFORTS } from '../../core/domain/reasoning-effort.ts';
import {
  BEFORE_TURN_RECEIPT,
  CLOSE_RECEIPT,
  INTERRUPT_RECEIPT,
  MESSAGE_RECEIPT,
  MESSAGE_RECEIPT_MEMBERS,
  PAUSE_RECEIPT,
  RAISE_RECEIPT,
} from '../../core/domain/requests.ts';
import { described, FLAG, listOf, NUMBER, object, oneOf, optional, TEXT } from '../../core/domain/shape.ts';
import { STATUS_VIEW } from '../../core/domain/views.ts';
import { expecting } from './expecting.ts';
import {
  agentNameText,
  component,
  contentItem,
  duration,
  ignoredBy,
  inputContent,
  jsonObject,
  list,
  members,
  MOST,
  nameText,
  requestIdText,
  runIdText,
  savedContext,
} from './values.ts';

const modelName = z
  .string()
  .regex(/^[^/]+\/.+$/, expecting('a provider and a model, such as "openai/gpt-5"'))
  .transform((text) => text as `${string}/${string}`)
  .describe('`provider/model`, with a provider of the worker.');

const modelSettings = component(
  'ModelSettings',
  z.strictObject({
    temperature: z.number().exactOptional(),
    maxOutputTokens: z.int().exactOptional(),
    toolChoice: z
      .union([
        z.enum(['auto', 'required', 'none']),
        z.strictObject({ tool: z.string(), every: z.boolean().exactOptional() }),
        z.strictObject({ required: z.literal(true), every: z.boolean().exactOptional() }),
      ])
      .exactOptional(),
    parallelToolCalls: z.boolean().exactOptional(),
    reasoningEffort: z.enum(REASONING_EFFORTS).exactOptional(),
    thinkTags: z.enum(['reasoning', 'text']).exactOptional(),
    extra: jsonObject.exactOptional(),
  }),
);

const count = z.int().min(0);

/** The limits of a run, of its start or as they are raised. */
const limitOptions = component(
  'LimitOptions',
  z
    .strictObject({
      steps: z.int().min(1).exactOptional(),
      toolCalls: count.exactOptional(),
      toolCallsByName: members(count).exactOptional(),
      inputTokens: count.exactOptional(),
      outputTokens: count.exactOptional(),
      totalTokens: count.exactOptional(),
      costUsd: z.number().positive().exactOptional(),
      deadline: duration.exactOptional(),
    })
    .describe('Limits of a run. Each is optional.'),
);

/** The identity on whose behalf a run acts. */
const principal = component(
  'Principal',
  z
    .strictObject({ tenant: nameText.exactOptional(), user: nameText.exactOptional(), claims: jsonObject.exactOptional() })
    .describe('The identity on whose behalf the run acts. Only a caller without a principal may name one.'),
);

/** The types of search attributes. */
const SEARCH_TYPES = ['TEXT', 'KEYWORD', 'INT', 'DOUBLE', 'BOOL', 'DATETIME', 'KEYWORD_LIST'] as const;

/** A search attribute of the operator's own, by its name. */
const searchAttributes = members(
  z.strictObject({
    type: z.enum(SEARCH_TYPES),
    value: z.union([z.string(), z.number(), z.boolean(), list(z.string(), { max: MOST.words })]),
  }),
).describe('Search attributes of your own, by their names: the namespace must have them.');

/** The fields of a start that do not depend on what is started. */
const startFields = {
  deps: jsonObject.exactOptional(),
  state: jsonObject.exactOptional().describe('The state that the run begins with.'),
  principal: principal.exactOptional(),
  tags: list(nameText.max(100), { max: 20 }).exactOptional().describe('Up to 20 words for finding the run.'),
  memo: jsonObject.exactOptional().describe('Data that is shown with the run.'),
  live: z
    .boolean()
    .exactOptional()
    .describe('True: shows output as it is written if the workers carry it in heartbeats, which costs requests to the Temporal server.'),
  tier: z
    .enum(TIERS)
    .exactOptional()
    .describe('`batch`: the model calls wait for batches of the provider, at half the price. Default: the tier of the agent.'),
  traceparent: z
    .string()
    .min(55)
    .max(300)
    .exactOptional()
    .describe("The caller's place in a trace, as W3C Trace Context writes it: the spans of the run are below it."),
  taskQueue: nameText.exactOptional().describe('Needs the scope `admin`.'),
  searchAttributes: searchAttributes.exactOptional(),
  priority: z.int().min(1).exactOptional().describe('Needs the scope `admin`.'),
  fairnessKey: nameText.exactOptional().describe('Needs the scope `admin`.'),
};

const identified = {
  runId: runIdText.exactOptional().describe('Identifies the run. Default: it follows from the `Idempotency-Key`, or is made.'),
  ifExists: z.enum(['fail', 'return', 'restartFailed']).exactOptional().describe('The action if the run id is taken. Default `fail`.'),
};

export const startRunBody = component(
  'StartRun',
  z.strictObject({
    agent: agentNameText.describe('The name of the agent.'),
    input: inputContent.exactOptional(),
    messages: list(contentItem, { max: MOST.items }).exactOptional().describe('The conversation before `input`.'),
    saved: savedContext.exactOptional().describe('Instead of `messages`: a saved context.'),
    previousRunId: runIdText.exactOptional().describe('Instead of `messages`: a run that has ended, whose conversation continues.'),
    limits: limitOptions.exactOptional(),
    deadline: duration.exactOptional(),
    model: modelName.exactOptional(),
    settings: modelSettings.exactOptional(),
    ...identified,
    ...startFields,
  }),
);

/** A program as a document. The client checks it, and lists all of its problems. */
const programDocument = z.looseObject({ version: z.literal(1), name: nameText }).transform((value: object) => value as ProgramDocument);

export const startProgramBody = component(
  'StartProgram',
  z.strictObject({
    program: z
      .union([agentNameText, programDocument])
      .describe('The name of a program of the worker; or a document, which needs the scope `admin`.'),
    input: jsonObject.exactOptional(),
    limits: limitOptions.exactOptional(),
    deadline: duration.exactOptional(),
    resume: z.strictObject({ run: runIdText, from: nameText.exactOptional() }).exactOptional(),
    ...identified,
    ...startFields,
  }),
);

/** The limits of a whole session. */
const sessionLimits = component(
  'SessionLimitOptions',
  z
    .strictObject({
      turns: z.int().min(1).nullable().exactOptional(),
      totalTokens: z.int().min(1).nullable().exactOptional(),
      costUsd: z.number().positive().nullable().exactOptional(),
      deadline: duration.nullable().exactOptional(),
    })
    .describe('Limits of a whole session. `null`: no limit.'),
);

/** The body of the start of a session. */
export const openSessionBody = component(
  'OpenSession',
  z.strictObject({
    agent: agentNameText.describe('The name of the agent.'),
    id: runIdText.exactOptional().describe('Identifies the session. Default: it follows from the `Idempotency-Key`, or is made.'),
    title: z.string().exactOptional(),
    generateTitle: z.boolean().exactOptional(),
    limits: sessionLimits.exactOptional(),
    turnLimits: limitOptions.exactOptional(),
    compactAfter: z.int().min(1).nullable().exactOptional(),
    refresh: z.literal('never').exactOptional(),
    messages: list(contentItem, { max: MOST.items }).exactOptional(),
    saved: savedContext.exactOptional(),
    model: modelName.exactOptional(),
    settings: modelSettings.exactOptional(),
    ...startFields,
  }),
);

/** What a caller should know about what it has started. */
const NOTICED = {
  notice: optional(described(TEXT, 'Present if no worker has had the agent so far, as far as the server keeps runs: it may be misspelt.')),
};

export const runStarted = component(
  'RunStarted',
  object({ runId: TEXT, repeated: described(FLAG, 'True: a run of that id existed, and nothing was started.'), ...NOTICED }),
);

/** The answer to the start of a session. */
export const sessionOpened = component(
  'SessionOpened',
  object({ sessionId: TEXT, repeated: described(FLAG, 'True: the session existed, and nothing was started.'), ...NOTICED }),
);

const requestId = requestIdText.exactOptional();
const by = ignoredBy.exactOptional();

/** The moment at which the model reads a message. */
const messageMode = z.enum(['queue', 'steer', 'interrupt']);

export const messageBody = component(
  'SendMessage',
  z.strictObject({ content: inputContent, mode: messageMode.exactOptional().describe('Default `queue`.'), id: requestId }),
);

export const messageReceipt = component('MessageReceipt', MESSAGE_RECEIPT);

/** The answer to a message that may have begun its session. */
export const noticedReceipt = component(
  'NoticedReceipt',
  object({
    ...MESSAGE_RECEIPT_MEMBERS,
    notice: optional(described(TEXT, 'What the sender should know, such as that no worker has had the agent so far.')),
  }),
);

export const pauseReceipt = component('PauseReceipt', PAUSE_RECEIPT);

/** The body of a cancellation. */
export const cancelBody = component('CancelRun', z.strictObject({ reason: z.string().min(1).exactOptional(), by }));

/** The answer to a cancellation. */
export const cancelReceipt = component('CancelReceipt', object({ runId: TEXT, outcome: oneOf('requested', 'already_ended') }));

export const raiseBody = component('RaiseLimits', z.strictObject({ limits: limitOptions, id: requestId, by }));

export const raiseReceipt = component('RaiseReceipt', RAISE_RECEIPT);

export const retryBody = component('RetryRun', z.strictObject({ fromStep: z.int().min(1).exactOptional() }));

export const retryReceipt = component('RetryReceipt', object({ runId: TEXT, fromStep: NUMBER, executionId: TEXT, dropped: listOf(TEXT) }));

export const deleteReceipt = component('DeleteReceipt', object({ runId: TEXT, outcome: oneOf('deleted', 'not_found') }));

/** An empty body, with the name of the caller that is ignored. */
export const emptyBody = component('Empty', z.strictObject({ by }));

export const sessionMessageBody = component(
  'SendSessionMessage',
  z.strictObject({
    content: inputContent,
    mode: messageMode.exactOptional(),
    id: requestIdText.exactOptional(),
    agent: agentNameText
      .exactOptional()
      .describe('The agent of the session that is created if none exists with this id. Default: a missing session is refused.'),
  }),
);

/** The answer while a turn continues. */
export const turnRunning = component(
  'TurnRunning',
  object({
    sessionId: TEXT,
    turn: described(NUMBER, 'The turn that answers: ask for it again.'),
    receipt: optional(MESSAGE_RECEIPT),
    session: optional(STATUS_VIEW),
  }),
);

export const interruptBody = component(
  'InterruptTurn',
  z.strictObject({ turn: z.int().min(1).exactOptional(), reason: z.string().exactOptional(), by }),
);

export const interruptReceipt = component('InterruptReceipt', INTERRUPT_RECEIPT);

/** The answer to a reset or a refresh. */
export const beforeTurnReceipt = component('BeforeTurnReceipt', BEFORE_TURN_RECEIPT);

export const closeReceipt = component('CloseReceipt', CLOSE_RECEIPT);

/** The body of a raise of limits of a session. */
export const raiseSessionBody = component(
  'RaiseSessionLimits',
  z.strictObject({ limits: sessionLimits, id: requestIdText.exactOptional(), by }),
);
