// oxlint-disable-next-line import/no-unassigned-import -- it comes first, and throws if Node is too old.
import '../src/node-version/require-node.ts';
export type { CodecOptions, CompressionOptions, EncryptionKey, EncryptionKeys, EncryptionOptions } from '../src/codec/encryption.ts';
export {
  type ApiKey,
  type GivenKey,
  type KeyContext,
  openai,
  openaiBatch,
  type OpenAIOptions,
} from '../activities/models/openai/openai.ts';
export type { BatchOptions } from '../activities/batch/worker-batches.ts';
export type { BatchClient, BatchContext, BatchItem, BatchResult, BatchStatus, NewBatch } from '../src/core/domain/model.ts';
export { aiSdk, type AiSdkOptions } from '../activities/models/ai-sdk/ai-sdk.ts';
export {
  type AiSdkBatch,
  aiSdkBatch,
  type AiSdkBatchOptions,
  anthropicBatch,
  type CreateAiSdkBatch,
} from '../activities/models/ai-sdk/ai-sdk-batches.ts';
export type { CreateAiSdkModel, CreateModelContext } from '../activities/models/ai-sdk/created-models.ts';
export type { AiSdkModel } from '../activities/models/ai-sdk/language-model.ts';
export { type OpenAICapabilities } from '../activities/models/openai/capabilities.ts';
export { type TooLongRule } from '../activities/models/errors/too-long.ts';
export { createWorker, type CreateWorkerOptions, type LonghaulWorker, type WorkerHealth } from './create-worker.ts';
export type { ResourceHealth } from '../activities/resources/resource-pool.ts';
export type { StoreHealth, WorkerStoresHealth } from '../activities/resources/store-watch.ts';
export { fileStore, type FileStoreOptions } from '../src/stores/payload-store.ts';
export type { PayloadStore, StoredRun } from '../src/stores/payload-store.ts';
export { LonghaulPlugin, type LonghaulPluginOptions } from './plugin.ts';
export { fileMemory, type FileMemoryOptions } from '../src/memory/file-memory.ts';
export { sqliteMemory, type SqliteMemoryOptions } from '../src/memory/sqlite-memory.ts';
export { postgresMemory, type PostgresMemoryOptions } from '../src/memory/postgres-memory.ts';
export type { PostgresPool } from '../src/memory/postgres-memory.ts';
export { type Embed, type EmbeddingOptions, withEmbedding } from '../src/memory/search.ts';
export { memoryNamespace, memoryOwner, type MemoryOwner } from '../src/memory/memory-store.ts';
export { inMemory } from '../src/memory/file-memory.ts';
export type { FoundEntry, MemoryEntry, MemoryPage, MemorySource, MemoryStore, NewEntry, RecallQuery } from '../src/memory/memory-store.ts';
export { fileArchive, type FileArchiveOptions } from '../src/stores/file-archive.ts';
export type { ArchiveBatch, ArchivedPrincipal, ArchiveSink } from '../src/stores/file-archive.ts';
export type {
  AuthorizeAnswer,
  AuthorizeContext,
  AuthorizeDecision,
  DecisionToAuthorize,
  EndedNotice,
  NotifyEnded,
  NotifyWaiting,
  WaitingNotice,
  WorkerFunctionContext,
} from '../src/define/approvals.ts';
export type { ModelPrice } from '../src/core/domain/usage.ts';
export { environmentSecrets, type EnvironmentSecretsOptions } from '../src/secrets/secret-sources.ts';
export { fileSecrets, type FileSecretsOptions } from '../src/secrets/secret-sources.ts';
export type { NamedSecretSource, SecretProvider, SecretSource } from '../src/secrets/secret-sources.ts';
export { type CallRepair, type RepairedTraces, type RepairOptions, telemetry, type TelemetryOptions } from '../src/telemetry/telemetry.ts';
export type { Telemetry } from '../src/telemetry/telemetry.ts';
export { prometheusMetrics, type PrometheusMetrics } from '../src/telemetry/prometheus.ts';
export { type MetricsServer, type ServedHealth, serveMetrics, type ServeMetricsOptions } from '../src/telemetry/metrics-server.ts';
export type { SpanExporter, SpanProcessor } from '../src/telemetry/span-queue.ts';
export type { IdGenerator } from '../src/telemetry/ids.ts';
export type { MeterProvider, TracerProvider } from '../src/telemetry/provider.ts';
export type { CaptureContent } from '../activities/telemetry/call-spans.ts';
export { COMMAND_RECORDER_MODULE } from './bundle-workflows.ts';
export { Replayer, type ReplayerOptions, type ReplayVerdict } from './replayer.ts';
export type { Divergence } from './replayer.ts';
export type { Versioning, VersioningBehavior } from './versioning.ts';
export type { LogFormat, LogLevel, LogOptions } from '../src/log/log-writer.ts';
export { memoryStreams, type MemoryStreamsOptions } from '../src/streams/memory-streams.ts';
export { heartbeatStreams, type HeartbeatStreamsOptions } from '../src/streams/heartbeat-streams.ts';
export { type Governor, memoryGovernor, redisGovernor, type RedisGovernorOptions } from '../src/governor/governor.ts';
export type { ProviderLimitOptions } from '../src/governor/limits.ts';
export { redisStreams, type RedisStreamsOptions } from '../src/streams/redis/redis-streams.ts';
export type {
  PublishingActivity,
  ReadStreamOptions,
  StreamChannel,
  StreamRead,
  StreamSink,
  StreamSinkContext,
} from '../src/streams/stream-sink.ts';
export type { StreamedAttempt, StreamEntry } from '../src/core/domain/stream.ts';
export type { Delta, ModelDelta } from '../src/core/domain/stream.ts';
export type { CacheOption } from '../activities/models/ai-sdk/ai-sdk.ts';
export type { NamespaceBounds } from '../activities/code/namespace.ts';
export type { BatchItemResult, BatchOperation } from '../activities/models/ai-sdk/ai-sdk-batches.ts';
export type { ApiMeter, ApiSpan, ApiTracer } from '../src/telemetry/provider.ts';
export type { ResourcesOfAgents } from '../src/define/agent-definition.ts';
export type { CallOptions, StreamPart } from '../activities/models/ai-sdk/language-model.ts';
export type { ForgottenEntries } from '../src/memory/memory-store.ts';
export type { Sampled } from '../src/telemetry/span-queue.ts';
export type { ApiCounter, ApiGauge, ApiHistogram, Attributes, InstrumentOptions, SpanContext } from '../src/telemetry/provider.ts';
export type { AttributeValue } from '../src/telemetry/provider.ts';
