// oxlint-disable-next-line import/no-unassigned-import -- it comes first, and throws if Node is too old.
import '../node-version/require-node.ts';
export { connect, type ConnectOptions } from './connect.ts';
export type { CodecOptions, CompressionOptions, EncryptionKey, EncryptionKeys, EncryptionOptions } from '../codec/encryption.ts';
export type { ApproveOptions, DecisionOptions, RejectOptions } from './updates/decide-call.ts';
export type { DecidedOn, ListedApproval } from './updates/decided-run.ts';
export type { DeleteOptions, DeleteOutcome, RunStores } from './removal/delete-run.ts';
export type { Forgotten, ForgetOptions, MissingStore } from './removal/forget-options.ts';
export type { ExportedExecution, ExportedRun, ExportLine, ExportSummary, MissingRange } from './export/export-line.ts';
export type { ExportOptions } from './export/export-run.ts';
export type { FollowOptions } from './read/follow-events.ts';
export type { ApprovalFilter, RunApproval } from './listing/list-approvals.ts';
export type { IfExists } from './start/if-exists.ts';
export type { ListFilter, RunListEntry } from './listing/list-runs.ts';
export type { SessionFilter, SessionListEntry } from './listing/list-sessions.ts';
export type { ListPage, PageOptions } from './listing/list-page.ts';
export { LonghaulClient } from './longhaul-client.ts';
export type { LonghaulClientOptions } from './client-options.ts';
export type { RaiseOptions } from './updates/raise-limits.ts';
export type { SetPermissionsOptions } from './updates/set-permissions.ts';
export type { RetryOptions, RetryReceipt } from './retry/retry-run.ts';
export type { RunApprovals } from './read/approvals.ts';
export { type CancelOptions, type HandleOf, type ProgramHandle, RunHandle } from './run-handle.ts';
export type { ExecutionTrace, ExecutionTraceJson, TraceSpanJson } from '../core/domain/trace.ts';
export type { TraceEvent, TraceEventType } from '../core/domain/trace.ts';
export type { TraceSpan } from '../core/domain/trace.ts';
export type { RunTree } from './tree/run-tree.ts';
export type { TreeEvent, TreeEventOptions } from './tree/tree-events.ts';
export { SessionHandle, type SessionOf } from './sessions/session-handle.ts';
export type { SessionLimitOptions, SessionOptions, SessionSettings } from './sessions/session-options.ts';
export { TurnResult } from './sessions/turn-result.ts';
export type { StreamItem, StreamItemContent, StreamedResult } from './stream/stream-item.ts';
export type { StreamOptions } from './stream/stream-run.ts';
export { fold, type LiveOutput, newView, type StreamView } from './stream/fold.ts';
export type { UpdateOptions } from './updates/update.ts';
export type { SendOptions } from './updates/send-message.ts';
export type { StartCircumstances } from './start/start-circumstances.ts';
export type { EarlierOpening } from './earlier/begin-from.ts';
export type { RunOptions, StartOptions, StartSettings } from './start/start-run.ts';
export type { ProgramOptions, StartedProgram } from './start/start-program.ts';
export type { WaitOptions } from '../temporal/waiting.ts';
export type { ArchiveBatch, ArchivedPrincipal, ArchiveSink } from '../stores/archive/archive-sink.ts';
export { fileArchive, type FileArchiveOptions } from '../stores/archive/file-archive.ts';
export { fileStore, type FileStoreOptions } from '../stores/payload-store/file-store.ts';
export type { PayloadStore, StoredRun } from '../stores/payload-store/payload-store.ts';
export type { SpilledContent } from '../core/domain/content.ts';
export { type CompletedRun, RunResult, type RunResultFields, type UnfinishedRun } from '../core/domain/result.ts';
export { ProgramResult } from '../core/domain/result.ts';
export type { ProgramStepResult, UnitResult } from '../core/domain/program-run.ts';
export type { RunRecord } from '../core/domain/record.ts';
export type { SessionLimits } from '../core/domain/limits.ts';
export type { CloseReceipt, InterruptReceipt, RefreshReceipt } from '../core/domain/sessions.ts';
export type { SpentByTurns, TurnResultFields } from '../core/domain/sessions.ts';
export type { SessionLimitReached, SessionView } from '../core/domain/sessions.ts';
export { LonghaulError, type ErrorCode } from '../core/domain/errors.ts';
export type { ApprovalView, DecidedCall, PendingApproval, Remember, RememberedDecision } from '../core/domain/approvals.ts';
export type { RunSubject } from '../core/domain/run.ts';
export type { SavedContext, SavedMessage, SavedRole, SavedUsage } from '../core/saved/saved-context.ts';
export { readSavedContext, type ReadSavedContext } from '../core/saved/read-saved-context.ts';
export type { RunOpening } from '../core/domain/run-input.ts';
export type { Duration } from '../core/domain/time.ts';
export type { LimitOptions } from '../core/domain/limits.ts';
export type { RunLimits } from '../core/domain/limits.ts';
export type { ModelName } from '../core/domain/model.ts';
export type { Archiving, NotArchived } from '../core/domain/run.ts';
export type { MessageMode } from '../core/domain/content.ts';
export type {
  ContextPage,
  RefusedCall,
  RunningCall,
  DecisionReceipt,
  MessageReceipt,
  PauseReceipt,
  RaiseReceipt,
  SetPermissionsReceipt,
  RevokeReceipt,
  RunInput,
  StatusView,
} from '../core/protocol.ts';
export { memoryStreams, type MemoryStreamsOptions } from '../streams/memory/memory-streams.ts';
export { heartbeatStreams, type HeartbeatStreamsOptions } from '../streams/heartbeat/heartbeat-streams.ts';
export { redisStreams, type RedisStreamsOptions } from '../streams/redis/redis-streams.ts';
export type {
  PublishingActivity,
  ReadStreamOptions,
  StreamChannel,
  StreamRead,
  StreamSink,
  StreamSinkContext,
} from '../streams/stream-sink.ts';
export type { StreamedAttempt, StreamEntry } from '../core/domain/stream.ts';
export type { Delta, ModelDelta } from '../core/domain/stream.ts';
