import type { AnyAgent } from '../define/agent-definition.ts';
import type { Authenticate } from './auth/caller.ts';
import type { RunTokens } from './auth/run-tokens/run-tokens.ts';
import type { CallerLimits } from './limits/caller-limits.ts';
import type { AnyProgram } from '../define/program/program-definition.ts';
import type { McpSettings } from './protocols/mcp/mcp-options.ts';
import type { ReportError } from './problems/problem-of.ts';
import type { ChatSessions } from './protocols/ai-sdk/chat-options.ts';

/** A check of a part that the service needs, such as a sink of streams. Rejects if the part is not usable. */
export type ReadinessCheck = () => Promise<void> | void;

/** The options of the service that its routes read. */
export interface ServerSettings {
  /** The path before every route, without a slash at its end; empty if there is none. */
  prefix: string;
  agents: readonly AnyAgent[];
  programs: readonly AnyProgram[];
  /** Returns the options of the session of a chat. */
  chats?: ChatSessions;
  /** Further parts that the service needs to be ready, by their names. */
  checks: Readonly<Record<string, ReadinessCheck>>;
  /** Verifies a request. */
  authenticate: Authenticate;
  /** The origins of pages that may call a service without authentication. Undefined: the service has one. */
  openTo: { origins: readonly string[] } | undefined;
  /** The limits of callers. Undefined: there are none. */
  limits: CallerLimits | undefined;
  /** Makes tokens for one run. Undefined: the operator has given no secret for them. */
  tokens: RunTokens | undefined;
  /** Returns true once the service is about to end: it is not ready any more. */
  isEnding: () => boolean;
  /** Aborted once the service takes no more connections: streams are cut, and waits end early. */
  closing: AbortSignal;
  /** Receives the errors that callers are not told. */
  report: ReportError;
  /** The bounds of the MCP server. */
  mcp: McpSettings;
}
