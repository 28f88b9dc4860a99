// oxlint-disable-next-line import/no-unassigned-import -- it comes first, and throws if Node is too old.
import '../node-version/require-node.ts';
export { connect, type ConnectOptions, LonghaulClient } from './longhaul-client.ts';
export type { CodecOptions, CompressionOptions, EncryptionKey, EncryptionKeys, EncryptionOptions } from '../codec/encryption.ts';
export type {
  ApprovalFilter,
  ApproveOptions,
  DecidedOn,
  DecisionOptions,
  ListedApproval,
  RejectOptions,
  RunApproval,
} from './approvals.ts';
export type { DeleteOptions, DeleteOutcome, RunStores } from './delete-run.ts';
export type { Forgotten, ForgetOptions, MissingStore } from './forget-options.ts';
export type { ExportedExecution, ExportedRun, ExportLine, ExportOptions, ExportSummary, MissingRange } from './export-run.ts';
export type { FollowOptions } from './reader.ts';
export type { IfExists, LonghaulClientOptions, RunSort } from './client-options.ts';
export type { CountFilter, ListFilter, RunAmounts, RunListEntry, SessionFilter, SessionListEntry } from './list.ts';
export type { RunCount, RunCounts } from './ranked-runs.ts';
export type { FeedItem, FeedItemContent, FeedOptions, FeedRun } from './feed-item.ts';
export type { ListPage, PageOptions } from './visibility.ts';
export type { SetPermissionsOptions } from './permissions.ts';
export type { SetPermissionsReceipt } from '../core/domain/permission-requests.ts';
export type { RaiseOptions, SendOptions, UpdateOptions } from './updates.ts';
export type { RetryOptions, RetryReceipt } from './retry-run.ts';
export type { RunApprovals } from './executions.ts';
export { type CancelOptions, type HandleOf, type ProgramHandle, RunHandle } from './run-handle.ts';
export type { ExecutionTrace, ExecutionTraceJson, TraceEvent, TraceEventType, TraceSpan, TraceSpanJson } from '../core/domain/trace.ts';
export type { RunTree, TreeEvent, TreeEventOptions } from './run-tree.ts';
export type { CallDetails, PinnedAgent, TurnEntry, TurnsPage } from '../core/domain/run-details.ts';
export type { TurnsOptions } from './run-details.ts';
export type { RunTimeline, SpanKind, TimeByKind, TimelineSpan } from '../core/domain/timeline.ts';
export type { TimelineOptions } from './timeline.ts';
export type { RequestDiff, RequestItem, StepRequest, UnknownPart, WireRequest } from '../core/domain/step-request.ts';
export type { StepRequestOptions } from './step-request.ts';
export { SessionHandle, type SessionOf, TurnResult } from './session-handle.ts';
export type { SessionLimitOptions, SessionOptions, SessionSettings } from './session-options.ts';
export type { StreamItem, StreamItemContent, StreamedResult } from './stream/stream-item.ts';
export type { StreamOptions } from './stream/stream-run.ts';
export { fold, type LiveOutput, newView, type StreamView } from './stream/stream-view.ts';
export type { ProgramOptions, RunOptions, StartCircumstances, StartedProgram, StartOptions, StartSettings } from './start-workflow.ts';
export type { EarlierOpening } from './saved-context.ts';
export type { WaitOptions } from '../temporal/waiting.ts';
export {
  type ArchiveBatch,
  type ArchivedPrincipal,
  type ArchiveSink,
  fileArchive,
  type FileArchiveOptions,
} from '../stores/file-archive.ts';
export { fileStore, type FileStoreOptions, type PayloadStore, type StoredRun } from '../stores/payload-store.ts';
export type { MessageMode, SpilledContent } from '../core/domain/content.ts';
export {
  type CompletedRun,
  ProgramResult,
  RunResult,
  type RunResultFields,
  type TraceContext,
  type UnfinishedRun,
} from '../core/domain/result.ts';
export type { ProgramStepResult, UnitResult } from '../core/domain/program-run.ts';
export type { RunRecord } from '../core/domain/record.ts';
export type { LimitOptions, RunLimits, SessionLimits } from '../core/domain/limits.ts';
export type {
  CloseReceipt,
  InterruptReceipt,
  RefreshReceipt,
  SessionLimitReached,
  SessionView,
  SpentByTurns,
  TurnResultFields,
} from '../core/domain/sessions.ts';
export { LonghaulError, type ErrorCode } from '../core/domain/errors.ts';
export type { ApprovalView, DecidedCall, PendingApproval, Remember, RememberedDecision } from '../core/domain/approvals.ts';
export type { Archiving, NotArchived, RunSubject } from '../core/domain/run.ts';
export type { SavedContext, SavedMessage, SavedRole, SavedUsage } from '../core/saved/saved-context.ts';
export { readSavedContext, type ReadSavedContext } from '../core/saved/read-saved-context.ts';
export type { RunOpening } from '../core/domain/run-input.ts';
export type { Duration } from '../core/domain/time.ts';
export type { ModelName } from '../core/domain/model.ts';
export type {
  ContextPage,
  PostponedCall,
  RefusedCall,
  WaitingForBatch,
  RunningCall,
  DecisionReceipt,
  MessageReceipt,
  PauseReceipt,
  RaiseReceipt,
  RevokeReceipt,
  RunInput,
  StatusView,
} from '../core/protocol.ts';
export { memoryStreams, type MemoryStreamsOptions } from '../streams/memory-streams.ts';
export { heartbeatStreams, type HeartbeatStreamsOptions } from '../streams/heartbeat-streams.ts';
export { redisStreams, type RedisStreamsOptions } from '../streams/redis/redis-streams.ts';
export type {
  PublishingActivity,
  ReadStreamOptions,
  StreamChannel,
  StreamRead,
  StreamSink,
  StreamSinkContext,
} from '../streams/stream-sink.ts';
export type { Delta, ModelDelta, StreamedAttempt, StreamEntry } from '../core/domain/stream.ts';
export type { OfSession } from './session-handle.ts';
export type { NewStart, StartedInputOf, StartedOutputOf } from './start-workflow.ts';
export type { RunTerms } from '../core/domain/run-input.ts';
export type { EstimatedUsage, Spent, SpentByDescendants } from '../core/domain/usage.ts';
export type { Compaction, RefreshNote, TurnNote } from '../core/domain/record.ts';
export type { RefusedRequest } from '../core/domain/approvals.ts';
export type { PermissionChange } from '../core/domain/permissions.ts';
export type { AnswerVerdict, AttemptDetails, StepError, StepNote } from '../core/domain/verdicts.ts';
export type { TraceEventJson } from '../core/domain/trace.ts';
export type { Missing } from '../core/domain/missing-definitions.ts';
export type { CallsNotRun } from '../core/domain/tool-calls.ts';
export type { AwaitOptions, Part, ResultOptions, ResultParts } from './client-options.ts';
export type { ExportTraceOptions } from './exported-trace.ts';
export type { OtlpTraces } from '../telemetry/otlp.ts';
export type { ProgramResultJson, RequestedParts } from '../core/domain/result.ts';
export type { InterruptInput, ResetReceipt } from '../core/domain/requests.ts';
export type { NotRun } from '../core/domain/tool-calls.ts';
export type { MissingKind } from '../core/domain/missing-definitions.ts';
export type { AgentDocument, FlowInput } from '../core/domain/agent.ts';
export type { FromCall, ParentInput, SessionInput } from '../core/domain/run-input.ts';
export type { AnchorVerdict, StepErrorContext, StepViolation, Violation } from '../core/domain/verdicts.ts';
export type { OtlpAttribute, OtlpSpan } from '../telemetry/otlp.ts';
export type { ParentRun } from '../core/domain/run-input.ts';
export type { AnchorBreach, ViolationRule } from '../core/domain/verdicts.ts';
export type { OtlpValue } from '../telemetry/otlp.ts';
export type { TreeLimits } from '../core/domain/limits.ts';
