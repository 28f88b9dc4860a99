import { expecting } from './schemas/expecting.ts';
import { z } from 'zod';
import type { LonghaulClient } from '../client/longhaul-client.ts';
import type { RunHandle } from '../client/run-handle.ts';
import type { ErrorCode } from '../core/domain/errors.ts';
import type { Shape } from '../core/domain/shape.ts';
import type { Caller, Scope } from './auth/caller.ts';
import { runIdText } from './schemas/values.ts';
import type { ServerSettings } from './server-options.ts';

/** A response that a route may give. */
export interface ResponseDefinition {
  description: string;
  /** The body, if it has one. */
  schema?: z.ZodType | Shape;
  /** The type of the body. Default `application/json`. */
  contentType?: string;
  /** The data of the last event of a stream, if it is not an item. */
  lastData?: string;
  /** Descriptions of the response headers, by name. */
  headers?: Readonly<Record<string, string>>;
}

/** The declared parameters, each with a schema that reads text. */
type Parameters = z.ZodObject | undefined;

/**
 * One route of the service: the shape of its requests, which are checked against it, and of its responses. The OpenAPI document is
 * generated from the same definition.
 */
interface RouteDefinition<Params extends Parameters, Query extends Parameters, Body extends z.ZodType | undefined> {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** `/v1/runs/{runId}`, without the prefix of the service. */
  path: string;
  /** The operation id: unique, for generated clients. */
  id: string;
  tag: RouteTag;
  summary: string;
  description?: string;
  /** The scope that a caller needs. `public`: none, and no credentials. */
  scope: Scope | 'public';
  /** True: the answer is about the caller, so run tokens are also allowed. */
  isOfCaller?: true;
  /** The limit that a request counts towards, in addition to the limit of requests. */
  counts?: 'starts';
  /** True: the answer depends only on path, query and the caller's principal, so concurrent requests share it. */
  isShared?: true;
  params?: Params;
  query?: Query;
  /** A missing body counts as an empty object, if the schema accepts that. */
  body?: Body;
  /** The meaning of the header `Idempotency-Key`. Absent: the route does not read it. */
  idempotencyKey?: string;
  responses: Readonly<Record<number, ResponseDefinition>>;
  /** The errors of the route, in addition to those of every route. */
  problems: readonly ErrorCode[];
}

/** The groups of routes in the document. */
export type RouteTag = 'runs' | 'approvals' | 'sessions' | 'programs' | 'agents' | 'users' | 'server';

/** A valid request. */
export interface RouteRequest<Params, Query, Body> {
  params: Params;
  query: Query;
  body: Body;
  caller: Caller;
  /** The client that acts for the caller's principal. */
  client: LonghaulClient;
  /** The value of the header `Idempotency-Key`. */
  idempotencyKey: string | undefined;
  /** Aborted once the caller has gone, or the service ends. */
  signal: AbortSignal;
  settings: ServerSettings;
  raw: Request;
  /** The address that the request comes from. Undefined if the runtime does not provide it. */
  peer: string | undefined;
}

/** A response of a route: JSON with its status, or a whole response. */
export type Reply = { status: number; body?: unknown; headers?: Record<string, string> } | Response;

/** A route, with the function that answers its requests. */
export interface Route {
  definition: RouteDefinition<Parameters, Parameters, z.ZodType | undefined>;
  answer: (request: RouteRequest<unknown, unknown, unknown>) => Promise<Reply>;
}

type Read<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

/** Defines a route. The function receives the request as the schemas have parsed it. */
export function defineRoute<
  Params extends Parameters = undefined,
  Query extends Parameters = undefined,
  Body extends z.ZodType | undefined = undefined,
>(
  definition: RouteDefinition<Params, Query, Body>,
  answer: (request: RouteRequest<Read<Params>, Read<Query>, Read<Body>>) => Promise<Reply>,
): Route {
  return { definition, answer: (request) => answer(request as RouteRequest<Read<Params>, Read<Query>, Read<Body>>) };
}

/** The parameters of the path of a run. */
export const runParams = z.object({ runId: runIdText.describe('The id of the run.') });

/** The parameters of the path of a session. */
export const sessionParams = z.object({ sessionId: runIdText.describe('The id of the session.') });

/** A whole number in a path or a query: only digits. An empty text and `1e3` are invalid. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): z.ZodType<number> {
  const read = (text: unknown): unknown => (typeof text === 'string' && /^-?\d{1,16}$/.test(text) ? Number(text) : text);
  return z.preprocess(read, z.int(expecting('a whole number')).min(min).max(max));
}

/** The page size in a query. */
export const pageSize = wholeNumber(1, 1_000);

/** A boolean in a query. */
export const flag = z.enum(['true', 'false']).transform((text) => text === 'true');

/** The errors of routes that read a run. */
export const READ_PROBLEMS: readonly ErrorCode[] = ['run_not_found', 'not_a_run', 'history_removed'];

/** Defines a route that reads one thing of a run. */
export function readRoute(
  definition: Pick<RouteDefinition<Parameters, Parameters, undefined>, 'path' | 'id' | 'summary'>,
  { schema, description }: { schema: z.ZodType | Shape; description: string },
  read: (run: RunHandle) => Promise<unknown>,
): Route {
  return defineRoute(
    {
      ...definition,
      method: 'GET',
      tag: 'runs',
      scope: 'runs:read',
      isShared: true,
      params: runParams,
      responses: ok(schema, description),
      problems: READ_PROBLEMS,
    },
    async ({ params, client }) => ({ status: 200, body: await read(client.handle(params.runId)) }),
  );
}

/** The errors of routes that send a request to a run. */
export const REQUEST_PROBLEMS: readonly ErrorCode[] = ['run_not_found', 'run_ended', 'busy', 'wait_timeout'];

/** Returns the responses of a route that only answers with JSON of this schema. */
export function ok(schema: z.ZodType | Shape, description: string): Readonly<Record<number, ResponseDefinition>> {
  return { 200: { description, schema } };
}
