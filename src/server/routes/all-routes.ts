import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { SessionOptions } from '../../client/session-handle.ts';
import type { StartOptions } from '../../client/start-workflow.ts';
import { canonicalJson, defined, type JsonValue } from '../../core/domain/json.ts';
import { errorCode, LonghaulError } from '../../core/domain/errors.ts';
import { isoTime } from '../../core/domain/time.ts';
import type { AnyAgent } from '../../define/agent-definition.ts';
import type { AnyTool } from '../../define/tool-definition.ts';
import { requireAgentOf } from '../agents-of-runs.ts';
import { type Caller, principalOf, requireScope, requireStart } from '../auth/caller.ts';
import { MAX_RUN_TOKEN_MINUTES, RUN_TOKEN_SCOPES } from '../auth/run-tokens.ts';
import { RequestError } from '../problems.ts';
import { CHAT_ROUTES } from '../protocols/ai-sdk/chat-routes.ts';
import {
  memoWith,
  noticeOfUnseen,
  requestDigest,
  requireOwnFields,
  requireOwnId,
  runIdOfKey,
  searchAttributePairs,
  START_PROBLEMS,
  requireKnownNames,
  startableAgent,
  startableProgram,
  startOnce,
  startRequested,
  startResponses,
} from '../requests.ts';
import { AGENT_DETAIL_ROUTES } from './agent-details.ts';
import { feedRoute } from './feed.ts';
import { LIST_ROUTES } from './lists.ts';
import { meRoute } from './me.ts';
import { CHANGE_RUN_ROUTES, RUN_APPROVAL_ROUTES } from './runs/change-run.ts';
import { READ_RUN_ROUTES, RUN_DETAIL_ROUTES, RUN_RECORD_ROUTES, SPILLED_ROUTES, STREAM_ROUTES } from './runs/read-run.ts';
import { CHANGE_SESSION_ROUTES, TALK_ROUTES } from './sessions.ts';
import { USER_ROUTES } from './users.ts';
import { defineRoute, ok, READ_PROBLEMS, type Reply, type Route } from '../route.ts';
import { openSessionBody, runStarted, sessionOpened, startProgramBody, startRunBody } from '../schemas/requests.ts';
import { component, jsonObject, list, MOST, runIdText, timestamp } from '../schemas/values.ts';

const RUN_ID = 'startRun';

const startRunRoute = defineRoute(
  {
    method: 'POST',
    path: '/v1/runs',
    id: RUN_ID,
    tag: 'runs',
    summary: 'Start a run of an agent',
    scope: 'runs:write',
    counts: 'starts',
    body: startRunBody,
    idempotencyKey: 'The same key with the same body is the same run: 201 at first, 200 for each repetition. With another body: 422.',
    responses: startResponses(runStarted),
    problems: START_PROBLEMS,
  },
  async (request) => {
    const { body, caller, client, settings } = request;
    requireStart(caller, body.agent);
    const known = startableAgent(settings, caller, body.agent);
    // The client checks that there is one opening, and which one.
    return startRequested(
      request,
      RUN_ID,
      ({ agent: _, ...options }) => client.start(known, options as StartOptions),
      (runId) => noticeOfUnseen(client.temporal, caller, typeof known === 'string' ? { kind: 'agent', name: known, runId } : undefined),
    );
  },
);

const SESSION_ID = 'openSession';

const openSessionRoute = defineRoute(
  {
    method: 'POST',
    path: '/v1/sessions',
    id: SESSION_ID,
    tag: 'sessions',
    summary: 'Open a session: it waits for its first message',
    scope: 'runs:write',
    counts: 'starts',
    body: openSessionBody,
    idempotencyKey: 'The same key with the same body is the same session: 201 at first, 200 for each repetition. With another body: 422.',
    responses: startResponses(sessionOpened),
    problems: START_PROBLEMS,
  },
  async ({ body, caller, client, idempotencyKey, settings }): Promise<Reply> => {
    requireStart(caller, body.agent);
    requireOwnFields(caller, body);
    requireOwnId(body.id, '#/id', caller);
    const { agent, id: given, memo, searchAttributes, ...rest } = body;
    const id =
      given ??
      (idempotencyKey === undefined ? `${agent}-${randomUUID()}` : runIdOfKey(principalOf(caller), idempotencyKey, body.principal?.tenant));
    const digest = idempotencyKey === undefined ? undefined : requestDigest(SESSION_ID, idempotencyKey, body);
    const options = { ...rest, id, ...memoWith(memo, digest), ...searchAttributePairs(searchAttributes) } as SessionOptions;
    const known = startableAgent(settings, caller, agent);
    const outcome = await startOnce({
      client: client.temporal,
      runId: id,
      isOfKey: given === undefined,
      digest,
      start: async (ifExists) => {
        if (ifExists !== 'fail') return ownSession(id, () => client.handle(id).status());
        await client.session(known, options).open();
        return id;
      },
    });
    const { runId: sessionId, repeated } = outcome;
    const headers = { location: `${settings.prefix}/v1/sessions/${encodeURIComponent(sessionId)}` };
    const unlisted = repeated || typeof known !== 'string' ? undefined : { kind: 'agent' as const, name: known, runId: sessionId };
    const notice = await noticeOfUnseen(client.temporal, caller, unlisted);
    return { status: repeated ? 200 : 201, headers, body: { sessionId, repeated, ...defined({ notice }) } };
  },
);

const agentEntry = component(
  'AgentEntry',
  z.object({
    name: z.string(),
    description: z.string().exactOptional(),
    deps: jsonObject.exactOptional().describe('The JSON Schema of the deps that a start takes.'),
    output: jsonObject.exactOptional().describe('The JSON Schema of the output. Absent: text.'),
    tools: z.array(z.object({ name: z.string(), version: z.string().exactOptional(), description: z.string() })),
  }),
);

const listAgentsRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/agents',
    id: 'listAgents',
    tag: 'agents',
    summary: 'List the agents that the service knows and the caller may start',
    scope: 'runs:read',
    responses: ok(component('Agents', z.object({ agents: z.array(agentEntry) })), 'The agents.'),
    problems: [],
  },
  async ({ caller, settings }) => ({ status: 200, body: { agents: startableAgents(settings.agents, caller).map(agentEntryOf) } }),
);

const AGENT_ROUTES: readonly Route[] = [listAgentsRoute];

const toolEntry = component(
  'ToolEntry',
  z.object({
    name: z.string(),
    version: z.string().exactOptional(),
    description: z.string(),
    category: z.string().exactOptional().describe('The kind of effect that it has, for rules about calls.'),
    parameters: jsonObject.describe('The JSON Schema of the arguments.'),
    agents: z.array(z.string()).describe('The agents that have it, of those that the caller may start.'),
  }),
);

const listToolsRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/tools',
    id: 'listTools',
    tag: 'agents',
    summary: 'List the tools of the agents that the service knows and the caller may start',
    description:
      'Tools that differ in anything are separate entries, even with the same name. Tools of MCP servers are known only to the runs that have them.',
    scope: 'runs:read',
    responses: ok(component('Tools', z.object({ tools: z.array(toolEntry) })), 'The tools, by their names.'),
    problems: [],
  },
  async ({ caller, settings }) => ({ status: 200, body: { tools: toolsOf(startableAgents(settings.agents, caller)) } }),
);

const TOOL_ROUTES: readonly Route[] = [listToolsRoute];

const tokenBody = component(
  'TokenRequest',
  z.strictObject({
    runId: runIdText,
    minutes: z.number().gt(0).lte(MAX_RUN_TOKEN_MINUTES).exactOptional().describe('The life of the token. Default 15.'),
    scopes: list(z.enum(RUN_TOKEN_SCOPES), { min: 1, max: MOST.words }).exactOptional().describe('Default: `runs:read`.'),
  }),
);

const tokenMade = component('Token', z.object({ token: z.string(), runId: z.string(), expiresAt: timestamp }));

/** Makes a token for one run, for pages: an `EventSource` sends no headers. */
const tokenRoute = defineRoute(
  {
    method: 'POST',
    path: '/v1/tokens',
    id: 'createToken',
    tag: 'runs',
    summary: 'Make a token for one run and some minutes',
    description: 'A page puts it into the URL of a stream, as `?token=`. It never outlives the credentials of its maker.',
    scope: 'runs:read',
    body: tokenBody,
    responses: { 201: { description: 'The token. It is not shown again.', schema: tokenMade } },
    problems: [...READ_PROBLEMS, 'tokens_off'],
  },
  async ({ body, caller, client, settings: { tokens } }) => {
    if (tokens === undefined)
      throw new RequestError('tokens_off', 'The service has no secret for tokens: set LONGHAUL_TOKEN_SECRET, or "tokenSecrets"');
    // A run that the caller does not reach is unknown to it.
    await client.handle(body.runId).status();
    const reads = body.scopes?.every((one) => one === 'runs:read') ?? true;
    if (!reads && caller.runId === undefined) await requireAgentOf(caller, client, body.runId);
    const { token, expiresAt } = await tokens.make(caller, body);
    return { status: 201, body: { token, runId: body.runId, expiresAt: isoTime(expiresAt) } };
  },
);

const programEntry = component(
  'ProgramEntry',
  z.object({ name: z.string(), units: z.array(z.string()), input: jsonObject.exactOptional().describe('The JSON Schema of the input.') }),
);

const listProgramsRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/programs',
    id: 'listPrograms',
    tag: 'programs',
    summary: 'List the programs that the service knows and the caller may start',
    scope: 'runs:read',
    responses: ok(component('Programs', z.object({ programs: z.array(programEntry) })), 'The programs.'),
    problems: [],
  },
  async ({ caller: { agents }, settings }) => {
    const programs = settings.programs.filter(({ name }) => agents === undefined || agents.includes(name));
    const entries = programs.map(({ name, document: { input, units } }) => ({
      name,
      units: units.map((unit) => unit.name),
      ...defined({ input }),
    }));
    return { status: 200, body: { programs: entries } };
  },
);

const PROGRAM_ID = 'startProgram';

const startProgramRoute = defineRoute(
  {
    method: 'POST',
    path: '/v1/programs',
    id: PROGRAM_ID,
    tag: 'programs',
    summary: 'Start a program',
    description:
      'Its run is read, followed, decided and cancelled at `/v1/runs/{runId}`, like the run of an agent: the header `Location` has the path. ' +
      '`GET /v1/runs/{runId}/trace` shows its units and steps.',
    scope: 'runs:write',
    counts: 'starts',
    body: startProgramBody,
    idempotencyKey: 'The same key with the same body is the same run: 201 at first, 200 for each repetition. With another body: 422.',
    responses: startResponses(runStarted),
    problems: [...START_PROBLEMS, 'program_not_found', 'invalid_program'],
  },
  async (request) => {
    const { body, caller, client, settings } = request;
    const { program } = body;
    requireStart(caller, typeof program === 'string' ? program : undefined);
    // A document calls any tool that the workers have.
    if (typeof program !== 'string') requireScope(caller, 'admin');
    const known = typeof program === 'string' ? startableProgram(settings, caller, program) : program;
    if (typeof program !== 'string') requireKnownNames(settings, program);
    return startRequested(
      request,
      PROGRAM_ID,
      ({ program: _, ...options }) => client.startProgram(known, options),
      (runId) => noticeOfUnseen(client.temporal, caller, typeof known === 'string' ? { kind: 'program', name: known, runId } : undefined),
    );
  },
);

const PROGRAM_ROUTES: readonly Route[] = [listProgramsRoute, startProgramRoute];

/** The routes of the service that have a caller, in the order of the document. */
export const ROUTES: readonly Route[] = [
  startRunRoute,
  ...LIST_ROUTES,
  feedRoute,
  ...READ_RUN_ROUTES,
  ...RUN_RECORD_ROUTES,
  ...RUN_DETAIL_ROUTES,
  ...SPILLED_ROUTES,
  ...CHANGE_RUN_ROUTES,
  ...STREAM_ROUTES,
  ...RUN_APPROVAL_ROUTES,
  openSessionRoute,
  ...TALK_ROUTES,
  ...CHANGE_SESSION_ROUTES,
  ...PROGRAM_ROUTES,
  ...AGENT_ROUTES,
  ...AGENT_DETAIL_ROUTES,
  ...TOOL_ROUTES,
  tokenRoute,
  meRoute,
  ...USER_ROUTES,
  ...CHAT_ROUTES,
];

/** Returns the id if the caller reaches the session. Throws `run_exists` otherwise: the id is taken by another principal. */
async function ownSession(id: string, reach: () => Promise<unknown>): Promise<string> {
  try {
    await reach();
    return id;
  } catch (error) {
    if (errorCode(error) !== 'run_not_found') throw error;
    throw new LonghaulError('run_exists', `Session "${id}" exists already: choose another id`, { cause: error });
  }
}

type ToolEntry = z.input<typeof toolEntry>;

function toolsOf(agents: readonly AnyAgent[]): ToolEntry[] {
  const entries = new Map<string, ToolEntry>();
  for (const { name, tools } of agents) {
    for (const tool of tools) {
      const described = describedTool(tool);
      const key = canonicalJson(described as JsonValue);
      const known = entries.get(key);
      if (known === undefined) entries.set(key, { ...described, agents: [name] });
      else known.agents.push(name);
    }
  }
  return [...entries.values()].toSorted((one, other) => compare(one.name, other.name) || compare(one.version ?? '', other.version ?? ''));
}

function describedTool({ name, version, description, category, schema }: AnyTool): Omit<ToolEntry, 'agents'> {
  return {
    name,
    ...defined({ version }),
    description,
    ...defined({ category }),
    parameters: schema,
  };
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** Returns the agents that a caller may start. */
function startableAgents(agents: readonly AnyAgent[], { agents: allowed }: Caller): AnyAgent[] {
  return agents.filter(({ name }) => allowed === undefined || allowed.includes(name));
}

function agentEntryOf({ name, description, depsSchema, output, tools }: AnyAgent): z.input<typeof agentEntry> {
  return {
    name,
    ...defined({ description, deps: depsSchema, output: output?.schema }),
    tools: tools.map((tool) => ({
      name: tool.name,
      ...defined({ version: tool.version }),
      description: tool.description,
    })),
  };
}
