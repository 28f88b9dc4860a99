import type { Hono } from 'hono';
import type { ServerEnv } from '../server-env.ts';

/** Returns the methods that the routes of a service take at a path; none if no route has that path. */
export function allowedMethods(app: Hono<ServerEnv>, path: string): string[] {
  const methods = app.routes.filter((route) => route.method !== 'ALL' && patternOf(route.path).test(path)).map(({ method }) => method);
  return [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))];
}

function patternOf(path: string): RegExp {
  const parts = path.split('/').map((part) => (part.startsWith(':') ? '[^/]+' : part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)));
  return new RegExp(`^${parts.join('/')}$`);
}
