/**
 * `longhaul`: what agents and tools are defined with, and the types of what a run gives. Starting runs is
 * `longhaul/client`, running them `longhaul/worker`.
 */
export { askHuman } from './define/ask-human.ts';
export { defineAgent } from './define/define-agent.ts';
export { defineTool } from './define/define-tool.ts';
export { mcpServer } from './define/mcp-server.ts';
export { secret, type SecretOptions } from './define/secret.ts';
export { resource } from './define/resource.ts';
export { contextUpdate, withUpdate } from './define/context-update.ts';
export { ModelRetry, ToolFailure } from './define/tool-failure.ts';
export { toolOutput } from './define/tool-output.ts';
export type {
  AgentDefinition,
  AnyAgent,
  DepsOf,
  DepsOption,
  GivenDepsOf,
  Instructions,
  OutputOf,
  ResourcesOf,
  ResultOf,
  UnfinishedOf,
} from './define/agent-definition.ts';
export type { ResourcesOption } from './define/needed-resources.ts';
export type { AgentOptions } from './define/agent-options.ts';
export type {
  ApprovalAnswer,
  ApprovalContext,
  ApprovalDeadlineOptions,
  ApprovalNeed,
  ApprovalOption,
  ApprovalPredicate,
  ApprovalRule,
  ToolApproval,
} from './define/approval-options.ts';
export type { McpCallInfo, McpEffect, McpServerDefinition, McpTransport, McpValue } from './define/mcp-definition.ts';
export type { McpOptions, McpServerOptions } from './define/mcp-server.ts';
export type { McpHttpOptions, McpStdioOptions, McpTransportOptions } from './define/mcp-transport.ts';
export type { AskHumanOptions } from './define/ask-human.ts';
export type { ToolOptions } from './define/define-tool.ts';
export type { ContextUpdate, UpdatingResult } from './define/context-update.ts';
export type { BackoffOptions, RetryOn, ToolPolicyOptions, VerifiedOutcome, Verify } from './define/tool-policy-options.ts';
export type { Backoff, ToolPolicy } from './domain/tool-policy.ts';
export type { ContextOperation, RecordedUpdate } from './domain/context-update.ts';
export type { Duration } from './domain/duration.ts';
export type { LimitOptions } from './domain/limit-options.ts';
export type { ModelName } from './domain/model-name.ts';
export type { Overflow } from './define/result-budget.ts';
export type { OpenContext, ReadSecret, ResourceDefinition, ResourceOptions } from './define/resource.ts';
export type { Resources, RunContext, RunLog } from './define/run-context.ts';
export type { AnyTool, ToolDefinition } from './define/tool-definition.ts';
export type { ToolOutput } from './define/tool-output.ts';

export type { AgentSnapshot, ModelSettings, OutputSnapshot, ToolDescription, ToolSnapshot } from './domain/agent-snapshot.ts';
export type { ContentItem, ContentPart, MediaSource, Message, Role, SpilledContent, ToolCall, ToolResult } from './domain/content.ts';
export type { Event } from './domain/event.ts';
export type { ExecutionContext } from './domain/execution-context.ts';
export type { LimitChanges, LimitRaise, RunLimits } from './domain/limits.ts';
export type { ModelPrice } from './domain/price.ts';
export type { ApprovalTerms, Decision, PendingApproval, RememberedDecision } from './domain/approval.ts';
export type { MessageMode } from './domain/queued-message.ts';
export type { JsonObject, JsonValue } from './domain/json.ts';
export { isSecretReference, type SecretReference } from './domain/secret-reference.ts';
export type { RunStatus, StopReason, TerminalStatus } from './domain/run-status.ts';
export type { FinishReason, StepResult, ToolCallRecord, Verified } from './domain/step.ts';
export type { AggregatedUsage, UsageStats } from './domain/usage.ts';
export { RunResult } from './domain/run-result.ts';
export type { CompletedRun, DefaultOutput, RunResultFields, UnfinishedRun } from './domain/run-result.ts';

export { ERROR_CODES, errorCode, errorMessage, isErrorCode, LonghaulError, ModelCallError, UsageError } from './domain/error.ts';
export type { ErrorCode } from './domain/error.ts';

export type {
  ConversationEvent,
  ModelCallContext,
  ModelCapabilities,
  ModelClient,
  ModelRequest,
  ModelResponse,
  RawToolCall,
} from './domain/model.ts';
