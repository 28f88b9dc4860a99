import { withoutEnd } from '../core/domain/text.ts';
import type { AnyAgent } from '../define/agent-definition.ts';
import { requireKnown } from '../define/option-checks.ts';
import type { AnyProgram } from '../define/program/program-definition.ts';
import { UsageError } from '../core/domain/errors.ts';
import type { Principal } from '../core/domain/run.ts';
import { anyOf } from './auth/any-of.ts';
import type { Authenticate } from './auth/caller.ts';
import { openAuthentication } from './auth/open-access.ts';
import { RunTokens } from './auth/run-tokens/run-tokens.ts';
import { checkCorsOptions, type CorsOptions } from './cors/cors.ts';
import type { CallerLimitOptions } from './limits/caller-limit-options.ts';
import { CallerLimits } from './limits/caller-limits.ts';
import { type McpOptions, mcpSettings } from './protocols/mcp/mcp-options.ts';
import type { ChatSessions } from './protocols/ai-sdk/chat-options.ts';
import type { ReportError } from './problems/problem-of.ts';
import { printError } from './problems/print-error.ts';
import type { ReadinessCheck, ServerSettings } from './server-settings.ts';

/** The options of the HTTP service. */
export interface HandlerOptions {
  /**
   * Verifies each request: `apiKeys(…)`, `jwt(…)`, several of them by `anyOf(…)`, or a function of yours. Without it every request is that
   * of an operator, who may do everything, and requests of this machine alone are answered: by the address of the socket where the runtime tells
   * it, and by the headers.
   */
  authenticate?: Authenticate;
  /** The secrets of tokens for one run, of at least 32 bytes: the first one signs, all verify. Default: the service makes no tokens. */
  tokenSecrets?: readonly string[];
  /** The limits of each caller. Default: those of `CallerLimitOptions`. `false`: none. */
  limits?: CallerLimitOptions | false;
  /** The pages of other origins that may call the service. Default: none. */
  cors?: CorsOptions;
  /** The agents that the service lists, and starts: another name is `agent_not_found`. Default: it starts any by its name, and says if no worker has had it. */
  agents?: readonly AnyAgent[];
  /** The programs that the service lists. It starts others as well. */
  programs?: readonly AnyProgram[];
  /**
   * Returns the options of the session that the first message of a chat of the AI SDK starts: limits, deps and so on. Default: those of
   * `client.session`, which end a chat after 200,000 tokens.
   */
  chats?: ChatSessions;
  /** The path before every route, such as `/api`. Default: none. */
  prefix?: string;
  /** Further parts that the service needs to be ready, by their names in `/readyz`. */
  checks?: Readonly<Record<string, ReadinessCheck>>;
  /** Aborted once the service is about to end: `/readyz` says so, and everything else goes on until `closing`. */
  draining?: AbortSignal;
  /**
   * Aborted once the service takes no more connections: streams are cut, which go on at another instance, and requests that wait are
   * answered. `/readyz` says that it is about to end.
   */
  closing?: AbortSignal;
  /** The MCP server at `/mcp`, whose tools are `agents`. */
  mcp?: McpOptions;
  /** Receives the errors that callers are not told, with the id under which they are told that there was one. Default: standard error. */
  onError?: ReportError;
}

/** All options by name: the compiler reports one that is added to the type and missing here. */
const OPTIONS: Record<keyof HandlerOptions, true> = {
  authenticate: true,
  tokenSecrets: true,
  limits: true,
  cors: true,
  agents: true,
  programs: true,
  chats: true,
  prefix: true,
  checks: true,
  draining: true,
  closing: true,
  mcp: true,
  onError: true,
};

/** Returns the verification of requests. Tokens for one run are tried before the operator's own way. */
function authenticationOf(given: Authenticate | undefined, tokens: RunTokens | undefined): Authenticate {
  if (given === undefined) return openAuthentication(tokens?.authenticate);
  return tokens === undefined ? given : anyOf(tokens.authenticate, given);
}

/** Returns a verification whose callers act for the principal that a service acts for itself (`longhaul serve --tenant`), if they have none. */
function actingFor(principal: Principal | undefined, authenticate: Authenticate): Authenticate {
  if (principal === undefined) return authenticate;
  return async (request) => {
    const caller = await authenticate(request);
    return caller === undefined || caller.principal !== undefined ? caller : { ...caller, principal };
  };
}

/** Returns the settings of the routes of a service that acts for a principal itself, or for none. Throws a UsageError for unknown options, and for a prefix that is no path. */
export function settingsOf(options: HandlerOptions, principal?: Principal): ServerSettings {
  requireKnown('the handler', options, Object.keys(OPTIONS));
  const { prefix = '', agents = [], programs = [], chats, checks = {}, mcp = {} } = options;
  const { draining = new AbortController().signal, closing = new AbortController().signal } = options;
  const path = withoutEnd(prefix, '/');
  if (path !== '' && !/^(?:\/[\w.~-]+)+$/.test(path)) {
    throw new UsageError(`the handler: "prefix" is ${JSON.stringify(prefix)}: write a path, such as "/api"`);
  }
  const { authenticate, tokenSecrets, limits = {}, cors = {} } = options;
  checkCorsOptions(cors);
  const tokens = tokenSecrets === undefined ? undefined : new RunTokens({ secrets: tokenSecrets });
  return {
    prefix: path,
    agents,
    programs,
    ...(chats === undefined ? {} : { chats }),
    checks,
    isEnding: () => draining.aborted || closing.aborted,
    closing,
    report: options.onError ?? printError,
    mcp: mcpSettings(mcp),
    tokens,
    limits: limits === false ? undefined : new CallerLimits(limits),
    authenticate: actingFor(principal, authenticationOf(authenticate, tokens)),
    openTo: authenticate === undefined ? { origins: cors.origins ?? [] } : undefined,
  };
}
