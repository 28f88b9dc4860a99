import type { Handler } from '../../../../../src/server/index.ts';
import type { AccessLine, Expected, Victim } from './access-line.ts';

/** One request to a route. */
export interface LineRequest {
  method: string;
  path: string;
  line: AccessLine;
  /** The things that the request names. */
  victim: Victim;
  credentials: string | undefined;
}

/** The parts of a response that are compared. */
export interface LineResponse {
  status: number;
  code: string | undefined;
  text: string;
}

/** Sends the request of a line. Of a stream, the first chunk is read. */
export async function sendLine(handler: Handler, { method, path, line, victim, credentials }: LineRequest): Promise<LineResponse> {
  const { body, query, headers = {}, withKey = false } = line;
  const url = `http://localhost${pathOf(path, victim)}${query?.(victim) ?? ''}`;
  const response = await handler(
    new Request(url, {
      method,
      headers: {
        'content-type': 'application/json',
        ...headers,
        ...(withKey ? { 'idempotency-key': keyOf(path, victim) } : {}),
        ...(credentials === undefined ? {} : { authorization: `Bearer ${credentials}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body(victim)) }),
    }),
  );
  const text = await textOf(response);
  return { status: response.status, code: codeIn(text), text };
}

/** Returns the idempotency key of the principal that a route is attacked with. Each has a separate key: callers use it once. */
export function keyOf(path: string, { tenant }: Pick<Victim, 'tenant'>): string {
  return `${tenant} ${path}`;
}

/** Returns the response without what names the occurrence. */
export function comparable({ status, text }: LineResponse): unknown {
  return { status, text: text.replaceAll(/urn:uuid:[\w-]+/g, 'urn:uuid') };
}

/** Returns the parts of a response that an expectation is about. */
export function partsFor({ code, has }: Expected, { status, code: own, text }: LineResponse): Expected {
  return {
    status,
    ...(code === undefined || own === undefined ? {} : { code: own }),
    ...(has === undefined ? {} : { has: text.includes(has) ? has : text }),
  };
}

/** Returns the values of the parameters of paths. */
function valuesOf(victim: Victim): Readonly<Record<string, string>> {
  const { runId, sessionId, callId, user, chatId } = victim;
  const others = { agent: 'clerk', model: 'clerk', turn: '1', decisionId: 'd', sha256: 'a'.repeat(64), program: 'note', step: '1' };
  return { runId, sessionId, callId, user, id: chatId, ...others };
}

function pathOf(path: string, victim: Victim): string {
  const values = valuesOf(victim);
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${path} has the parameter "${name}": give it a value here`);
    return encodeURIComponent(value);
  });
}

async function textOf(response: Response): Promise<string> {
  const type = response.headers.get('content-type') ?? '';
  if (!type.startsWith('text/event-stream')) return response.text();
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return new TextDecoder().decode(value);
}

function codeIn(text: string): string | undefined {
  try {
    const { code, error } = JSON.parse(text) as { code?: string; error?: { code?: string } };
    return code ?? error?.code;
  } catch {
    return undefined;
  }
}
