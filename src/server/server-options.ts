import { SESSION_OPTIONS, type SessionOptions } from '../client/session-handle.ts';
import { defined } from '../core/domain/json.ts';
import { UsageError } from '../core/domain/errors.ts';
import type { ModelClient } from '../core/domain/model.ts';
import type { Principal } from '../core/domain/run.ts';
import { withoutEnd } from '../core/domain/text.ts';
import { type Duration, timerMilliseconds } from '../core/domain/time.ts';
import type { AnyAgent } from '../define/agent-definition.ts';
import { type OptionTable, requireKnown, requireList } from '../define/option-checks.ts';
import type { AnyProgram } from '../define/program/program-definition.ts';
import type { AnyTool } from '../define/tool-definition.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { anyOf, type Authenticate, type Caller } from './auth/caller.ts';
import { OidcLogin, type OidcOptions } from './oidc-login.ts';
import { openAuthentication } from './auth/open-access.ts';
import { RunTokens } from './auth/run-tokens.ts';
import { checkCorsOptions, type CorsOptions } from './cors.ts';
import { type CallerLimitOptions, CallerLimits } from './limits.ts';
import { printError, type ReportError } from './problems.ts';

/** The options of the HTTP service. */
export interface HandlerOptions {
  /**
   * Verifies each request: `apiKeys(…)`, `jwt(…)`, several of them with `anyOf(…)`, or your function (docs/authentication.md). Without it,
   * only local requests are answered, and may do everything: the socket's address, if the runtime provides it, and the headers
   * decide whether a request is local.
   */
  authenticate?: Authenticate;
  /**
   * Lets people log in to Studio and other pages at an OpenID Connect issuer, whose tokens `authenticate` verifies
   * (docs/authentication.md#log-in-by-openid-connect). Default: they paste an API key or a token.
   */
  oidc?: OidcOptions;
  /**
   * The secrets of run tokens, which pages put into the URL of a stream (docs/authentication.md#run-tokens-for-pages), of at least 32
   * bytes: the first one signs, all verify. Default: the service makes no tokens.
   */
  tokenSecrets?: readonly string[];
  /** The limits of each caller (docs/authentication.md#limits). Default: see `CallerLimitOptions`. `false`: no limits. */
  limits?: CallerLimitOptions | false;
  /** The pages of other origins that may call the service (docs/authentication.md#pages-of-other-origins). Default: none. */
  cors?: CorsOptions;
  /**
   * The agents that the service lists and starts: for any other name it returns 404 `agent_not_found`, with the nearest name. Default: it
   * starts any agent by name, and the answer has a `notice` if no worker has run one with this name. A request that waits for its answer,
   * with the OpenAI protocol (docs/openai.md) or the AI SDK (docs/ai-sdk.md), gets 404 if the worker that takes its run lacks the
   * agent. The run is then cancelled. The worker may take up to 10 seconds to load the run.
   */
  agents?: readonly AnyAgent[];
  /**
   * The programs that the service lists and starts by name: for any other name it returns 404 `program_not_found`, with the nearest name.
   * Default: it starts any program by name, with a `notice` as for agents.
   */
  programs?: readonly AnyProgram[];
  /**
   * The workers' tools that programs as documents may call, in addition to those of `programs`: a document that names another one is 422
   * `invalid_program`, as one that names an agent or a program that the service does not list. Default: only the worker checks tools.
   */
  tools?: readonly AnyTool[];
  /**
   * Returns the options of the session that the first message of an AI SDK chat (docs/ai-sdk.md) starts: limits, deps and so on.
   * Default: the defaults of `client.session`, which end a chat after 200,000 tokens.
   */
  chats?: ChatSessions;
  /**
   * The workers' providers by name, used to show the wire form of a step's model request (docs/http.md#runs).
   * No model is called with them (docs/providers.md#described-requests). Default: requests are shown as the worker builds them, before
   * the provider converts them.
   */
  providers?: Readonly<Record<string, ModelClient>>;
  /** The address of Temporal's web interface, returned by `GET /v1/me`. Default: none. */
  uiUrl?: string;
  /**
   * True: serves Studio at `/studio` (docs/studio.md), a page to find runs, see what happened, decide and talk to agents. It uses
   * the routes of the service with the reader's credentials. Default false.
   */
  studio?: boolean;
  /** The path before every route, such as `/api`. The URL of requests must have it. Default: none. */
  prefix?: string;
  /**
   * Further readiness checks by their names in `/readyz`: each throws if its part is not usable, and the service is then not ready. One that
   * is named `streams` replaces the check of the sink, without which the service is ready: `streams: () => client.checkStreams()` requires it.
   */
  checks?: Readonly<Record<string, ReadinessCheck>>;
  /** Aborted once the service is about to end: `/readyz` fails, the rest continues until `closing` (docs/http.md#shutting-down). */
  draining?: AbortSignal;
  /**
   * Aborted once the service accepts no more connections: streams are cut, to continue at another instance, and requests that wait are
   * answered. `/readyz` says that it is about to end.
   */
  closing?: AbortSignal;
  /** How long calls of MCP clients wait (docs/mcp.md#agents-as-an-mcp-server). Their tools at `/mcp` are `agents`. */
  mcp?: McpOptions;
  /** Receives internal errors, with the id that the caller sees in their place. Default: standard error. */
  onError?: ReportError;
  /** Measures requests (docs/telemetry.md#metrics): `await telemetry({ tracerProvider: 'none', meterProvider })`. */
  telemetry?: Telemetry;
}

/** All options by name: the compiler reports one that is added to the type and missing here. */
const OPTIONS: OptionTable<HandlerOptions> = {
  authenticate: true,
  oidc: true,
  tokenSecrets: true,
  limits: true,
  cors: true,
  agents: true,
  programs: true,
  tools: true,
  chats: true,
  providers: true,
  uiUrl: true,
  studio: true,
  prefix: true,
  checks: true,
  draining: true,
  closing: true,
  mcp: true,
  onError: true,
  telemetry: true,
};

/** Returns the authenticator of requests. Run tokens are tried before the operator's authenticator. */
function authenticationOf(given: Authenticate | undefined, tokens: RunTokens | undefined): Authenticate {
  if (given === undefined) return openAuthentication(tokens?.authenticate);
  return tokens === undefined ? given : anyOf(tokens.authenticate, given);
}

/** Wraps an authenticator: callers that act for no principal (`'all'`) act for the service's principal (`longhaul serve --tenant`). */
function actingFor(principal: Principal | undefined, authenticate: Authenticate): Authenticate {
  if (principal === undefined) return authenticate;
  return async (request) => {
    const caller = await authenticate(request);
    return caller?.principal !== 'all' ? caller : { ...caller, principal };
  };
}

/** Returns the settings of a service, which may itself act for a principal. Throws a UsageError for unknown options and a bad prefix. */
export function settingsOf(options: HandlerOptions, principal?: Principal): ServerSettings {
  requireKnown('the handler', options, OPTIONS);
  checkLists(options);
  const { prefix = '', agents = [], programs = [], tools, providers = {}, chats, uiUrl, studio = false } = options;
  const { checks = {}, mcp = {} } = options;
  const { draining = new AbortController().signal, closing = new AbortController().signal } = options;
  const path = withoutEnd(prefix, '/');
  if (path !== '' && !/^(?:\/[\w.~-]+)+$/.test(path)) {
    throw new UsageError(`the handler: "prefix" is ${JSON.stringify(prefix)}: write a path, such as "/api"`);
  }
  const { authenticate, oidc, tokenSecrets, limits = {}, cors = {} } = options;
  if (oidc !== undefined && authenticate === undefined)
    throw new UsageError('the handler: "oidc" needs "authenticate", such as jwt({ issuer, audience }): without it nobody logs in');
  checkCorsOptions(cors);
  const tokens = tokenSecrets === undefined ? undefined : new RunTokens({ secrets: tokenSecrets });
  return {
    prefix: path,
    agents,
    programs,
    providers,
    ...defined({ tools, chats, uiUrl }),
    studio,
    checks,
    isEnding: () => draining.aborted || closing.aborted,
    closing,
    report: options.onError ?? printError,
    mcp: mcpSettings(mcp),
    tokens,
    limits: limits === false ? undefined : new CallerLimits(limits),
    ...defined({ login: oidc && new OidcLogin(oidc) }),
    authenticate: actingFor(principal, authenticationOf(authenticate, tokens)),
    openTo: authenticate === undefined ? { origins: cors.origins ?? [] } : undefined,
  };
}

/** Throws a UsageError for agents, programs or tools that are no lists: in JavaScript no type check reports them. */
function checkLists({ agents = [], programs = [], tools = [] }: HandlerOptions): void {
  requireList('the handler: "agents"', agents, 'agents: [clerk], of what defineAgent returned');
  requireList('the handler: "programs"', programs, 'programs: [triage], of what defineProgram returned');
  requireList('the handler: "tools"', tools, 'tools: [search, refund], of what defineTool returned');
}

/** A check of a part that the service needs, such as a stream sink. Rejects if the part is not usable. */
export type ReadinessCheck = () => Promise<void> | void;

/** The settings of the service, as its routes read them. */
export interface ServerSettings {
  /** The path before every route, without a slash at its end; empty if there is none. */
  prefix: string;
  agents: readonly AnyAgent[];
  programs: readonly AnyProgram[];
  /** The workers' tools that documents may call. Undefined: not known. */
  tools?: readonly AnyTool[];
  /** The workers' providers by name. */
  providers: Readonly<Record<string, ModelClient>>;
  /** The address of Temporal's web interface. */
  uiUrl?: string;
  /** True if Studio is served. */
  studio: boolean;
  /** Returns the options of a chat's session. */
  chats?: ChatSessions;
  /** Further readiness checks by name. */
  checks: Readonly<Record<string, ReadinessCheck>>;
  /** Logs people in at an issuer. Absent: callers bring their own credentials. */
  login?: OidcLogin;
  /** Verifies a request. */
  authenticate: Authenticate;
  /** The origins of pages that may call a service without authentication. Undefined: the service has authentication. */
  openTo: { origins: readonly string[] } | undefined;
  /** The limits of callers. Undefined: there are none. */
  limits: CallerLimits | undefined;
  /** Makes run tokens. Undefined: the operator has given no secret for them. */
  tokens: RunTokens | undefined;
  /** Returns true once the service is about to end: it is no longer ready. */
  isEnding: () => boolean;
  /** Aborted once the service accepts no more connections: streams are cut, and waits end early. */
  closing: AbortSignal;
  /** Receives internal errors. */
  report: ReportError;
  /** The bounds of the MCP server. */
  mcp: McpSettings;
}

/** The options of the MCP server at `/mcp`. */
export interface McpOptions {
  /** The longest time that a call waits for its run, which continues without it. Default 1 hour. */
  maxWait?: Duration;
  /** The longest time that a call waits for a person's decision in its run. Default 1 minute. */
  maxDecisionWait?: Duration;
}

/** The validated MCP options. */
export interface McpSettings {
  maxWaitMs: number;
  maxDecisionWaitMs: number;
}

/** All options by name: the compiler reports one that is added to the type and missing here. */
const MCP_OPTIONS: OptionTable<McpOptions> = { maxWait: true, maxDecisionWait: true };

/** Fills in the defaults. Throws a UsageError for unknown options, and for an invalid time. */
function mcpSettings(options: McpOptions): McpSettings {
  requireKnown('the handler: "mcp"', options, MCP_OPTIONS);
  const { maxWait = '1h', maxDecisionWait = '1m' } = options;
  return {
    maxWaitMs: timerMilliseconds(maxWait, 'the handler: "mcp.maxWait"'),
    maxDecisionWaitMs: timerMilliseconds(maxDecisionWait, 'the handler: "mcp.maxDecisionWait"'),
  };
}

/** The options of a chat's session that the service may set. A client cannot set any. */
export type ChatSessionOptions = Omit<SessionOptions, 'id' | 'user' | 'principal' | 'messages' | 'saved'>;

const { id: _id, user: _user, principal: _principal, messages: _messages, saved: _saved, ...OPTIONS_OF_CHATS } = SESSION_OPTIONS;

/** The options by name. */
export const CHAT_OPTIONS: OptionTable<ChatSessionOptions> = OPTIONS_OF_CHATS;

/** Returns the options of the session that the first message of a chat starts: its limits, deps, title and so on. */
export type ChatSessions = (chat: { agent: string; caller: Caller }) => ChatSessionOptions;
