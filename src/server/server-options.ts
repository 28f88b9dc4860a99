import type { AnyAgent } from '../define/agent-definition.ts';
import { requireKnown } from '../define/options/option-checks.ts';
import type { AnyProgram } from '../define/program/program-definition.ts';
import { UsageError } from '../core/domain/errors/error.ts';
import type { Authenticate } from './auth/caller.ts';
import { type McpOptions, mcpSettings } from './mcp/mcp-options.ts';
import type { ReportError } from './problems/problem-of.ts';
import type { ReadinessCheck, ServerSettings } from './server-settings.ts';

/** The options of the HTTP service. */
export interface HandlerOptions {
  /**
   * Verifies each request. Without it every request is that of an operator, who may do everything: only for a service that nothing but
   * this machine reaches.
   */
  authenticate?: Authenticate;
  /** The agents that the service lists. It starts others as well, by their names, if workers have them. */
  agents?: readonly AnyAgent[];
  /** The programs that the service lists. It starts others as well. */
  programs?: readonly AnyProgram[];
  /** The path before every route, such as `/api`. Default: none. */
  prefix?: string;
  /** Further parts that the service needs to be ready, by their names in `/readyz`. */
  checks?: Readonly<Record<string, ReadinessCheck>>;
  /** Aborted once the service is about to end: `/readyz` says so, and requests that wait are answered. */
  closing?: AbortSignal;
  /** The MCP server at `/mcp`, whose tools are `agents`. */
  mcp?: McpOptions;
  /** Receives the errors that callers are not told, with the id under which they are told that there was one. Default: standard error. */
  onError?: ReportError;
}

/** All options by name: the compiler reports one that is added to the type and missing here. */
const OPTIONS: Record<keyof HandlerOptions, true> = {
  authenticate: true,
  agents: true,
  programs: true,
  prefix: true,
  checks: true,
  closing: true,
  mcp: true,
  onError: true,
};

/** Returns the settings of the routes. Throws a UsageError for unknown options, and for a prefix that is no path. */
export function settingsOf(options: HandlerOptions): ServerSettings {
  requireKnown('the handler', options, Object.keys(OPTIONS));
  const { prefix = '', agents = [], programs = [], checks = {}, closing = new AbortController().signal, mcp = {} } = options;
  const path = prefix.replace(/\/+$/, '');
  if (path !== '' && !/^(?:\/[\w.~-]+)+$/.test(path)) {
    throw new UsageError(`the handler: "prefix" is ${JSON.stringify(prefix)}: write a path, such as "/api"`);
  }
  return { prefix: path, agents, programs, checks, closing, mcp: mcpSettings(mcp) };
}
