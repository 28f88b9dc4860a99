// oxlint-disable-next-line import/no-unassigned-import -- it comes first, and throws if Node is too old.
import '../require-node.ts';
export { createHandler, type Handler } from './create-handler.ts';
export { type NodeListener, nodeListener } from './node/node-listener.ts';
export type { HandlerOptions } from './server-options.ts';
export type { McpOptions } from './mcp/mcp-options.ts';
export type { ReadinessCheck } from './server-settings.ts';
export type { Problem, ReportError } from './problems/problem-of.ts';
export { RequestError, type RefusalParts, type RequestProblem } from './problems/request-error.ts';
export { type Authenticate, type Caller, type Scope, SCOPES } from './auth/caller.ts';
