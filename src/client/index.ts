// oxlint-disable-next-line import/no-unassigned-import -- it comes first, and throws where Node is too old.
import '../require-node.ts';
export { connect, type ConnectOptions } from './connect.ts';
export type { CodecOptions, CompressionOptions, EncryptionKey, EncryptionKeys, EncryptionOptions } from '../codec/codec-options.ts';
export type { ApproveOptions, DecisionOptions, RejectOptions } from './decide-call.ts';
export type { DeleteOutcome, RunStores } from './delete-run.ts';
export type { ExportedExecution, ExportedRun, ExportLine, ExportSummary, MissingRange } from './export-line.ts';
export type { ExportOptions } from './export-run.ts';
export type { FollowOptions } from './follow-events.ts';
export type { ApprovalFilter, RunApproval } from './list-approvals.ts';
export type { IfExists } from './if-exists.ts';
export type { ListFilter, RunListEntry } from './list-runs.ts';
export { LonghaulClient, type LonghaulClientOptions } from './longhaul-client.ts';
export type { NewLimits, RaiseOptions } from './raise-limits.ts';
export type { RetryOptions, RetryReceipt } from './retry-run.ts';
export type { RunApprovals } from './run-approvals.ts';
export { type CancelOptions, type HandleOf, RunHandle } from './run-handle.ts';
export type { UpdateOptions } from './run-update.ts';
export type { SendOptions } from './send-message.ts';
export type { StartCircumstances } from './start-circumstances.ts';
export type { RunOptions, StartOptions } from './start-run.ts';
export type { WaitOptions } from './waiting.ts';
export type { ArchiveBatch, ArchiveSink } from '../archive/archive-sink.ts';
export { fileArchive, type FileArchiveOptions } from '../archive/file-archive.ts';
export { fileStore, type FileStoreOptions } from '../payload-store/file-store.ts';
export type { PayloadStore, StoredRun } from '../payload-store/payload-store.ts';
export type { SpilledContent } from '../domain/content.ts';
export { type CompletedRun, RunResult, type RunResultFields, type UnfinishedRun } from '../domain/run-result.ts';
export type { RunRecord } from '../domain/run-record.ts';
export { LonghaulError, type ErrorCode } from '../domain/error.ts';
export type { ApprovalView, DecidedCall, PendingApproval, Remember, RememberedDecision } from '../domain/approval.ts';
export type { Duration } from '../domain/duration.ts';
export type { RunLimits } from '../domain/limits.ts';
export type { ModelName } from '../domain/model-name.ts';
export type { Archiving, NotArchived } from '../domain/not-archived.ts';
export type { MessageMode } from '../domain/queued-message.ts';
export type {
  ContextPage,
  RunningCall,
  DecisionReceipt,
  MessageReceipt,
  PauseReceipt,
  RaiseReceipt,
  RevokeReceipt,
  RunInput,
  StatusView,
} from '../protocol.ts';
