// oxlint-disable-next-line import/no-unassigned-import -- it comes first, and throws if Node is too old.
import '../node-version/require-node.ts';
export { createHandler, type Handler } from './create-handler.ts';
export { type NodeListener, nodeListener } from './node-server.ts';
export type { ChatSessionOptions, ChatSessions, HandlerOptions, McpOptions, ReadinessCheck } from './server-options.ts';
export { type Problem, type RefusalParts, type ReportError, RequestError, type RequestProblem } from './problems.ts';
export { anyOf, type Authenticate, type Caller, type Scope, SCOPES } from './auth/caller.ts';
export { apiKeys, type ApiKeyStore, createApiKey, fileApiKeys } from './auth/api-keys.ts';
export { jwt } from './auth/jwt.ts';
export type { OidcOptions } from './oidc-login.ts';
export { RunTokens, withoutToken } from './auth/run-tokens.ts';
export type { CallerLimitOptions, Rate } from './limits.ts';
export type { CorsOptions } from './cors.ts';
export type { ChatMetadata } from './protocols/ai-sdk/ui-message.ts';
export type { ApiKey, FileApiKeysOptions } from './auth/api-keys.ts';
export type { JwtOptions } from './auth/jwt.ts';
export type { RunToken, RunTokenOptions, RunTokenRequest } from './auth/run-tokens.ts';
export type { Identity } from '../core/domain/run.ts';
export type { JwtRights } from './auth/jwt.ts';
