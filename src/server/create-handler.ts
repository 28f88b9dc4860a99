import { type Context, Hono } from 'hono';
import type { LonghaulClient } from '../client/longhaul-client.ts';
import { peerAddress } from './auth/peer-address.ts';
import { corsAnswer } from './cors/cors.ts';
import type { Handler } from './handler.ts';
import { setDirectHandler } from './node/direct-text.ts';
import { openaiErrorResponse } from './protocols/openai/errors/error-body.ts';
import { isOpenaiPath, OPENAI_ROUTES } from './protocols/openai/openai-routes.ts';
import { mcpRoute } from './protocols/mcp/mcp-route.ts';
import { problemOf, reported, type ReportError } from './problems/problem-of.ts';
import { RequestError } from './problems/request-error.ts';
import { ROUTES } from './routes/all-routes.ts';
import { openapiRoute } from './routes/openapi-route.ts';
import { stateRoutes } from './routes/server-routes.ts';
import { allowedMethods } from './routing/allowed-methods.ts';
import { identifyCaller } from './routing/identify-caller.ts';
import { mountRoutes } from './routing/mount-routes.ts';
import type { ServerEnv } from './server-env.ts';
import { type HandlerOptions, settingsOf } from './server-options.ts';

/**
 * Returns a function that answers HTTP requests about the runs of a client, for any server that has the `Request` and `Response` of
 * the web. Throws a UsageError for unknown options.
 *
 * @example
 * const handler = createHandler(await connect(), { agents: [clerk] });
 * const response = await handler(new Request('http://localhost/v1/agents'));
 */
export function createHandler(client: LonghaulClient, options: HandlerOptions = {}): Handler {
  const settings = settingsOf(options, client.principal);
  const { cors = {} } = options;
  const { report } = settings;
  const app = new Hono<ServerEnv>();
  // Also for a request that no route takes.
  app.use('*', async (context, next) => {
    const { headers, isPreflight } = corsAnswer(context.req.raw, cors);
    if (isPreflight) return new Response(null, { status: 204, headers });
    await next();
    for (const [name, value] of Object.entries(headers)) context.res.headers.set(name, value);
    context.res.headers.set('cache-control', cacheControl(context.res.headers.get('content-type')));
    context.res.headers.set('x-content-type-options', 'nosniff');
    return undefined;
  });
  const refuse = (error: unknown, { req: { method, path } }: Refused): Response =>
    isOpenaiPath(path.slice(settings.prefix.length))
      ? openaiErrorResponse(error, { method, path }, report)
      : responseOf(error, { method, path }, report);
  app.onError(refuse);
  app.notFound((context) => refuse(notFound(app, context, settings.prefix), context));
  const api = settings.prefix === '' ? app : app.basePath(settings.prefix);
  // The only routes without credentials. Everything below this line has a caller.
  const open = stateRoutes(client);
  mountRoutes(api, [...open, openapiRoute([...ROUTES, ...open])], settings);
  api.use('*', identifyCaller(client, settings));
  mountRoutes(api, [...ROUTES, ...OPENAI_ROUTES, mcpRoute(settings.agents, report)], settings);
  const answer = async (request: Request, environment: unknown, allowsDirectText: boolean): Promise<Response> => {
    try {
      const bindings = { peer: peerAddress(request, environment), allowsDirectText };
      if (request.method === 'HEAD') return await withoutBody(await app.fetch(asGet(request), bindings));
      return await app.fetch(request, bindings);
    } catch (error) {
      // The router hands over instances of Error alone.
      return refuse(error, { req: reported(request) });
    }
  };
  const handler: Handler = (request, environment) => answer(request, environment, false);
  setDirectHandler(handler, (request, environment) => answer(request, environment, true));
  return handler;
}

/** Returns the request whose response has the head that is asked for. */
function asGet({ url, headers, signal }: Request): Request {
  return new Request(url, { headers, signal });
}

/** Returns the head of a response. A stream is told that it has no reader. */
async function withoutBody(response: Response): Promise<Response> {
  await response.body?.cancel();
  return new Response(null, response);
}

/** Returns the rule for caches. What comes piece by piece must not be compressed on its way, which would hold back the pieces. */
function cacheControl(type: string | null): string {
  return type !== null && /^(?:text\/event-stream|application\/x-ndjson)\b/.test(type) ? 'no-store, no-transform' : 'no-store';
}

/** Returns the refusal of a request that no route takes. */
function notFound(app: Hono<ServerEnv>, { req }: Context<ServerEnv>, prefix: string): RequestError {
  const methods = allowedMethods(app, req.path);
  if (methods.length === 0)
    return new RequestError('route_not_found', `The service has nothing at this path: see "${prefix}/v1/openapi.json"`);
  const allow = methods.join(', ');
  return new RequestError('method_not_allowed', `The path does not take "${req.method}": it takes ${allow}`, { headers: { allow } });
}

/** A request that is refused. */
interface Refused {
  req: { method: string; path: string };
}

function responseOf(error: unknown, request: { method: string; path: string }, report: ReportError): Response {
  const { problem, headers } = problemOf(error, request, report);
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: { 'content-type': 'application/problem+json', ...headers },
  });
}
