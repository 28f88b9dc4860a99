import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import { LRUCache } from 'lru-cache';
import type { z } from 'zod';
import type { LonghaulClient } from '../client/longhaul-client.ts';
import { defined } from '../core/domain/json.ts';
import { errorCode, LonghaulError, memberOf } from '../core/domain/errors.ts';
import type { Principal } from '../core/domain/run.ts';
import { unknownField } from '../core/domain/text.ts';
import { principalProblem } from '../core/input-checks.ts';
import { requireAgentOf } from './agents-of-runs.ts';
import {
  type Authenticate,
  type Caller,
  CALLER_FIELDS,
  forbidden,
  isScope,
  missingCredentials,
  missingPrincipal,
  principalOf,
  requireRun,
  requireScope,
  undefinedRight,
  wrongCredentials,
} from './auth/caller.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { refuseOthers } from './auth/open-access.ts';
import { corsAnswer } from './cors.ts';
import { requireAdmission } from './limits.ts';
import { openapiDocument } from './openapi.ts';
import { MISSING } from './schemas/expecting.ts';
import { readValue } from './schemas/read-value.ts';
import { bodyProblems, parameterProblems, problemOf, reportedRequest, type ReportError, RequestError } from './problems.ts';
import { mcpRoute } from './protocols/mcp/mcp-route.ts';
import { openaiErrorResponse } from './protocols/openai/errors.ts';
import { isOpenaiPath, OPENAI_ROUTES } from './protocols/openai/openai-routes.ts';
import { readIdempotencyKey, readJsonBody, soon } from './requests.ts';
import { defineRoute, type Reply, type Route } from './route.ts';
import { ROUTES } from './routes/all-routes.ts';
import { LOGIN_ROUTES } from './routes/login.ts';
import { stateRoutes } from './routes/server-routes.ts';
import { jsonObject } from './schemas/values.ts';
import { sharedAnswer } from './shared-answers.ts';
import { type HandlerOptions, type ServerSettings, settingsOf } from './server-options.ts';
import { STUDIO_PATH, studioFiles } from './studio.ts';

/**
 * Returns a function that answers HTTP requests about the runs of a client, for any server with the web-standard `Request` and
 * `Response`. Throws a UsageError for unknown options.
 *
 * @example
 * const handler = createHandler(await connect(), { agents: [clerk] });
 * const response = await handler(new Request('http://localhost/v1/agents'));
 */
export function createHandler(client: LonghaulClient, options: HandlerOptions = {}): Handler {
  const settings = settingsOf(options, client.principal);
  // Otherwise loaded with the first stream, whose reader would have to wait for it.
  void import('../client/stream/stream-run.ts');
  const { cors = {} } = options;
  const { report } = settings;
  const app = new Hono<ServerEnv>();
  if (options.telemetry !== undefined) app.use('*', measureRequests(options.telemetry, settings.prefix));
  // Also applies to requests that match no route.
  app.use('*', async (context, next) => {
    const { headers, isPreflight } = corsAnswer(context.req.raw, cors);
    if (isPreflight) return new Response(null, { status: 204, headers });
    await next();
    for (const [name, value] of Object.entries(headers)) context.res.headers.set(name, value);
    // Studio's files have names that change with their content, and set their own header.
    if (!context.res.headers.has('cache-control'))
      context.res.headers.set('cache-control', cacheControl(context.res.headers.get('content-type')));
    context.res.headers.set('x-content-type-options', 'nosniff');
    return undefined;
  });
  const refuse = (error: unknown, { req: { method, path } }: { req: { method: string; path: string } }): Response =>
    isOpenaiPath(path.slice(settings.prefix.length))
      ? openaiErrorResponse(error, { method, path }, report)
      : responseOf(error, { method, path }, report);
  app.onError(refuse);
  app.notFound((context) => refuse(routeNotFound(app, context, settings.prefix), context));
  const api = settings.prefix === '' ? app : app.basePath(settings.prefix);
  // The only routes without credentials. Everything below this line has a caller.
  const open = [...stateRoutes(client), ...LOGIN_ROUTES];
  const publicRoutes = [...open, openapiRoute([...ROUTES, ...open])];
  for (const route of publicRoutes) mountRoute(api, route, settings);
  if (settings.studio) app.route(`${settings.prefix}${STUDIO_PATH}`, studioFiles(settings));
  api.use('*', identifyCaller(client, settings));
  mountRoutes(api, [...ROUTES, ...OPENAI_ROUTES, mcpRoute(settings.agents, report)], settings);
  const answer = async (request: Request, environment: unknown, allowsDirectText: boolean): Promise<Response> => {
    try {
      const bindings = { peer: peerAddress(request, environment), allowsDirectText };
      if (request.method === 'HEAD') return await withoutBody(await app.fetch(asGet(request), bindings));
      return await app.fetch(request, bindings);
    } catch (error) {
      // The router passes only instances of Error.
      return refuse(error, { req: reportedRequest(request) });
    }
  };
  const handler: Handler = (request, environment) => answer(request, environment, false);
  directHandlers.set(handler, (request, environment) => answer(request, environment, true));
  return handler;
}

/** Measures the time until a request is answered, or until a stream begins. */
function measureRequests(telemetry: Telemetry, prefix: string): MiddlewareHandler<ServerEnv> {
  return async (context, next) => {
    const begun = performance.now();
    await next();
    const method = METHODS.has(context.req.method) ? context.req.method : OTHER_METHOD;
    const seconds = (performance.now() - begun) / 1_000;
    const { status } = context.res;
    telemetry.measure((metrics) => metrics.request({ method, route: routeOf(context, prefix), status, seconds }));
  };
}

/** The methods that are named in metrics: any other would be the caller's text. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** The name for other methods in OpenTelemetry's semantic conventions. */
const OTHER_METHOD = '_OTHER';

/**
 * Returns the pattern of the route for a request, as in the OpenAPI document: the first that matches, because a literal path may
 * also match one with a parameter. `none` if no route matches: the path would be the caller's text.
 */
function routeOf(context: Context<ServerEnv>, prefix: string): string {
  const taken = matchedRoutes(context).find(({ path }) => !path.endsWith('*'));
  return taken === undefined ? 'none' : taken.path.slice(prefix.length).replaceAll(/:(\w+)/g, '{$1}');
}

/** Converts a HEAD request to the corresponding GET request. */
function asGet({ url, headers, signal }: Request): Request {
  return new Request(url, { headers, signal });
}

/** Returns the response without its body. Cancels a stream. */
async function withoutBody(response: Response): Promise<Response> {
  await response.body?.cancel();
  return new Response(null, response);
}

/** Returns the `cache-control` header. Streams must not be compressed on the way, which would hold back their pieces. */
function cacheControl(type: string | null): string {
  return type !== null && /^(?:text\/event-stream|application\/x-ndjson)\b/.test(type) ? 'no-store, no-transform' : 'no-store';
}

/** Returns the error for a request that matches no route. */
function routeNotFound(app: Hono<ServerEnv>, { req }: Context<ServerEnv>, prefix: string): RequestError {
  const methods = allowedMethods(app, req.path);
  if (methods.length === 0)
    return new RequestError('route_not_found', `The service has nothing at this path: see "${prefix}/v1/openapi.json"`);
  const allow = methods.join(', ');
  return new RequestError('method_not_allowed', `The path does not take "${req.method}": it takes ${allow}`, { headers: { allow } });
}

function responseOf(error: unknown, request: { method: string; path: string }, report: ReportError): Response {
  const { problem, headers } = problemOf(error, request, report);
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: { 'content-type': 'application/problem+json', ...headers },
  });
}

/** Returns the methods that the service accepts at a path; empty if no route has this path. */
function allowedMethods(app: Hono<ServerEnv>, path: string): string[] {
  const routes = app.routes.filter((route) => route.method !== 'ALL' && patternOf(route.path).test(path));
  const whole = routes.filter((route) => route.path === path);
  const methods = (whole.length === 0 ? routes : whole).map(({ method }) => method);
  return [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))];
}

function patternOf(path: string): RegExp {
  const parts = path.split('/').map((part) => (part.startsWith(':') ? '[^/]+' : part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)));
  return new RegExp(`^${parts.join('/')}$`);
}

/** Replaces the address of a socket that has none: its requests never count as local. */
const NO_ADDRESS = 'unknown';

/**
 * Returns the address that a request comes from, as the runtime passes it: Node's bindings (`incoming.socket`, as
 * `nodeListener` and `@hono/node-server` pass them), Deno's `remoteAddr`, Bun's `requestIP`, or an `address` that
 * was passed by hand. Undefined if the runtime does not provide it.
 */
function peerAddress(request: Request, environment: unknown): string | undefined {
  const socket = memberOf(memberOf(environment, 'incoming'), 'socket');
  // A peer that disconnects at once leaves a socket without an address.
  if (socket !== undefined) return asText(memberOf(socket, 'remoteAddress')) ?? NO_ADDRESS;
  const askBun = memberOf(environment, 'requestIP');
  if (typeof askBun === 'function') return asText(memberOf(askBun.call(environment, request), 'address')) ?? NO_ADDRESS;
  return asText(memberOf(environment, 'address')) ?? asText(memberOf(memberOf(environment, 'remoteAddr'), 'hostname'));
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Returns the route of the OpenAPI document, which describes these routes and itself. It is built on the first request. */
function openapiRoute(routes: readonly Route[]): Route {
  let document: Record<string, unknown> | undefined;
  const route: Route = defineRoute(
    {
      method: 'GET',
      path: '/v1/openapi.json',
      id: 'getOpenapi',
      tag: 'server',
      summary: 'Read the OpenAPI document of the service',
      scope: 'public',
      responses: { 200: { description: 'The document.', schema: jsonObject } },
      problems: [],
    },
    async ({ settings: { prefix } }) => ({ status: 200, body: (document ??= openapiDocument([...routes, route], prefix)) }),
  );
  return route;
}

/** The most cached clients: there is one per principal, which caches the runs that it can access. */
const MOST_CLIENTS = 1_000;

/**
 * Sets the caller of a request and the client that acts for it, and counts the request. Throws `unauthenticated` for an unverified
 * request, `forbidden` for one from another machine to a service without authentication, and `too_many_requests`.
 */
function identifyCaller(client: LonghaulClient, { authenticate, openTo, limits }: ServerSettings): MiddlewareHandler<ServerEnv> {
  const clientFor = clientsOf(client);
  return async (context, next) => {
    if (openTo !== undefined) refuseOthers(context.req.raw, { ...openTo, peer: context.env.peer });
    const caller = await requireCaller(context.req.raw, authenticate);
    if (limits !== undefined) requireAdmission(limits.request(caller));
    context.set('caller', caller);
    context.set('client', clientFor(principalOf(caller)));
    await next();
  };
}

/** Returns a function that finds the client of a principal. */
function clientsOf(client: LonghaulClient): (principal: Principal | undefined) => LonghaulClient {
  const known = new LRUCache<string, LonghaulClient>({ max: MOST_CLIENTS });
  return (principal) => {
    if (principal === undefined) return client;
    const key = JSON.stringify([principal.tenant ?? null, principal.user ?? null, principal.claims ?? null]);
    const found = known.get(key) ?? clientAs(client, principal);
    known.set(key, found);
    return found;
  };
}

/** Returns the client of a principal. Throws `forbidden` if the service itself acts for another one (`longhaul serve --tenant`). */
function clientAs(client: LonghaulClient, principal: Principal): LonghaulClient {
  try {
    return client.as(principal);
  } catch {
    throw forbidden('The service acts for another tenant or user than the credentials are for: use other credentials, or another service');
  }
}

/**
 * Returns the caller of a request. Throws `unauthenticated` for missing or wrong credentials, and `authorization_failed` if they
 * could not be verified, so that the request may be retried later. An error of `authenticate` with a code is rethrown.
 */
export async function requireCaller(request: Request, authenticate: Authenticate): Promise<Caller> {
  const caller = await verified(request, authenticate);
  if (caller === undefined) {
    const bearsSome = request.headers.has('authorization') || new URL(request.url).searchParams.has('token');
    throw bearsSome ? wrongCredentials() : missingCredentials();
  }
  checkCaller(caller);
  // A time that is not a number counts as past.
  if (caller.expiresAt !== undefined && !(Date.now() < caller.expiresAt)) throw wrongCredentials();
  return caller;
}

async function verified(request: Request, authenticate: Authenticate): Promise<Caller | undefined> {
  try {
    return await authenticate(request);
  } catch (cause) {
    if (errorCode(cause) !== undefined) throw cause;
    throw new LonghaulError('authorization_failed', 'The credentials of the request could not be verified: try again later', { cause });
  }
}

/** Checks a caller returned by the operator's code: a mistake there must not widen the rights. */
function checkCaller(caller: Caller): void {
  const { id, name, scopes, principal, agents } = caller;
  const problem =
    unknownField(caller, CALLER_FIELDS) ??
    undefinedRight(caller, ['agents', 'runId', 'expiresAt']) ??
    (typeof id !== 'string' || id === ''
      ? '"id" is not a text'
      : name !== undefined && (typeof name !== 'string' || name === '')
        ? '"name" is not a text'
        : !Array.isArray(scopes) || !scopes.every(isScope)
          ? '"scopes" is not a list of scopes'
          : agents !== undefined && !Array.isArray(agents)
            ? '"agents" is not a list'
            : problemOfPrincipal(principal));
  if (problem !== undefined) throw new LonghaulError('internal', `"authenticate" returned an invalid caller: ${problem}`);
}

function problemOfPrincipal(principal: Caller['principal']): string | undefined {
  if (principal === 'all') return undefined;
  if (typeof principal !== 'object') return missingPrincipal(principal);
  const problem = principalProblem(principal);
  if (problem !== undefined) return problem;
  return principal.tenant === undefined && principal.user === undefined ? '"principal" has no tenant and no user' : undefined;
}

/** Adds routes to the service. Each checks the caller's rights, then the request, and then answers. */
function mountRoutes(app: Hono<ServerEnv>, routes: readonly Route[], settings: ServerSettings): void {
  const isWhole = ({ definition }: Route): boolean => !definition.path.includes('{');
  const whole = routes.filter(isWhole);
  for (const route of whole) mountRoute(app, route, settings);
  // A literal path, such as "/v1/runs/counts", never matches a path with a parameter, such as the id of a run.
  for (const path of new Set(whole.map(({ definition }) => definition.path))) app.all(path, (context) => context.notFound());
  for (const route of routes) if (!isWhole(route)) mountRoute(app, route, settings);
}

function mountRoute(app: Hono<ServerEnv>, route: Route, settings: ServerSettings): void {
  const { method, path } = route.definition;
  app.on(method, path.replaceAll(/\{(\w+)\}/g, ':$1'), async (context) =>
    responseTo(await answerTo(route, context, settings), context.env.allowsDirectText),
  );
}

async function answerTo(route: Route, context: Context<ServerEnv>, settings: ServerSettings): Promise<Reply> {
  const { scope, counts, isShared, isOfCaller } = route.definition;
  const { caller, client } = context.var;
  if (scope !== 'public') requireScope(caller, scope);
  const params = route.definition.params === undefined ? undefined : parameters(route.definition.params, context.req.param(), 'path');
  const runId = runIn(params);
  if (scope !== 'public' && !isOfCaller) requireRun(caller, runId);
  if (counts === 'starts' && settings.limits !== undefined) requireAdmission(settings.limits.start(caller));
  const read = await readRequest(route, context);
  if (runId !== undefined && needsAgent(route, caller)) await soon(() => requireAgentOf(caller, client, runId));
  const { raw } = context.req;
  const answer = (): Promise<Reply> =>
    route.answer({
      ...read,
      params,
      caller,
      client,
      settings,
      raw,
      peer: context.env.peer,
      // Only needed by requests that wait.
      get signal() {
        return AbortSignal.any([raw.signal, settings.closing]);
      },
    });
  return isShared ? sharedAnswer(client, context.req.url, answer) : answer();
}

/** True if a caller that may start some agents needs that of the run. Run tokens reach one run, in which they start nothing. */
function needsAgent({ definition: { scope, counts } }: Route, { runId }: Caller): boolean {
  return scope !== 'public' && !scope.endsWith(':read') && (runId === undefined || counts === 'starts');
}

/** Returns the id of the run or session that a request is about. Undefined for a request about more than one run. */
function runIn(params: unknown): string | undefined {
  if (typeof params !== 'object' || params === null) return undefined;
  const { runId, sessionId } = params as Partial<Record<string, unknown>>;
  const id = runId ?? sessionId;
  return typeof id === 'string' ? id : undefined;
}

function responseTo(reply: Reply, allowsDirectText: boolean): Response {
  if (reply instanceof Response) return reply;
  const { status, body, headers } = reply;
  if (body === undefined) return new Response(null, { status, ...defined({ headers }) });
  const text = textOf(reply, body);
  const init = { status, headers: { 'content-type': 'application/json', ...headers } };
  return allowsDirectText ? directText(text, init) : new Response(text, init);
}

/** The JSON of shared answers, so that it is serialized once. */
const TEXTS = new WeakMap<object, string>();

function textOf(reply: object, body: unknown): string {
  const text = TEXTS.get(reply) ?? JSON.stringify(body);
  TEXTS.set(reply, text);
  return text;
}

/** The parsed parts of a request. */
interface ReadRequest {
  params: unknown;
  query: unknown;
  body: unknown;
  idempotencyKey: string | undefined;
}

/** Parses the query and the body. Throws `invalid_request` with all problems, and the errors of `readJsonBody`. */
async function readRequest({ definition }: Route, { req }: Context<ServerEnv>): Promise<Omit<ReadRequest, 'params'>> {
  const { query, body, idempotencyKey } = definition;
  return {
    query: query === undefined ? undefined : parameters(query, queryOf(req.url), 'query'),
    body: body === undefined ? undefined : bodyOf(body, await readJsonBody(req.raw)),
    idempotencyKey: idempotencyKey === undefined ? undefined : readIdempotencyKey(req.raw.headers),
  };
}

/** Returns the query parameters: each a text, or a list of texts if it is repeated. */
function queryOf(url: string): Record<string, string | string[]> {
  const { searchParams } = new URL(url);
  return Object.fromEntries(
    [...new Set(searchParams.keys())].map((name) => {
      const values = searchParams.getAll(name);
      return [name, values.length === 1 ? (values[0] ?? '') : values];
    }),
  );
}

function parameters(schema: z.ZodObject, values: unknown, where: 'path' | 'query'): unknown {
  const read = readValue(schema, values, 'parameter');
  if (read.ok) return read.value;
  throw new RequestError('invalid_request', `The ${where} does not fit the route: see "errors"`, {
    errors: parameterProblems(read.problems),
  });
}

function bodyOf(schema: z.ZodType, value: unknown): unknown {
  const read = readValue(schema, value === undefined ? {} : value);
  if (read.ok) return read.value;
  if (value === undefined) {
    throw new RequestError('invalid_request', 'The request has no body: send a JSON object', {
      errors: [{ pointer: '#', detail: MISSING }],
    });
  }
  throw new RequestError('invalid_request', 'The body does not fit the route: see "errors"', { errors: bodyProblems(read.problems) });
}

/** The variables of a request for the routes of all protocols. They are set before any route is called. */
interface ServerEnv {
  Bindings: {
    /** The address that the request comes from. Undefined if the runtime does not provide it. */
    peer: string | undefined;
    /** True if a response may be a `directText`. */
    allowsDirectText: boolean;
  };
  Variables: {
    caller: Caller;
    /** The client that acts for the caller's principal: for every other run it throws `run_not_found`. */
    client: LonghaulClient;
  };
}

/**
 * Answers a request. Never rejects. `environment` is what the runtime passes with the request: a service without authentication reads the
 * peer address from it (`peerAddress`).
 */
export type Handler = (request: Request, environment?: unknown) => Promise<Response>;

const directTexts = new WeakMap<Response, string>();
const directHandlers = new WeakMap<Handler, Handler>();

/**
 * Returns a response without a body, whose text is written directly to Node's response (`directTextOf`). A body is a web stream:
 * making and reading it takes longer than everything else that the service does for a short response.
 */
function directText(text: string, init: ResponseInit): Response {
  const response = new Response(null, init);
  directTexts.set(response, text);
  return response;
}

/** Returns the text of a response without a body; undefined for any other response. */
export function directTextOf(response: Response): string | undefined {
  return directTexts.get(response);
}

/** Returns a handler that may use `directText`. A user's function is returned unchanged, since it may read the responses. */
export function directHandler(handler: Handler): Handler {
  return directHandlers.get(handler) ?? handler;
}
