import { z } from 'zod';
import type { ProgramDocument } from '../../core/domain/program-document.ts';
import { list, members, MOST } from './bounded.ts';
import { component } from './component.ts';
import { contentItem, inputContent, savedContext } from './content.ts';
import { agentNameText, duration, jsonObject, nameText, runIdText } from './json.ts';

/** The name of a model. */
const modelName = z
  .string()
  .regex(/^[^/]+\/.+$/)
  .transform((text) => text as `${string}/${string}`)
  .describe('`provider/model`, with a provider of the worker.');

/** Settings of a model. */
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
    reasoningEffort: z.string().exactOptional(),
    thinkTags: z.enum(['reasoning', 'text']).exactOptional(),
    extra: jsonObject.exactOptional(),
  }),
);

const count = z.int().min(0);

/** The limits of a run, of its start or as they are raised. */
export const limitOptions = component(
  'LimitOptions',
  z
    .strictObject({
      steps: z.int().min(1).exactOptional(),
      toolCalls: count.exactOptional(),
      toolCallsByName: members(count).exactOptional(),
      inputTokens: count.exactOptional(),
      outputTokens: count.exactOptional(),
      totalTokens: count.exactOptional(),
      costUsd: z.number().min(0).exactOptional(),
      deadline: duration.exactOptional(),
    })
    .describe('Limits of a run. Each is optional.'),
);

/** Whom a run acts for. */
const principal = component(
  'Principal',
  z
    .strictObject({ tenant: nameText.exactOptional(), user: nameText.exactOptional(), claims: jsonObject.exactOptional() })
    .describe('Whom the run acts for. Only a caller that acts for no principal itself may name one.'),
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
const common = {
  deps: jsonObject.exactOptional(),
  state: jsonObject.exactOptional().describe('The state that the run begins with.'),
  principal: principal.exactOptional(),
  tags: list(nameText.max(100), { max: 20 }).exactOptional().describe('Up to 20 words by which the run is found.'),
  memo: jsonObject.exactOptional().describe('Data that is shown with the run.'),
  live: z
    .boolean()
    .exactOptional()
    .describe('True: shows output as it is written if the workers carry it in heartbeats, which costs requests to the Temporal server.'),
  taskQueue: nameText.exactOptional().describe('Needs the scope `admin`.'),
  searchAttributes: searchAttributes.exactOptional(),
  priority: z.int().min(1).exactOptional().describe('Needs the scope `admin`.'),
  fairnessKey: nameText.exactOptional().describe('Needs the scope `admin`.'),
};

const identified = {
  runId: runIdText.exactOptional().describe('Identifies the run. Default: it follows from the `Idempotency-Key`, or is made.'),
  ifExists: z.enum(['fail', 'return', 'restartFailed']).exactOptional().describe('The action if the run id is taken. Default `fail`.'),
};

/** The body of a start of a run. */
export const startRunBody = component(
  'StartRun',
  z.strictObject({
    agent: agentNameText.describe('The name of the agent.'),
    input: inputContent.exactOptional(),
    messages: list(contentItem, { max: MOST.items }).exactOptional().describe('The conversation before `input`.'),
    saved: savedContext.exactOptional().describe('Instead of `messages`: a saved context.'),
    previousRunId: runIdText.exactOptional().describe('Instead of `messages`: a run that has ended, whose conversation goes on.'),
    limits: limitOptions.exactOptional(),
    deadline: duration.exactOptional(),
    model: modelName.exactOptional(),
    settings: modelSettings.exactOptional(),
    ...identified,
    ...common,
  }),
);

/** A program as a document. The client checks it, and lists all of its problems. */
const programDocument = z.looseObject({ version: z.literal(1), name: nameText }).transform((value: object) => value as ProgramDocument);

/** The body of a start of a program. */
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
    ...common,
  }),
);

/** The limits of a whole session. */
export const sessionLimits = component(
  'SessionLimitOptions',
  z
    .strictObject({
      turns: z.int().min(0).nullable().exactOptional(),
      totalTokens: z.int().min(0).nullable().exactOptional(),
      costUsd: z.number().min(0).nullable().exactOptional(),
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
    compactAfter: z.int().min(0).nullable().exactOptional(),
    refresh: z.literal('never').exactOptional(),
    messages: list(contentItem, { max: MOST.items }).exactOptional(),
    saved: savedContext.exactOptional(),
    model: modelName.exactOptional(),
    settings: modelSettings.exactOptional(),
    ...common,
  }),
);

/** What a caller should know about what it has started. */
const notice = z
  .string()
  .exactOptional()
  .describe('Present if no worker has had the agent so far, as far as the server keeps runs: it may be misspelt.');

/** The answer to a start. */
export const runStarted = component(
  'RunStarted',
  z.object({ runId: z.string(), repeated: z.boolean().describe('True: a run of that id existed, and nothing was started.'), notice }),
);

/** The answer to the start of a session. */
export const sessionOpened = component(
  'SessionOpened',
  z.object({ sessionId: z.string(), repeated: z.boolean().describe('True: the session existed, and nothing was started.'), notice }),
);
