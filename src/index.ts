/**
 * `longhaul`: the functions that define agents, tools and programs, and the types of a run's data. `longhaul/program` makes the
 * steps of programs, `longhaul/client` starts runs, `longhaul/worker` executes them, and `longhaul/executors` runs code without any.
 */
export { custom, type CustomExecutorOptions } from './define/code.ts';
export { inProcess, type InProcessExecutorOptions } from './define/code.ts';
export { python } from './define/code.ts';
export { quickjs } from './define/code.ts';
export { agentTool, type AgentToolOptions } from './define/agent-tool.ts';
export { askHuman } from './define/define-tool.ts';
export { defineAnchor, type AnchorOptions } from './define/define-anchor.ts';
export { defineAgent } from './define/define-agent.ts';
export { type AnyCapability, type CapabilityDefinition, type CapabilityOptions, defineCapability } from './define/capabilities.ts';
export { type CommonGuardrailOptions, defineGuardrail, type GuardrailOptions } from './define/guardrails.ts';
export { callRules, type CallRulesOptions } from './define/guardrails.ts';
export { contentFilter, type ContentFilterOptions } from './define/guardrails.ts';
export { maxTokens, type MaxTokensOptions } from './define/guardrails.ts';
export { personalData, type PersonalDataKind, type PersonalDataOptions } from './define/guardrails.ts';
export { promptInjection, type PromptInjectionOptions } from './define/guardrails.ts';
export { defineHook, type HookOptions } from './define/hooks.ts';
export { defineFlow, type FlowDefinition, type FlowOptions } from './define/flows.ts';
export { defineProgram, type ProgramOptions } from './define/program/define-program.ts';
export { defineTool } from './define/define-tool.ts';
export { mcpServer } from './define/mcp.ts';
export { hosted, type HostedToolDefinition } from './define/hosted.ts';
export type { HostedCall, HostedTool } from './core/domain/hosted.ts';
export type { Source } from './core/domain/sources.ts';
export { secret, type SecretOptions } from './define/resources.ts';
export { resource } from './define/resources.ts';
export { applyContextUpdate } from './define/context.ts';
export { contextUpdate, withUpdate } from './define/context.ts';
export { savedContext } from './define/context.ts';
export { patchDanglingToolCalls } from './core/saved/saved-context.ts';
export { ModelRetry, ToolFailure } from './define/tool-definition.ts';
export { toolOutput } from './define/tool-definition.ts';
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
export type { CodeOptions } from './define/code.ts';
export type { CodeDefinition, CreateOwnExecutor, ExecutorDefinition, Inject, OwnExecutorSettings } from './define/code.ts';
export type { ExecutorOptions } from './define/code.ts';
export type { MemoryOptions, RecallOptions } from './define/memory.ts';
export type { MemoryNote } from './core/domain/record.ts';
export type { ResourcesOption } from './define/agent-definition.ts';
export type { AgentOptions } from './define/define-agent.ts';
export type { FallbackDefinition, FallbackOptions, ModelOption, ProposedModel } from './define/model-list.ts';
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
export type { McpCallInfo, McpEffect, McpServerDefinition, McpTransport, McpValue } from './define/tool-definition.ts';
export type { McpOptions, McpServerOptions } from './define/mcp.ts';
export type { McpHttpOptions, McpStdioOptions, McpTransportOptions } from './define/mcp.ts';
export type { Anchor, AnchorConstraint, AnchorContext } from './anchors/anchors.ts';
export type { AskHumanOptions } from './define/define-tool.ts';
export type { ToolOptions } from './define/define-tool.ts';
export type { ContextUpdate, UpdatingResult } from './define/context.ts';
export type { BackoffOptions, RetryOn, ToolPolicyOptions, VerifiedOutcome, Verify } from './define/tool-policy.ts';
export type { Backoff, ToolPolicy } from './core/domain/agent.ts';
export type { ContextOperation, RecordedUpdate } from './core/domain/deps.ts';
export type { Duration } from './core/domain/time.ts';
export type { LimitOptions } from './core/domain/limits.ts';
export type {
  AnyGuardrail,
  CheckedCall,
  GuardrailAnswer,
  GuardrailContext,
  GuardrailContexts,
  GuardrailDefinition,
} from './define/guardrails.ts';
export type { GuardrailFinding, GuardrailNote, GuardrailReport, GuardrailTrip, GuardrailType } from './core/domain/guardrails.ts';
export type { AnyHook, HookAnswer, HookContext, HookDefinition, HookMatch } from './define/hooks.ts';
export type { HookPayloads } from './define/hooks.ts';
export type { HookEvent } from './core/domain/hooks.ts';
export type { HookRecord } from './core/domain/hooks.ts';
export type {
  CapabilityPermissions,
  CapabilityPermissionsOption,
  PermissionOptions,
  PermissionRuleOption,
  PermissionsOption,
} from './define/permissions.ts';
export type { PermissionMode, PermissionRule, Permissions } from './core/domain/permissions.ts';
export type { ToolCategory } from './core/domain/tool-categories.ts';
export type { ModelName } from './core/domain/model.ts';
export type { PricedModel } from './model/models.ts';
export type { Overflow } from './define/tool-policy.ts';
export type { OpenContext, ReadSecret, ResourceDefinition, ResourceOptions } from './define/resources.ts';
export type { Resources, RunContext, RunLog } from './define/context.ts';
export type { EventsOptions, ReadEvents, RecordedEvent, RecordedEvents } from './define/context.ts';
export type { Principal } from './core/domain/run.ts';
export type { AgentToolDefinition } from './define/tool-definition.ts';
export type { ChildrenOptions } from './core/domain/limits.ts';
export type { AgentOfTool } from './core/domain/agent.ts';
export type { AnyTool, NamesOfTools, ToolDefinition } from './define/tool-definition.ts';
export type { ToolOutput } from './define/tool-definition.ts';
export type { AnyProgram, GivenInputOf, ProgramDefinition, ProgramInputOf, ProgramOutputOf } from './define/program/program-definition.ts';

export type {
  AgentSnapshot,
  ModelSettings,
  OutputSnapshot,
  ReplyFormat,
  ToolCaller,
  ToolDescription,
  ToolSnapshot,
} from './core/domain/agent.ts';
export type { ContentItem, ContentPart, MediaSource, Message, Role, SpilledContent, ToolCall, ToolResult } from './core/domain/content.ts';
export type { ReasoningEffort } from './core/domain/reasoning-effort.ts';
export type { Event } from './core/domain/record.ts';
export type { SavedContext, SavedMessage, SavedRole, SavedUsage } from './core/saved/saved-context.ts';
export type { ContextToSave, MessageToSave } from './core/saved/saved-context.ts';
export type { CodeLanguage, CodeSnapshot, ExecutorKind, ExecutorSnapshot } from './core/domain/code.ts';
export type { PruneStrategy } from './core/domain/content.ts';
export type { ExecutionLimits } from './core/domain/code.ts';
export type { ExecutionContext } from './core/domain/record.ts';
export type { LimitChanges, LimitRaise, RunLimits } from './core/domain/limits.ts';
export type { ModelDelta } from './core/domain/stream.ts';
export type { ModelPrice } from './core/domain/usage.ts';
export type { ApprovalRequirement, Decision, PendingApproval, RememberedDecision } from './core/domain/approvals.ts';
export type { MessageMode } from './core/domain/content.ts';
export type { JsonObject, JsonValue } from './core/domain/json.ts';
export { isSecretReference, type SecretReference } from './core/domain/deps.ts';
export type { RunStatus, StopReason, TerminalStatus } from './core/domain/run.ts';
export type { FinishReason, StepResult, ToolCallRecord, Verified } from './core/domain/tool-calls.ts';
export type { AggregatedUsage, UsageStats } from './core/domain/usage.ts';
export { RunResult } from './core/domain/result.ts';
export type { CompletedRun, DefaultOutput, RunResultFields, UnfinishedRun } from './core/domain/result.ts';

export { ERROR_CODES, errorCode, errorMessage, isErrorCode, LonghaulError, ModelCallError, UsageError } from './core/domain/errors.ts';
export type { ErrorCode } from './core/domain/errors.ts';

export type {
  ConversationEvent,
  ModelCallContext,
  ModelCapabilities,
  Credential,
  ModelClient,
  ModelRequest,
  ModelResponse,
  RawToolCall,
} from './core/domain/model.ts';
export type { LimitValues } from './core/domain/limits.ts';
export type { EndedRun } from './core/domain/result.ts';
export type {
  HandoffTarget,
  OutputDefinition,
  RequiresSomething,
  ResourceOption,
  ResourcesOfTools,
  WindowOptions,
} from './define/agent-definition.ts';
export type { NarrowingList } from './define/permissions.ts';
export type { ApprovalDeadline, ApprovalPolicy, DeadlineAction } from './core/domain/approvals.ts';
export type { AnswerRules } from './core/domain/program-document.ts';
export type {
  ActivityTiming,
  BurstPolicy,
  ChildLimits,
  FlowKind,
  FlowPolicy,
  HandoffPolicy,
  MemoryPolicy,
  SkillSnapshot,
  WindowPolicy,
} from './core/domain/agent.ts';
export type { QuietHours } from './core/domain/quiet-hours.ts';
export type { GuardrailSnapshot, GuardrailSpent } from './core/domain/guardrails.ts';
export type { HookSnapshot } from './core/domain/hooks.ts';
export type { ContinueAsNewThresholds, Notice } from './core/domain/run.ts';
export type { DescribedRequest, ModelFile, PromptCache, RateLimits, RequestSettings } from './core/domain/model.ts';
export type { SkillSource, SkillsOption } from './define/skills.ts';
export type { ObjectSchema } from './define/define-tool.ts';
export type { AllArguments, AllDeps, DepsArgument, ToolsFor } from './define/capabilities.ts';
export type { CallUsage } from './core/domain/activity-messages.ts';
export type { DefinedAgent } from './define/define-agent.ts';
export type { HandoffOption } from './define/handoffs.ts';
export type { QuietHoursOptions } from './define/quiet-hours.ts';
export type { InputContext, OutputContext, ToolCallContext } from './define/guardrails.ts';
export type { CallPayload } from './define/hooks.ts';
export type { GivenInputFor, InputFor } from './define/program/define-program.ts';
export type { ElementOf, MergedInto } from './define/context.ts';
export type { AllOf, Named, ResourcesOfTool } from './define/agent-definition.ts';
export type { Argument, DepsFor, GivenDepsFor, ResourcesOfCapabilities } from './define/capabilities.ts';
export type { PartOf, Scalar } from './define/context.ts';
export type { OutputFor, UnfinishedFor } from './define/define-agent.ts';
export type { FileUrl, SkillFolder } from './define/skills.ts';
export type { OwnLimits, PlainToolChoice, RecallBounds } from './core/domain/agent.ts';
export type { NoticeCode } from './core/domain/run.ts';
export type { GivenDepsArgument, ResourcesOfCapability } from './define/capabilities.ts';
export type { RunResultJson } from './core/domain/result.ts';
