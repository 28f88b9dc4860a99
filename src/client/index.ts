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
export type { ExportUserOptions, UserRun } from './export-user-options.ts';
export type { ExportedEntry, ExportedSpill, ExportedUser, RunDetails, UnreadPart, UserExportEnd, UserExportLine } from './export-user.ts';
export type { Forgotten, ForgetOptions, MissingStore } from './forget-options.ts';
export type { ExportedExecution, ExportedRun, ExportLine, ExportOptions, ExportSummary, MissingRange } from './export-run.ts';
export type { FollowOptions } from './reader.ts';
export type { AwaitOptions, IfExists, LonghaulClientOptions, Part, ResultOptions, ResultParts, RunSort } from './client-options.ts';
export type { UnreadRun, UnreadRuns } from './unread-runs.ts';
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
export type {
  ExecutionTrace,
  ExecutionTraceJson,
  TraceEvent,
  TraceEventJson,
  TraceEventType,
  TraceSpan,
  TraceSpanJson,
} from '../core/domain/trace.ts';
export type { RunTree, TreeEvent, TreeEventOptions } from './run-tree.ts';
export type {
  CallDetails,
  PinnedAgent,
  RequestDiff,
  RequestItem,
  RunTimeline,
  SpanKind,
  StepRequest,
  TimeByKind,
  TimelineSpan,
  TurnEntry,
  TurnsPage,
  UnknownPart,
  WireRequest,
} from '../core/domain/views.ts';
export type { TurnsOptions } from './run-details.ts';
export type { TimelineOptions } from './timeline.ts';
export type { StepRequestOptions } from './step-request.ts';
export {
  type OfSession,
  SessionHandle,
  type SessionLimitOptions,
  type SessionOf,
  type SessionOptions,
  type SessionSettings,
  TurnResult,
} from './session-handle.ts';
export type { StreamItem, StreamItemContent, StreamedResult } from './stream/stream-item.ts';
export type { StreamOptions } from './stream/stream-run.ts';
export { fold, type LiveOutput, newView, type StreamView } from './stream/stream-view.ts';
export type {
  NewStart,
  ProgramOptions,
  RunOptions,
  StartCircumstances,
  StartedInputOf,
  StartedOutputOf,
  StartedProgram,
  StartOptions,
  StartSettings,
} from './start-workflow.ts';
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
  type ProgramResultJson,
  type RequestedParts,
  RunResult,
  type RunResultFields,
  type TraceContext,
  type UnfinishedRun,
} from '../core/domain/result.ts';
export type { ProgramStepResult, UnitResult } from '../core/domain/program-run.ts';
export type { Compaction, RefreshNote, RunRecord, TurnNote } from '../core/domain/record.ts';
export type { LimitOptions, RunLimits, SessionLimits, TreeLimits } from '../core/domain/limits.ts';
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
export type { ApprovalView, DecidedCall, PendingApproval, RefusedRequest, Remember, RememberedDecision } from '../core/domain/approvals.ts';
export type { Archiving, NotArchived, RunSubject } from '../core/domain/run.ts';
export {
  type ReadSavedContext,
  readSavedContext,
  type SavedContext,
  type SavedMessage,
  type SavedRole,
  type SavedUsage,
} from '../core/saved/saved-context.ts';
export type { FromCall, ParentInput, ParentRun, RunOpening, RunTerms, SessionInput } from '../core/domain/run-input.ts';
export type { Duration } from '../core/domain/time.ts';
export type { ModelName } from '../core/domain/model.ts';
export type {
  ContextPage,
  PostponedCall,
  RefusedCall,
  WaitingForBatch,
  RunningCall,
  WaitForWorker,
  UnreadMessage,
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
export type { EstimatedUsage, Spent, SpentByDescendants } from '../core/domain/usage.ts';
export type { PermissionChange } from '../core/domain/permissions.ts';
export type {
  AnchorBreach,
  AnchorVerdict,
  AnswerVerdict,
  AttemptDetails,
  StepError,
  StepErrorContext,
  StepNote,
  StepViolation,
  Violation,
  ViolationRule,
} from '../core/domain/verdicts.ts';
export type { Missing, MissingKind } from '../core/domain/missing-definitions.ts';
export type { CallsNotRun, NotRun } from '../core/domain/tool-calls.ts';
export type { ExportTraceOptions } from './exported-trace.ts';
export type { OtlpAttribute, OtlpSpan, OtlpTraces, OtlpValue } from '../telemetry/otlp.ts';
export type { InterruptInput, ResetReceipt } from '../core/domain/requests.ts';
export type { AgentDocument, FlowInput } from '../core/domain/agent.ts';
