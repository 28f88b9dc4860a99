import { Hono } from 'hono';
import { errorMessage, memberOf } from '../core/domain/errors.ts';
import { forbidden } from './auth/caller.ts';
import { refuseForeignPages } from './auth/open-access.ts';
import type { Handler } from './create-handler.ts';
import { problemOf } from './problems.ts';
import { STUDIO_PATH, studioFiles } from './studio.ts';

/** The request headers that are forwarded to the service: no cookie, origin or host of this machine. */
const PASSED_ON = ['accept', 'authorization', 'content-type', 'idempotency-key', 'last-event-id'];

/** The response headers that the page reads, and those that keep generated files from running code in the browser. */
const PASSED_BACK = ['content-type', 'content-disposition', 'content-security-policy', 'location', 'retry-after', 'www-authenticate'];

/**
 * Returns a handler that serves Studio's page and forwards its requests to a service. It only answers local pages:
 * another page in the browser would otherwise reach the service through it.
 */
export function studioFor(service: string): Handler {
  const app = new Hono<{ Bindings: { peer: string | undefined } }>();
  app.onError((error, { req: { method, path } }) => {
    const { problem } = problemOf(error, { method, path }, () => undefined);
    return problemResponse(problem);
  });
  app.use('*', async (context, next) => {
    refuseForeignPages(context.req.raw, []);
    // A form or an image of another page sends no `Origin`, but the browser sends this header.
    const site = context.req.header('sec-fetch-site');
    if (site === 'cross-site') throw forbidden('Pages of other origins may not call this service');
    await next();
    context.res.headers.set('x-content-type-options', 'nosniff');
    if (!context.res.headers.has('cache-control')) context.res.headers.set('cache-control', 'no-store');
  });
  app.route(STUDIO_PATH, studioFiles({ openTo: undefined }));
  app.all('/v1/*', ({ req }) => passOn(req.raw, service));
  return async (request) => app.fetch(request, { peer: undefined });
}

async function passOn(request: Request, service: string): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const { method, signal } = request;
  const body = method === 'GET' || method === 'HEAD' ? null : await request.arrayBuffer();
  try {
    const answer = await fetch(`${service}${pathname}${search}`, {
      method,
      signal,
      body,
      headers: headersNamed(request.headers, PASSED_ON),
      redirect: 'manual',
    });
    return new Response(answer.body, { status: answer.status, headers: headersNamed(answer.headers, PASSED_BACK) });
  } catch (error) {
    const problem = {
      type: 'about:blank',
      title: 'Bad Gateway',
      status: 502,
      code: 'server_unreachable',
      detail: `The service at ${service} does not answer: ${errorMessage(memberOf(error, 'cause') ?? error)}`,
    };
    return problemResponse(problem);
  }
}

function problemResponse(problem: { status: number }): Response {
  return new Response(JSON.stringify(problem), { status: problem.status, headers: { 'content-type': 'application/problem+json' } });
}

function headersNamed(headers: Headers, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
}
