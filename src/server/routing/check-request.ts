import type { Context } from 'hono';
import type { z } from 'zod';
import { RequestError } from '../problems/request-error.ts';
import { bodyProblems, parameterProblems } from '../problems/schema-problems.ts';
import { readIdempotencyKey } from '../requests/idempotency-key.ts';
import { readJsonBody } from '../requests/read-body.ts';
import type { ServerEnv } from '../server-env.ts';
import type { Route } from './route.ts';

/** The parts of a request that its route has read. */
export interface ReadRequest {
  params: unknown;
  query: unknown;
  body: unknown;
  idempotencyKey: string | undefined;
}

/** Returns the parameters of the path. Throws `invalid_request`. */
export function readParams({ definition: { params } }: Route, context: Context<ServerEnv>): unknown {
  return params === undefined ? undefined : parameters(params, context.req.param(), 'path');
}

/** Reads the rest of a request. Throws `invalid_request` with all problems, and the errors of `readJsonBody`. */
export async function readRequest({ definition }: Route, { req }: Context<ServerEnv>): Promise<Omit<ReadRequest, 'params'>> {
  const { query, body, bodyIsOptional, idempotencyKey } = definition;
  return {
    query: query === undefined ? undefined : parameters(query, queryOf(req.url), 'query'),
    body: body === undefined ? undefined : bodyOf(body, await givenBody(req.raw, bodyIsOptional)),
    idempotencyKey: idempotencyKey === undefined ? undefined : readIdempotencyKey(req.raw.headers),
  };
}

/** Reads a body. `null` is one, and stands for no object. */
async function givenBody(raw: Request, isOptional: true | undefined): Promise<unknown> {
  const body = await readJsonBody(raw);
  return body === undefined && isOptional ? {} : body;
}

/** Returns the parameters of a query: a text each, or a list of texts if it is repeated. */
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
  const read = schema.safeParse(values);
  if (read.success) return read.data;
  throw new RequestError('invalid_request', `The ${where} does not fit the route: see "errors"`, {
    errors: parameterProblems(read.error.issues),
  });
}

function bodyOf(schema: z.ZodType, value: unknown): unknown {
  if (value === undefined) {
    throw new RequestError('invalid_request', 'The request has no body: send a JSON object', {
      errors: [{ pointer: '#', detail: 'missing' }],
    });
  }
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  throw new RequestError('invalid_request', 'The body does not fit the route: see "errors"', { errors: bodyProblems(read.error.issues) });
}
