/**
 * `longhaul`: the functions that define agents, tools and programs, and the types of a run's data. `longhaul/program` makes the
 * steps of programs, `longhaul/client` starts runs, `longhaul/worker` executes them, and `longhaul/executors` runs code without any.
 *
 * @packageDocumentation
 */
export {
  type CodeDefinition,
  type CodeOptions,
  type CreateOwnExecutor,
  custom,
  type CustomExecutorOptions,
  type ExecutorDefinition,
  type ExecutorOptions,
  type Inject,
  inProcess,
  type InProcessExecutorOptions,
  type OwnExecutorSettings,
  python,
  quickjs,
} from './define/code.ts';
export { agentTool, type AgentToolOptions } from './define/agent-tool.ts';
export { askHuman, type AskHumanOptions, defineTool, type ObjectSchema, type ToolOptions } from './define/define-tool.ts';
export { defineAnchor, type AnchorOptions } from './define/define-anchor.ts';
export { type AgentOptions, defineAgent, type DefinedAgent, type OutputFor, type UnfinishedFor } from './define/define-agent.ts';
export {
  type AllArguments,
  type AllDeps,
  type AnyCapability,
  type Argument,
  type CapabilityDefinition,
  type CapabilityOptions,
  defineCapability,
  type DepsArgument,
  type DepsFor,
  type GivenDepsArgument,
  type GivenDepsFor,
  type ResourcesOfCapabilities,
  type ResourcesOfCapability,
  type ToolsFor,
} from './define/capabilities.ts';
export {
  type AnyGuardrail,
  callRules,
  type CallRulesOptions,
  type CheckedCall,
  type CommonGuardrailOptions,
  contentFilter,
  type ContentFilterOptions,
  defineGuardrail,
  type GuardrailAnswer,
  type GuardrailContext,
  type GuardrailContexts,
  type GuardrailDefinition,
  type GuardrailOptions,
  type InputContext,
  maxTokens,
  type MaxTokensOptions,
  type OutputContext,
  personalData,
  type PersonalDataKind,
  type PersonalDataOptions,
  promptInjection,
  type PromptInjectionOptions,
  type ToolCallContext,
} from './define/guardrails.ts';
export {
  type AnyHook,
  type CallPayload,
  defineHook,
  type HookAnswer,
  type HookContext,
  type HookDefinition,
  type HookMatch,
  type HookOptions,
  type HookPayloads,
} from './define/hooks.ts';
export { defineFlow, type FlowDefinition, type FlowOptions } from './define/flows.ts';
export { defineProgram, type GivenInputFor, type InputFor, type ProgramOptions } from './define/program/define-program.ts';
export {
  type McpHttpOptions,
  type McpOptions,
  mcpServer,
  type McpServerOptions,
  type McpStdioOptions,
  type McpTransportOptions,
} from './define/mcp.ts';
export {
  type AgentToolDefinition,
  type AnyTool,
  type BackoffOptions,
  hosted,
  type HostedToolDefinition,
  type McpCallInfo,
  type McpEffect,
  type McpServerDefinition,
  type McpTransport,
  type McpValue,
  ModelRetry,
  type NamesOfTools,
  type Overflow,
  type RetryOn,
  type ToolDefinition,
  ToolFailure,
  type ToolOutput,
  toolOutput,
  type ToolPolicyOptions,
  type VerifiedOutcome,
  type Verify,
} from './define/tool-definition.ts';
export type {
  ContentItem,
  ContentPart,
  HostedCall,
  HostedTool,
  MediaSource,
  Message,
  MessageMode,
  PruneStrategy,
  Role,
  Source,
  SpilledContent,
  ToolCall,
  ToolResult,
} from './core/domain/content.ts';
export {
  type OpenContext,
  type ReadSecret,
  resource,
  type ResourceDefinition,
  type ResourceOptions,
  secret,
  type SecretOptions,
} from './define/resources.ts';
export {
  applyContextUpdate,
  type ContextUpdate,
  contextUpdate,
  type ElementOf,
  type EventsOptions,
  type MergedInto,
  type PartOf,
  type ReadEvents,
  type RecordedEvent,
  type RecordedEvents,
  type Resources,
  type RunContext,
  type RunLog,
  savedContext,
  type Scalar,
  type UpdatingResult,
  withUpdate,
} from './define/context.ts';
export {
  type ContextToSave,
  type MessageToSave,
  patchDanglingToolCalls,
  type SavedContext,
  type SavedMessage,
  type SavedRole,
  type SavedUsage,
} from './core/saved/saved-context.ts';
export type {
  AgentDefinition,
  AllOf,
  AnyAgent,
  DepsOf,
  DepsOption,
  FallbackDefinition,
  FallbackOptions,
  GivenDepsOf,
  HandoffTarget,
  Instructions,
  ModelOption,
  Named,
  OutputDefinition,
  OutputOf,
  ProposedModel,
  RequiresSomething,
  ResourceOption,
  ResourcesOf,
  ResourcesOfTool,
  ResourcesOfTools,
  ResourcesOption,
  ResultOf,
  UnfinishedOf,
  WindowOptions,
} from './define/agent-definition.ts';
export type { MemoryOptions, RecallOptions } from './define/memory.ts';
export type { Event, ExecutionContext, MemoryNote } from './core/domain/record.ts';
export type { FallbackPolicy, ListedModel, SkippedModel, TriedModel } from './core/domain/fallback.ts';
export type {
  ApprovalAnswer,
  ApprovalContext,
  ApprovalDeadlineOptions,
  ApprovalNeed,
  ApprovalOption,
  ApprovalPredicate,
  ApprovalRule,
  ToolApproval,
} from './define/approvals.ts';
export type { Anchor, AnchorConstraint, AnchorContext } from './anchors/anchors.ts';
export type {
  ActivityTiming,
  AgentOfTool,
  AgentSnapshot,
  Backoff,
  BurstPolicy,
  ChildLimits,
  FlowKind,
  FlowPolicy,
  HandoffPolicy,
  MemoryPolicy,
  ModelSettings,
  OutputSnapshot,
  OwnLimits,
  PlainToolChoice,
  RecallBounds,
  ReplyFormat,
  SkillSnapshot,
  ToolCaller,
  ToolDescription,
  ToolPolicy,
  ToolSnapshot,
  WindowPolicy,
} from './core/domain/agent.ts';
export { type ContextOperation, isSecretReference, type RecordedUpdate, type SecretReference } from './core/domain/deps.ts';
export type { Duration } from './core/domain/time.ts';
export type { ChildrenOptions, LimitChanges, LimitOptions, LimitRaise, LimitValues, RunLimits } from './core/domain/limits.ts';
export type {
  GuardrailFinding,
  GuardrailNote,
  GuardrailReport,
  GuardrailSnapshot,
  GuardrailSpent,
  GuardrailTrip,
  GuardrailType,
} from './core/domain/guardrails.ts';
export type { HookEvent, HookRecord, HookSnapshot } from './core/domain/hooks.ts';
export type {
  CapabilityPermissions,
  CapabilityPermissionsOption,
  NarrowingList,
  PermissionOptions,
  PermissionRuleOption,
  PermissionsOption,
} from './define/permissions.ts';
export type { PermissionMode, PermissionRule, Permissions } from './core/domain/permissions.ts';
export type { ToolCategory } from './core/domain/tool-categories.ts';
export type {
  ConversationEvent,
  Credential,
  DescribedRequest,
  ModelCallContext,
  ModelCapabilities,
  ModelClient,
  ModelFile,
  ModelName,
  ModelRequest,
  ModelResponse,
  PromptCache,
  RateLimits,
  RawToolCall,
  RequestSettings,
} from './core/domain/model.ts';
export type { PricedModel } from './model/models.ts';
export type { ContinueAsNewThresholds, Notice, NoticeCode, Principal, RunStatus, StopReason, TerminalStatus } from './core/domain/run.ts';
export type { AnyProgram, GivenInputOf, ProgramDefinition, ProgramInputOf, ProgramOutputOf } from './define/program/program-definition.ts';

export type { ReasoningEffort } from './core/domain/reasoning-effort.ts';
export type { CodeLanguage, CodeSnapshot, ExecutionLimits, ExecutorKind, ExecutorSnapshot } from './core/domain/code.ts';
export type { ModelDelta } from './core/domain/stream.ts';
export type { AggregatedUsage, ModelPrice, UsageStats } from './core/domain/usage.ts';
export type {
  ApprovalDeadline,
  ApprovalPolicy,
  ApprovalRequirement,
  DeadlineAction,
  Decision,
  PendingApproval,
  RememberedDecision,
} from './core/domain/approvals.ts';
export type { JsonObject, JsonValue } from './core/domain/json.ts';
export type { FinishReason, StepResult, ToolCallRecord, Verified } from './core/domain/tool-calls.ts';
export {
  type CompletedRun,
  type DefaultOutput,
  type EndedRun,
  RunResult,
  type RunResultFields,
  type RunResultJson,
  type UnfinishedRun,
} from './core/domain/result.ts';

export {
  ERROR_CODES,
  type ErrorCode,
  errorCode,
  errorMessage,
  isErrorCode,
  LonghaulError,
  ModelCallError,
  UsageError,
} from './core/domain/errors.ts';

export type { AnswerRules } from './core/domain/program-document.ts';
export type { QuietHours } from './core/domain/quiet-hours.ts';
export type { FileUrl, SkillFolder, SkillsOption, SkillSource } from './define/skills.ts';
export type { CallUsage } from './core/domain/activity-messages.ts';
export type { HandoffOption } from './define/handoffs.ts';
export type { QuietHoursOptions } from './define/quiet-hours.ts';
