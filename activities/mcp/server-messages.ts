import { isJSONRPCRequest, type JSONRPCMessage, type Transport, type TransportSendOptions } from '@modelcontextprotocol/client';
import { isJsonObject, type JsonObject } from '../../src/core/domain/json/json.ts';

/** The key under which a result that the client package has accepted holds the answer of the server, as it was. */
const ANSWER = 'longhaul/answer';

/** The most requests whose answers are awaited: one that is never answered is forgotten. */
const MAX_AWAITED = 10_000;

/**
 * The messages of one server on their way to the client package, which discards a whole message, and with it a whole list of tools or
 * the result of a call that has acted, for one value of the wrong type. The package gets answers that it accepts; those about tools hold
 * what the server has sent (`answerIn`), for Longhaul to read.
 */
export class ServerMessages {
  readonly #methods = new Map<string | number, string>();

  /** Follows the requests that go over a transport, to know what an answer is about. */
  follow(transport: Transport): void {
    const send = transport.send.bind(transport);
    transport.send = (message: JSONRPCMessage, options?: TransportSendOptions) => {
      if (isJSONRPCRequest(message)) this.#remember(message.id, message.method);
      return send(message, options);
    };
  }

  /** Returns the text of a message, or of a list of messages, in the form that the client package accepts. `id`: the request that it answers, if only one can be meant. */
  read(text: string, id?: string | number): string {
    let given: unknown;
    try {
      given = JSON.parse(text);
    } catch {
      return text;
    }
    return JSON.stringify(
      Array.isArray(given) ? given.map((one) => this.#accepted(one, given.length === 1 ? id : undefined)) : this.#accepted(given, id),
    );
  }

  #remember(id: string | number, method: string): void {
    this.#methods.set(id, method);
    const [oldest] = this.#methods.keys();
    if (this.#methods.size > MAX_AWAITED && oldest !== undefined) this.#methods.delete(oldest);
  }

  #accepted(message: unknown, expected: string | number | undefined): unknown {
    if (!isJsonObject(message)) return message;
    const { method, params, result, error } = message;
    if (typeof method === 'string') {
      const { params: _params, ...rest } = message;
      return withoutNulls({ ...rest, jsonrpc: '2.0', ...(isJsonObject(params) ? { params: withoutNulls(params) } : {}) });
    }
    const id = this.#idOf(message['id'], expected);
    if (id === undefined) return message;
    const isError = error !== undefined && error !== null && error !== false;
    // Some servers write both, one of them as null.
    if (isError) return { jsonrpc: '2.0', id, error: errorOf(error) };
    if (result === undefined && !('result' in message)) return message;
    const about = this.#methods.get(id);
    this.#methods.delete(id);
    return { jsonrpc: '2.0', id, result: acceptedResult(about, result ?? null) };
  }

  /** Returns the id of the request that a message answers: an id as text may stand for a number. */
  #idOf(given: unknown, expected: string | number | undefined): string | number | undefined {
    if ((typeof given === 'string' || typeof given === 'number') && this.#methods.has(given)) return given;
    if (typeof given === 'string' && this.#methods.has(Number(given))) return Number(given);
    return expected ?? (typeof given === 'string' || typeof given === 'number' ? given : undefined);
  }
}

/** Returns the answer of the server that a result of the client package holds. */
export function answerIn(result: unknown): unknown {
  return isJsonObject(result) && ANSWER in result ? result[ANSWER] : result;
}

function acceptedResult(method: string | undefined, result: unknown): JsonObject {
  const given = isJsonObject(result) ? result : undefined;
  switch (method) {
    case 'tools/list':
      return { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private', [ANSWER]: jsonOf(result) };
    case 'tools/call':
      // The client asks for nothing on behalf of a server, and says so.
      if (given?.['resultType'] === 'input_required') return given;
      return { resultType: 'complete', content: [], [ANSWER]: jsonOf(result) };
    case 'initialize':
    case 'server/discover':
      return opening(given ?? {});
    default:
      return withoutNulls(given ?? {});
  }
}

function jsonOf(value: unknown): JsonObject[string] {
  return value as JsonObject[string];
}

/** Returns the answer to the opening of a session, without nulls, and with capabilities that are objects. */
function opening(result: JsonObject): JsonObject {
  const clean = deeplyWithoutNulls(result);
  const { capabilities, serverInfo, instructions, ...rest } = clean;
  const declared = isJsonObject(capabilities) ? Object.entries(capabilities) : [];
  // PHP writes an empty object as a list.
  const known = declared.flatMap(([name, value]) =>
    isJsonObject(value)
      ? [[name, objectMembers(name, value)]]
      : value === true || (Array.isArray(value) && value.length === 0)
        ? [[name, {}]]
        : [],
  );
  const { name, version, ...about } = isJsonObject(serverInfo) ? serverInfo : {};
  const info = {
    ...about,
    name: typeof name === 'string' ? name : 'unknown',
    version: typeof version === 'string' ? version : JSON.stringify(version ?? 0),
  };
  const isNamed = serverInfo !== undefined || 'protocolVersion' in rest;
  return {
    ...rest,
    capabilities: Object.fromEntries(known),
    ...(isNamed ? { serverInfo: info } : {}),
    ...(typeof instructions === 'string' ? { instructions } : {}),
  };
}

/** The members of the capabilities that the client package reads are true or false. */
function objectMembers(capability: string, value: JsonObject): JsonObject {
  if (!['tools', 'prompts', 'resources'].includes(capability)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, one]) => [name, one === 'true' ? true : one === 'false' ? false : one] as const)
      .filter(([name, one]) => !['listChanged', 'subscribe'].includes(name) || typeof one === 'boolean'),
  );
}

function errorOf(error: unknown): JsonObject {
  if (!isJsonObject(error)) return { code: -32_603, message: typeof error === 'string' ? error : (JSON.stringify(error) ?? 'error') };
  const { code, message, data } = error;
  const number = typeof code === 'string' ? Number(code) : code;
  return {
    code: typeof number === 'number' && Number.isSafeInteger(number) ? number : -32_603,
    message: typeof message === 'string' ? message : JSON.stringify(message ?? error),
    ...(data === undefined || data === null ? {} : { data }),
  };
}

function withoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

function deeplyWithoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(withoutNulls(object)).map(([name, value]) => [name, isJsonObject(value) ? deeplyWithoutNulls(value) : value]),
  );
}
