import { UsageError } from '../../core/domain/errors.ts';
import { isSecretReference } from '../../core/domain/deps.ts';
import type { McpTransport, McpValue } from './mcp-definition.ts';
import { nonEmpty } from '../options/option-checks.ts';

/** A server that the worker starts as a process of its own. */
export interface McpStdioOptions {
  /** The program: a path, or a name that is found on the worker's `PATH`. It is not run by a shell. */
  command: string;
  args?: readonly string[];
  /** The variables of the process. It also gets `PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL` and `TERM` of the worker (on Windows those that programs need there), and no others. */
  env?: Readonly<Record<string, McpValue>>;
  /** The working directory. Default: the worker's. */
  cwd?: string;
}

/** A server at an address, over streamable HTTP or over the protocol before it, HTTP with server-sent events. */
export interface McpHttpOptions {
  url: string | URL;
  /** Sent with every request. */
  headers?: Readonly<Record<string, McpValue>>;
  /**
   * `http` for streamable HTTP alone, `sse` for HTTP with server-sent events alone. Default: streamable HTTP, and server-sent events
   * if the server refuses that.
   */
  transport?: 'http' | 'sse';
}

/** The transport of a server: one of both. */
export type McpTransportOptions = McpStdioOptions | McpHttpOptions;

/** The names of the options of both transports. */
export const TRANSPORT_OPTIONS = ['command', 'args', 'env', 'cwd', 'url', 'headers', 'transport'];

/** Headers that the protocol sets. */
const OWN_HEADERS = ['accept', 'content-type', 'content-length', 'host', 'connection', 'last-event-id'];

/** The characters of a header's name (a token of HTTP). */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Returns the checked transport. Throws a UsageError that names an invalid option, without the value of a header or variable. */
export function checkMcpTransport(owner: string, options: McpTransportOptions): McpTransport {
  const { command, args, env, cwd, url, headers, transport } = options as Partial<McpStdioOptions & McpHttpOptions>;
  if ((command === undefined) === (url === undefined)) {
    throw new UsageError(
      `${owner} has ${command === undefined ? 'neither' : 'both'} "command" ${command === undefined ? 'nor' : 'and'} "url": write one of them`,
    );
  }
  if (url !== undefined) {
    refuse(owner, 'url', { args, env, cwd });
    const protocol = checkProtocol(owner, transport);
    return {
      type: 'http',
      url: checkUrl(owner, url),
      headers: checkHeaders(owner, headers ?? {}),
      ...(protocol === undefined ? {} : { protocol }),
    };
  }
  refuse(owner, 'command', { headers, transport });
  return {
    type: 'stdio',
    command: nonEmpty(`${owner}: "command"`, command),
    args: checkArgs(owner, args ?? []),
    env: checkValues(`${owner}: "env`, env ?? {}, /^[^=\0]+$/),
    ...(cwd === undefined ? {} : { cwd: nonEmpty(`${owner}: "cwd"`, cwd) }),
  };
}

function refuse(owner: string, reached: string, others: Record<string, unknown>): void {
  for (const [option, value] of Object.entries(others)) {
    if (value !== undefined) throw new UsageError(`${owner} has "${reached}" and "${option}", which do not go together: leave one out`);
  }
}

function checkProtocol(owner: string, transport: unknown): 'http' | 'sse' | undefined {
  if (transport === undefined || transport === 'http' || transport === 'sse') return transport;
  throw new UsageError(`${owner}: "transport" is ${JSON.stringify(transport)}: write "http" or "sse", or leave it out to find out`);
}

/** Checks an address, without repeating it in an error: it may contain a secret, which belongs into a header. */
function checkUrl(owner: string, url: string | URL): string {
  const text = String(url);
  if (!URL.canParse(text)) throw new UsageError(`${owner}: "url" is not an address: write "https://…"`);
  const { protocol, username, password } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') throw new UsageError(`${owner}: "url" begins with "${protocol}": write "https://…"`);
  if (username !== '' || password !== '') throw new UsageError(`${owner}: "url" holds a password: write it as a header, by secret('name')`);
  return text;
}

function checkArgs(owner: string, args: readonly string[]): readonly string[] {
  if (Array.isArray(args) && args.every((one) => typeof one === 'string' && !one.includes('\0'))) return [...args];
  throw new UsageError(`${owner}: "args" must be a list of texts`);
}

function checkHeaders(owner: string, headers: Readonly<Record<string, McpValue>>): Readonly<Record<string, McpValue>> {
  for (const name of Object.keys(headers)) {
    const own = name.toLowerCase();
    if (OWN_HEADERS.includes(own) || own.startsWith('mcp-'))
      throw new UsageError(`${owner}: "headers.${name}" is set by the protocol: leave it out`);
  }
  return checkValues(`${owner}: "headers`, headers, HEADER_NAME);
}

/** `option` is the text before the names, quotation mark included. A value is never in the message. */
function checkValues(option: string, values: Readonly<Record<string, McpValue>>, pattern: RegExp): Readonly<Record<string, McpValue>> {
  if (typeof values !== 'object' || values === null) throw new UsageError(`${option}" must be an object of names and values`);
  for (const [name, value] of Object.entries(values)) {
    if (!pattern.test(name)) throw new UsageError(`${option}" has the name ${JSON.stringify(name)}, which cannot be one`);
    if (isSecretReference(value)) continue;
    if (typeof value !== 'string' || /[\0\r\n]/.test(value))
      throw new UsageError(`${option}.${name}" must be one line of text, or secret('name')`);
  }
  return { ...values };
}
