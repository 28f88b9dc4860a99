import { UsageError } from '../core/domain/errors.ts';

/** The pages of other origins that may call the server. */
export interface CorsOptions {
  /** The allowed origins, such as `https://app.example`, exactly as browsers write them. Default: none. */
  origins?: readonly string[];
  /** True if pages may send cookies, for an `authenticate` function that reads them. Default false. */
  credentials?: boolean;
}

/** The part of a response that decides whether the browser lets a page read it. */
interface CorsAnswer {
  /** Headers to set on the response, also for an error. */
  headers: Record<string, string>;
  /** True for a preflight request: the answer is 204 with the headers, without authentication. */
  isPreflight: boolean;
}

/** The headers of responses that pages may read. */
const EXPOSED =
  'allow, location, retry-after, www-authenticate, mcp-session-id, x-request-id, x-should-retry, x-vercel-ai-ui-message-stream';

const METHODS = 'GET, POST, PUT, PATCH, DELETE';

/** The seconds for which a browser caches the answer to a preflight. */
const MAX_AGE = '600';

/** Throws a UsageError for `*`, and for an origin that no browser sends, such as one with a path. */
export function checkCorsOptions({ origins = [] }: CorsOptions): void {
  for (const origin of origins) {
    if (!isOrigin(origin))
      throw new UsageError(`"${origin}" is not an origin: write only scheme, host and port, such as "https://app.example"`);
  }
}

function isOrigin(text: string): boolean {
  if (!URL.canParse(text) || text.includes('*')) return false;
  const { protocol, origin } = new URL(text);
  return (protocol === 'https:' || protocol === 'http:') && origin === text;
}

/** Returns the CORS answer to a request. For a page whose origin is not listed, the browser withholds the response. */
export function corsAnswer(request: Request, { origins = [], credentials = false }: CorsOptions): CorsAnswer {
  if (origins.length === 0) return { headers: {}, isPreflight: false };
  const { method, headers: asked } = request;
  const origin = asked.get('origin');
  const isPreflight = method === 'OPTIONS' && origin !== null && asked.has('access-control-request-method');
  const vary = isPreflight ? 'Origin, Access-Control-Request-Headers' : 'Origin';
  if (origin === null || !origins.includes(origin)) return { headers: { vary }, isPreflight };
  return {
    headers: {
      vary,
      'access-control-allow-origin': origin,
      ...(credentials ? { 'access-control-allow-credentials': 'true' } : {}),
      ...(isPreflight ? preflightHeaders(asked) : { 'access-control-expose-headers': EXPOSED }),
    },
    isPreflight,
  };
}

/** Allows the headers that the page asks for: clients send many custom headers, and the origin is trusted. */
function preflightHeaders(asked: Headers): Record<string, string> {
  const names = (asked.get('access-control-request-headers') ?? '').split(',').map((name) => name.trim());
  const allowed = names.filter((name) => /^[a-z0-9-]+$/i.test(name));
  return {
    'access-control-allow-methods': METHODS,
    'access-control-max-age': MAX_AGE,
    ...(allowed.length === 0 ? {} : { 'access-control-allow-headers': allowed.join(', ') }),
  };
}
