// oxlint-disable-next-line import/no-unassigned-import -- it comes first, and throws if Node is too old.
import '../require-node.ts';
export { createHandler, type Handler } from './create-handler.ts';
export { type NodeListener, nodeListener } from './node/node-listener.ts';
export type { HandlerOptions } from './server-options.ts';
export type { ReadinessCheck } from './server-settings.ts';
export type { Problem, ReportError } from './problems/problem-of.ts';
export { RequestError, type RefusalParts, type RequestProblem } from './problems/request-error.ts';
export { type Authenticate, type Caller, type Scope, SCOPES } from './auth/caller.ts';
export { anyOf } from './auth/any-of.ts';
export { apiKeys } from './auth/api-keys/api-keys.ts';
export { fileApiKeys } from './auth/api-keys/file-api-keys.ts';
export { createApiKey } from './auth/api-keys/create-api-key.ts';
export type { ApiKeyStore } from './auth/api-keys/api-key-store.ts';
export { jwt } from './auth/jwt/jwt.ts';
export { RunTokens } from './auth/run-tokens/run-tokens.ts';
export { withoutToken } from './auth/run-tokens/without-token.ts';
export type { CallerLimitOptions, Rate } from './limits/caller-limit-options.ts';
export type { CorsOptions } from './cors/cors.ts';
