import type { Context, Hono } from 'hono';
import type { ServerEnv } from '../server-env.ts';
import type { ServerSettings } from '../server-settings.ts';
import { requireRun } from '../auth/access/reach.ts';
import { requireScope } from '../auth/access/scopes.ts';
import { requireAdmission } from '../limits/admission.ts';
import { directText } from '../node/direct-text.ts';
import { readParams, readRequest } from './check-request.ts';
import type { Reply, Route } from './route.ts';

/** Adds routes to the service: each checks the rights of the caller, then the request, and then answers. */
export function mountRoutes(app: Hono<ServerEnv>, routes: readonly Route[], settings: ServerSettings): void {
  for (const route of routes) {
    const { method, path } = route.definition;
    app.on(method, path.replaceAll(/\{(\w+)\}/g, ':$1'), async (context) =>
      responseTo(await answerTo(route, context, settings), context.env.allowsDirectText),
    );
  }
}

async function answerTo(route: Route, context: Context<ServerEnv>, settings: ServerSettings): Promise<Reply> {
  const { scope, counts } = route.definition;
  const { caller, client } = context.var;
  if (scope !== 'public') requireScope(caller, scope);
  const params = readParams(route, context);
  if (scope !== 'public') requireRun(caller, runIn(params));
  if (counts === 'starts' && settings.limits !== undefined) requireAdmission(settings.limits.start(caller));
  const read = await readRequest(route, context);
  const { raw } = context.req;
  return route.answer({
    ...read,
    params,
    caller,
    client,
    settings,
    raw,
    // Only requests that wait need it.
    get signal() {
      return AbortSignal.any([raw.signal, settings.closing]);
    },
  });
}

/** Returns the id of the run that a request is about. A session is a run, too. Undefined for a request about more than one run. */
function runIn(params: unknown): string | undefined {
  if (typeof params !== 'object' || params === null) return undefined;
  const { runId, sessionId } = params as Partial<Record<string, unknown>>;
  const id = runId ?? sessionId;
  return typeof id === 'string' ? id : undefined;
}

function responseTo(reply: Reply, allowsDirectText: boolean): Response {
  if (reply instanceof Response) return reply;
  const { status, body, headers } = reply;
  if (body === undefined) return new Response(null, { status, ...(headers === undefined ? {} : { headers }) });
  const text = JSON.stringify(body);
  const init = { status, headers: { 'content-type': 'application/json', ...headers } };
  return allowsDirectText ? directText(text, init) : new Response(text, init);
}
