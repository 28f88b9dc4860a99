// Made by `npm run docs` from the OpenAPI document of the service: do not edit.

export type AgentDetails = { name: string; description?: string; deps?: JsonObject; output?: JsonObject; models: (string)[]; instructions?: (string)[]; settings: JsonObject; limits: JsonObject; tools: ({ name: string; version?: string; description: string; category?: string; parameters: JsonObject; approval?: "always" | "predicate"; agent?: string })[]; hosted: (string)[]; mcp: (string)[]; handoffs: (string)[]; flow?: JsonObject; agents: (string)[] };

export type AgentEntry = { name: string; description?: string; deps?: JsonObject; output?: JsonObject; tools: ({ name: string; version?: string; description: string })[] };

export type Agents = { agents: (AgentEntry)[] };

export type AggregatedUsage = { promptTokens: number; completionTokens: number; totalTokens: number; cachedTokens: number; reasoningTokens: number; llmCalls: number; cacheWriteTokens?: number; costUsd?: number; estimated?: EstimatedUsage };

export type Approval = { kind: "tool" | "question" | "limit" | "outcome"; callId: string; toolName: string; digest: string; key: string; step: number; at?: string; onDeadline?: "approve" | "reject"; reason?: string; proposal?: JsonObject; notified?: boolean; requestedAt: string; deadlineAt?: string; runId?: string; about?: RunSubject; arguments: JsonObject; argumentsCut?: true; answer?: JsonObject; agentName?: string; description?: string; schema?: JsonObject };

export type ApprovalsPage = { approvals: (Approval)[]; next?: string; unread?: (UnreadRun)[] };

export type BeforeTurnReceipt = { version: 1; beforeTurn: number };

export type CallDetails = { runId: string; callId: string; toolName: string; agentName: string; step?: number; offset: number; requestedAt: string; caller?: "code"; description?: string; schema?: JsonObject; category?: string; arguments: JsonObject; ranWith?: JsonObject; waiting?: Approval; decisions: (Decision)[]; result?: { status: string; content: (unknown)[]; spilled?: SpilledContent; notes?: (string)[]; offset: number; at: string }; toolVersion?: string; capability?: string; notRun?: "refused" | "answered" | "unknown" | "invalid" | "not_started"; verified?: { happened: boolean; reason: string }; childRunId?: string; hooks?: (JsonObject)[]; durationMs?: number | null };

export type CallsNotRun = { refused?: { [name: string]: number }; answered?: { [name: string]: number }; unknown?: { [name: string]: number }; invalid?: { [name: string]: number }; not_started?: { [name: string]: number } };

export type CancelReceipt = { runId: string; outcome: "requested" | "already_ended" };

export type CancelRun = { reason?: string; by?: string };

export type Chat = { id: string; messages: ({ id: string; role: string; parts: ({ type: string })[] })[]; trigger?: string; messageId?: string };

export type ChatMessages = { messages: ({ id: string; role: "user" | "assistant"; metadata: { runId: string; turn: number }; parts: ({ type: string })[] })[]; before?: number };

export type ChatStopped = { version: 1; interrupted: boolean; turn?: number };

export type CloseReceipt = { version: 1; turn?: number };

export type ContentItem = { type: "message"; role: "system" | "user" | "assistant"; content: InputContent } | { type: "tool_call"; toolCallId: string; name: string; arguments: JsonObject } | { type: "tool_result"; toolCallId: string; name: string; status: "success" | "error"; content: (unknown)[]; spilled?: SpilledContent; notes?: (string)[] };

export type ContentPart = { type: "text"; text: string } | { type: "image"; width?: number; height?: number; url?: string; data?: string; mediaType?: string; spilled?: SpilledContent } | { type: "audio"; format?: string; url?: string; data?: string; mediaType?: string; spilled?: SpilledContent } | { type: "video"; format?: string; url?: string; data?: string; mediaType?: string; spilled?: SpilledContent } | { type: "file"; name?: string; url?: string; data?: string; mediaType?: string; spilled?: SpilledContent };

export type ContextPage = { version: 1; executionId: string; status: RunStatus; currentStep: number; state: JsonObject; deps: JsonObject; finalResult: unknown; firstOffset: number; from: number; events: (Event)[]; nextId?: string; total: number; unread?: ({ id: string; content: string | ({ type: "text"; text: string } | { type: "image"; url?: string; data?: string; mediaType?: string; spilled?: SpilledContent; width?: number; height?: number } | { type: "audio"; url?: string; data?: string; mediaType?: string; spilled?: SpilledContent; format?: string } | { type: "video"; url?: string; data?: string; mediaType?: string; spilled?: SpilledContent; format?: string } | { type: "file"; url?: string; data?: string; mediaType?: string; spilled?: SpilledContent; name?: string })[]; timestamp: string })[]; asOf?: string };

export type DecideCall = { type: "approve"; arguments?: JsonObject; remember?: "tool" | "arguments"; digest: string; runId?: string; id?: string; by?: string } | { type: "reject"; reason?: string; remember?: "tool" | "arguments"; digest: string; runId?: string; id?: string; by?: string } | { type: "respond"; content: unknown; digest: string; runId?: string; id?: string; by?: string };

export type Decision = { id: string; type: "approve" | "reject" | "respond"; callId: string; toolName: string; digest: string; arguments?: JsonObject; sentArguments?: JsonObject; content?: unknown; reason?: string; remember?: "tool" | "arguments"; by: string | null; verifiedBy?: string; source: "update" | "signal" | "deadline" | "remembered"; at: string };

export type DecisionReceipt = { version: 1; status: "decided" | "repeated"; decision: Decision };

export type DeleteReceipt = { runId: string; outcome: "deleted" | "not_found" };

export type Delta = { type: "text"; text: string } | { type: "reasoning"; text: string } | { type: "tool_input"; callId: string; toolName: string; text: string; hosted?: true } | { type: "data"; callId: string; name: string; data: unknown };

export type Duration = number | string;

export type Empty = { by?: string };

export type EstimatedUsage = { promptTokens: number; completionTokens: number; totalTokens: number; costUsd?: number };

export type Event = { id: string; executionId: string; timestamp: string; author: string; content: (ContentItem)[]; caller?: "code"; given?: true; usage?: UsageStats | null; answeredBy?: string; estimated?: EstimatedUsage; failedAttempts?: JsonObject; failed?: { code: string }; interrupted?: true; guarded?: true; providerItems?: (unknown)[]; sources?: ({ url?: string; title?: string; mediaType?: string; filename?: string; start?: number; end?: number })[]; notices?: ({ code: string; message: string })[]; compaction?: JsonObject; partial?: true; contextUpdates?: (JsonObject)[]; decision?: Decision; refused?: JsonObject; raised?: JsonObject; permissions?: JsonObject; guardrails?: JsonObject; turn?: JsonObject; cleared?: true; title?: string; refresh?: JsonObject; memory?: JsonObject; step?: JsonObject };

export type EventsPage = { runId: string; from: number; events: (Event)[]; next?: number };

export type ExportLine = { type: "run" | "archive" | "execution" | "event" | "step" | "usage" | "result" | "failure" | "summary" };

export type FeedItem = { type: "started"; run: FeedRun } | { type: "waiting"; run: FeedRun } | { type: "decided"; run: FeedRun } | { type: "ended"; run: FeedRun } | { type: "gap" };

export type FeedRun = { runId: string; agentName?: string; status?: RunStatus; waitingFor: (string)[]; title?: string; startTime: string; endTime?: string };

export type Forgotten = { runs: (string)[]; executions: number; memoryEntries: number; kept: (string)[]; without: ("payloadStore" | "archive" | "memory" | "streams")[] };

export type InputContent = string | (ContentPart)[];

export type InterruptReceipt = { version: 1; interrupted: boolean; turn?: number };

export type InterruptTurn = { turn?: number; reason?: string; by?: string };

export type JsonObject = { [name: string]: unknown };

export type LimitOptions = { steps?: number; toolCalls?: number; toolCallsByName?: { [name: string]: number }; inputTokens?: number; outputTokens?: number; totalTokens?: number; costUsd?: number; deadline?: Duration };

export type LimitValues = { steps: number; toolCalls?: number; toolCallsByName?: { [name: string]: number }; inputTokens?: number; outputTokens?: number; totalTokens?: number; costUsd?: number; deadlineMs?: number };

export type LoggedIn = { token: string; expiresAt?: string };

export type LoginCode = { code: string; codeVerifier: string; redirectUri: string };

export type LoginWays = { oidc?: { authorizationEndpoint: string; clientId: string; scope: string; audience?: string } };

export type Me = { id: string; name?: string; scopes: ("chats:read" | "chats:write" | "runs:read" | "runs:write" | "approvals:decide" | "admin")[]; principal: "all" | { tenant?: string; user?: string }; agents?: (string)[]; runId?: string; expiresAt?: string; features: { tokens: boolean; agents: boolean; wire: boolean }; versions: { longhaul?: string; node: string }; namespace: string; uiUrl?: string };

export type MessageReceipt = { version: 1; id: string; status: "queued" | "duplicate"; queued: number; offset?: number; turn?: number; beforeStep?: number };

export type ModelSettings = { temperature?: number; maxOutputTokens?: number; toolChoice?: "auto" | "required" | "none" | { tool: string; every?: boolean } | { required: true; every?: boolean }; parallelToolCalls?: boolean; reasoningEffort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max"; thinkTags?: "reasoning" | "text"; extra?: JsonObject };

export type NoticedReceipt = { version: 1; id: string; status: "queued" | "duplicate"; queued: number; offset?: number; turn?: number; beforeStep?: number; notice?: string };

export type OpenSession = { agent: string; id?: string; title?: string; generateTitle?: boolean; limits?: SessionLimitOptions; turnLimits?: LimitOptions; compactAfter?: number | null; refresh?: "never"; messages?: (ContentItem)[]; saved?: SavedContext; model?: string; settings?: ModelSettings; deps?: JsonObject; state?: JsonObject; principal?: Principal; tags?: (string)[]; memo?: JsonObject; live?: boolean; tier?: "interactive" | "batch"; traceparent?: string; taskQueue?: string; searchAttributes?: { [name: string]: { type: "TEXT" | "KEYWORD" | "INT" | "DOUBLE" | "BOOL" | "DATETIME" | "KEYWORD_LIST"; value: string | number | boolean | (string)[] } }; priority?: number; fairnessKey?: string };

export type PauseReceipt = { version: 1; paused: boolean };

export type PermissionRule = { tool?: string; category?: string; args?: { [name: string]: string }; capability?: string };

export type PinnedAgent = { runId: string; offset?: number; snapshot: JsonObject };

export type Principal = { tenant?: string; user?: string; claims?: JsonObject };

export type Problem = { type: string; title: string; status: number; detail: string; instance?: string; code: "invalid_input" | "unknown_agent" | "unknown_provider" | "unknown_guardrail" | "unknown_tool" | "unknown_hook" | "hook_denied" | "invalid_agent" | "instructions_failed" | "invalid_output" | "payload_too_large" | "transcript_unavailable" | "secret_missing" | "secret_unavailable" | "mcp_unreachable" | "internal" | "busy" | "queue_full" | "session_limit" | "unknown_call" | "call_not_found" | "unknown_step" | "ambiguous_call" | "budget_exceeded" | "digest_mismatch" | "already_decided" | "invalid_arguments" | "not_permitted" | "not_authorized" | "authorization_failed" | "notification_failed" | "resource_unavailable" | "verification_failed" | "run_ended" | "run_not_found" | "not_a_run" | "run_exists" | "run_open" | "history_removed" | "history_unreadable" | "run_terminated" | "run_timed_out" | "namespace_not_found" | "server_unreachable" | "archive_failed" | "payload_store_failed" | "streams_failed" | "spilled_unavailable" | "spilled_not_found" | "wait_timeout" | "encryption_key_missing" | "decryption_failed" | "decompression_failed" | "model_bad_request" | "model_unauthorized" | "model_forbidden" | "model_not_found" | "model_request_timeout" | "model_conflict" | "model_request_too_large" | "model_unprocessable" | "model_rate_limited" | "model_quota_exceeded" | "model_server_error" | "model_timeout" | "model_unreachable" | "model_bad_response" | "model_no_answer" | "model_error" | "model_client_failed" | "context_length_exceeded" | "content_filter" | "model_refusal" | "guardrail_tripped" | "validation_failed" | "confidence_too_low" | "step_rejected" | "tool_failed" | "child_failed" | "memory_failed" | "memory_missing" | "unknown_program" | "invalid_program" | "empty_answer" | "anchor_breach" | "refine_exhausted" | "model_call_failed" | "step_failed" | "step_timeout" | "memory_unavailable" | "malformed_request" | "invalid_cursor" | "unauthenticated" | "tokens_off" | "too_many_requests" | "forbidden" | "route_not_found" | "agent_not_found" | "program_not_found" | "method_not_allowed" | "body_too_large" | "unsupported_media_type" | "invalid_request" | "key_reused" | "shutting_down"; errors?: ({ pointer?: string; parameter?: string; detail: string })[] };

export type ProgramDetails = { name: string; units: (string)[]; input?: JsonObject; document: JsonObject };

export type ProgramEntry = { name: string; units: (string)[]; input?: JsonObject };

export type Programs = { programs: (ProgramEntry)[] };

export type RaiseLimits = { limits: LimitOptions; id?: string; by?: string };

export type RaiseReceipt = { version: 1; id: string; status: "raised" | "duplicate"; limits: RunLimits; session?: { turns: number | null; totalTokens: number | null; costUsd: number | null; deadlineMs: number | null } };

export type RaiseSessionLimits = { limits: SessionLimitOptions; id?: string; by?: string };

export type RememberedDecision = { id: string; type: "approve" | "reject"; toolName: string; agent?: string; digest?: string; reason?: string; by: string | null; verifiedBy?: string; at: string };

export type RetryReceipt = { runId: string; fromStep: number; executionId: string; dropped: (string)[] };

export type RetryRun = { fromStep?: number };

export type RevokeReceipt = { version: 1; revoked: boolean };

export type RunApprovals = { version: 1; runId: string; agentName: string; about: RunSubject; status: RunStatus; pending: (Approval)[]; remembered: (RememberedDecision)[] };

export type RunCounts = { by: "agent" | "status"; counts: ({ value: string; runs: number })[]; total: number };

export type RunEntry = { runId: string; kind: "agent" | "program"; agentName?: string; status?: RunStatus; waitingFor: (string)[]; tenant?: string; user?: string; title?: string; tags?: (string)[]; startTime: string; endTime: string | null; durationMs?: number; steps?: number; tokens?: number; cost?: number };

export type RunLimits = { steps: number; toolCalls?: number; toolCallsByName?: { [name: string]: number }; inputTokens?: number; outputTokens?: number; totalTokens?: number; costUsd?: number; deadlineMs?: number; finalAttempt: boolean; onLimit?: "ask" };

export type RunResult = { version: 1; runId: string; agentName: string; output: unknown; status: "completed" | "max_iterations_reached" | "limit_reached" | "error" | "cancelled"; stopReason: string; finishReason?: string; stepsUsed: number; usage: AggregatedUsage; toolCallsTotal: number; toolCallsByName: { [name: string]: number }; toolCallsNotRun?: CallsNotRun; descendants?: JsonObject; startTime: string | null; endTime: string | null; durationSeconds: number | null; error: string | null; errorCode?: string; cancelReason?: string; limits: LimitValues; turns?: number; notArchived?: ({ from: number; through: number; message: string })[]; verdict?: JsonObject; lastAgent?: string; usageByAgent?: { [name: string]: AggregatedUsage }; hooks?: (JsonObject)[]; guardrail?: JsonObject; steps?: (StepResult)[]; treeUsage?: AggregatedUsage; success: boolean; outputText: string; hasMedia: boolean; mediaTypes: (string)[]; maxIterations: number; units?: (JsonObject)[]; unitsCut?: true; trace?: Trace };

export type RunStarted = { runId: string; repeated: boolean; notice?: string };

export type RunStatus = "running" | "pending_confirmation" | "paused" | "idle" | "completed" | "max_iterations_reached" | "limit_reached" | "error" | "cancelled";

export type RunSubject = { agentName: string; tenant?: string; user?: string; tags?: (string)[]; title?: string; question?: string };

export type RunTree = { runId: string; kind: "agent" | "program"; agentName: string; status: string; steps: number; turns?: number; limits?: RunLimits; usage: AggregatedUsage; treeUsage: AggregatedUsage; waitingFor: (string)[]; children: (RunTree)[] };

export type RunsPage = { runs: (RunEntry)[]; next?: string; cut?: true; unread?: (UnreadRun)[] };

export type SavedContext = { version: 1; messages: (unknown)[] };

export type SendMessage = { content: InputContent; mode?: "queue" | "steer" | "interrupt"; id?: string };

export type SendSessionMessage = { content: InputContent; mode?: "queue" | "steer" | "interrupt"; id?: string; agent?: string };

export type SessionLimitOptions = { turns?: number | null; totalTokens?: number | null; costUsd?: number | null; deadline?: Duration | null };

export type SessionOpened = { sessionId: string; repeated: boolean; notice?: string };

export type SessionView = { title?: string; turns: number; turn?: number; spent: { stepsUsed: number; usage: AggregatedUsage; toolCallsTotal: number; toolCallsByName: { [name: string]: number }; toolCallsNotRun?: CallsNotRun; descendants?: JsonObject }; limits: { turns: number | null; totalTokens: number | null; costUsd: number | null; deadlineMs: number | null }; limitReached?: { limit: string; message: string }; idleSince?: string };

export type SessionsPage = { sessions: ({ sessionId: string; agentName: string; status?: RunStatus; waitingFor: (string)[]; tenant?: string; user?: string; title?: string; tags?: (string)[]; startTime: string; endTime: string | null; durationMs?: number })[]; next?: string };

export type SetPermissions = { permissions: { mode?: "default" | "permissive" | "strict"; deny?: (string | PermissionRule)[]; ask?: (string | PermissionRule)[]; allow?: (string | PermissionRule)[]; approvalRequired?: (string | PermissionRule)[]; allowUnattendedExecute?: boolean }; id?: string; by?: string };

export type SetPermissionsReceipt = { version: 1; id: string; status: "set" | "to_authorize" | "duplicate" };

export type SpilledContent = { store: string; claim: { [name: string]: string }; bytes: number; sha256: string };

export type SpilledResult = { content: (unknown)[] };

export type StartProgram = { program: string | { version: 1; name: string }; input?: JsonObject; limits?: LimitOptions; deadline?: Duration; resume?: { run: string; from?: string }; runId?: string; ifExists?: "fail" | "return" | "restartFailed"; deps?: JsonObject; state?: JsonObject; principal?: Principal; tags?: (string)[]; memo?: JsonObject; live?: boolean; tier?: "interactive" | "batch"; traceparent?: string; taskQueue?: string; searchAttributes?: { [name: string]: { type: "TEXT" | "KEYWORD" | "INT" | "DOUBLE" | "BOOL" | "DATETIME" | "KEYWORD_LIST"; value: string | number | boolean | (string)[] } }; priority?: number; fairnessKey?: string };

export type StartRun = { agent: string; input?: InputContent; messages?: (ContentItem)[]; saved?: SavedContext; previousRunId?: string; limits?: LimitOptions; deadline?: Duration; model?: string; settings?: ModelSettings; runId?: string; ifExists?: "fail" | "return" | "restartFailed"; deps?: JsonObject; state?: JsonObject; principal?: Principal; tags?: (string)[]; memo?: JsonObject; live?: boolean; tier?: "interactive" | "batch"; traceparent?: string; taskQueue?: string; searchAttributes?: { [name: string]: { type: "TEXT" | "KEYWORD" | "INT" | "DOUBLE" | "BOOL" | "DATETIME" | "KEYWORD_LIST"; value: string | number | boolean | (string)[] } }; priority?: number; fairnessKey?: string };

export type StatusView = { version: 1; runId: string; agentName: string; currentAgent?: string; about: RunSubject; status: RunStatus; currentStep: number; usage: AggregatedUsage; treeUsage?: AggregatedUsage; toolCallsTotal: number; toolCallsNotRun?: CallsNotRun; events: number; executions: number; queued: number; waitingFor: (string)[]; postponed?: ({ callId: string; toolName: string; until: string; reason: string })[]; limits?: RunLimits; session?: SessionView; children?: (string)[]; waitingChildren?: (string)[]; endedChildren?: (string)[]; toolCallsStarted: number; lastError?: string; missing?: (JsonObject)[]; waitsForWorker?: { why: "no_worker" | "no_build" | "busy" | "failing"; taskQueue: string; since: string; activity?: string; workers: number; lastPollAt?: string; builds?: (string)[]; build?: string; attempts?: number; backlog?: number }; archiving?: { from: number; through: number; since: string }; notArchived?: ({ from: number; through: number; message: string })[]; running?: ({ name: string; attempt: number; progress?: unknown; lastFailure?: string; refused?: { code: string; times: number; nextAttemptAt?: string; givesUpAt: string }; waitsForBatch?: { collector: string; since: string; batch?: number; id?: string } })[]; startTime: string; endTime?: string; errorCode?: string; asOf?: string };

export type StepRequest = { runId: string; step: number; model: string; agentDigest: string; through: number; final?: true; open?: true; request: JsonObject; wire?: { api: string; path: string; body: JsonObject }; diff?: { step: number; added: ({ offset: number; index: number; author: string; type: "message" | "tool_call" | "tool_result"; name: string; callId?: string; text: string })[]; evicted: ({ offset: number; index: number; author: string; type: "message" | "tool_call" | "tool_result"; name: string; callId?: string; text: string })[]; summarized: ({ offset: number; index: number; author: string; type: "message" | "tool_call" | "tool_result"; name: string; callId?: string; text: string })[]; recalled: ({ offset: number; index: number; author: string; type: "message" | "tool_call" | "tool_result"; name: string; callId?: string; text: string })[]; changed: (string)[]; commonPrefix: { tokens: number; of: number } }; asOf: "rebuilt"; unknown: ({ part: "instructions" | "memory" | "account" | "rules" | "wire"; reason: string })[] };

export type StepResult = { step: number; agent?: string; answeredBy?: string; tried?: ({ model: string; code: string })[]; skipped?: ({ model: string; reason: "cooling_down" | "too_small" | "no_hosted_tool" | "long_wait" })[]; thought: string | null; toolCalls: (ToolCallRecord)[]; usage: UsageStats | null; finishReason: string; final?: true; warnings?: (string)[]; hosted?: ({ name: string; input?: string; isError?: true })[]; hooks?: (JsonObject)[] };

export type Steps = { runId: string; steps: (StepResult)[] };

export type StreamItem = { type: "event"; offset: number; event: Event } | { type: "step"; step: StepResult } | { type: "delta"; step: number; attempt: number; eventId: string; callId?: string; delta: Delta } | { type: "reset"; step: number; attempt: number; callId?: string; offset?: number } | { type: "gap" } | { type: "status"; status: string } | { type: "end"; result: StreamedResult };

export type StreamedResult = { version: 1; runId: string; agentName: string; output: unknown; status: "completed" | "max_iterations_reached" | "limit_reached" | "error" | "cancelled"; stopReason: string; finishReason?: string; stepsUsed: number; usage: AggregatedUsage; toolCallsTotal: number; toolCallsByName: { [name: string]: number }; toolCallsNotRun?: CallsNotRun; descendants?: JsonObject; startTime: string | null; endTime: string | null; durationSeconds: number | null; error: string | null; errorCode?: string; cancelReason?: string; limits: LimitValues; turns?: number; notArchived?: ({ from: number; through: number; message: string })[]; verdict?: JsonObject; lastAgent?: string; usageByAgent?: { [name: string]: AggregatedUsage }; hooks?: (JsonObject)[]; guardrail?: JsonObject; units?: (JsonObject)[]; unitsCut?: true };

export type Timeline = { runId: string; from: number; spans: (TimelineSpan)[]; ms: { model: number; tool: number; own: number; task: number; person: number; child: number; queue: number; retry: number }; next?: number };

export type TimelineSpan = { id: string; kind: "model" | "tool" | "own" | "task" | "person" | "child"; name: string; offset: number; from: string; to?: string; queueMs?: number; retryMs?: number; runMs?: number; attempts?: number; failures?: ({ attempt: number; code?: string; message: string })[]; ended?: "failed" | "cancelled" | "timed_out" | "terminated"; step?: number; callId?: string; childRunId?: string; decision?: string };

export type Token = { token: string; runId: string; expiresAt: string };

export type TokenRequest = { runId: string; minutes?: number; scopes?: ("runs:read" | "approvals:decide")[] };

export type ToolCallRecord = { toolName: string; callId: string; arguments: JsonObject; result: string; isError: boolean; durationMs: number | null; timestamp: string; spilled?: SpilledContent; caller?: "code"; toolVersion?: string; capability?: string; notRun?: "refused" | "answered" | "unknown" | "invalid" | "not_started"; verified?: { happened: boolean; reason: string }; childRunId?: string; hooks?: (JsonObject)[] };

export type ToolEntry = { name: string; version?: string; description: string; category?: string; parameters: JsonObject; agents: (string)[] };

export type Tools = { tools: (ToolEntry)[] };

export type Trace = { program_name: string; backend_name: string; start_time: string; duration_ms: number; total_events: number; spans: (TraceSpan)[]; end_time?: string };

export type TraceSpan = { name: string; start_time: string; duration_ms: number; events: (JsonObject)[]; children?: (TraceSpan)[]; metadata?: JsonObject; end_time?: string };

export type TreeEvent = { id: string; executionId: string; timestamp: string; author: string; content: (ContentItem)[]; caller?: "code"; given?: true; usage?: UsageStats | null; answeredBy?: string; estimated?: EstimatedUsage; failedAttempts?: JsonObject; failed?: { code: string }; interrupted?: true; guarded?: true; providerItems?: (unknown)[]; sources?: ({ url?: string; title?: string; mediaType?: string; filename?: string; start?: number; end?: number })[]; notices?: ({ code: string; message: string })[]; compaction?: JsonObject; partial?: true; contextUpdates?: (JsonObject)[]; decision?: Decision; refused?: JsonObject; raised?: JsonObject; permissions?: JsonObject; guardrails?: JsonObject; turn?: JsonObject; cleared?: true; title?: string; refresh?: JsonObject; memory?: JsonObject; step?: JsonObject; runId: string; offset: number };

export type TurnEntry = { turn: number; status?: "completed" | "max_iterations_reached" | "limit_reached" | "error" | "cancelled"; stopReason?: string; error?: string; startTime: string; endTime?: string; firstOffset: number; events: number; steps: number; tokens: number; question?: string; answer?: string };

export type TurnResult = { version: 1; runId: string; agentName: string; output: unknown; status: "completed" | "max_iterations_reached" | "limit_reached" | "error" | "cancelled"; stopReason: string; finishReason?: string; stepsUsed: number; usage: AggregatedUsage; toolCallsTotal: number; toolCallsByName: { [name: string]: number }; toolCallsNotRun?: CallsNotRun; descendants?: JsonObject; startTime: string | null; endTime: string | null; durationSeconds: number | null; error: string | null; errorCode?: string; cancelReason?: string; limits: LimitValues; turns?: number; notArchived?: ({ from: number; through: number; message: string })[]; verdict?: JsonObject; lastAgent?: string; usageByAgent?: { [name: string]: AggregatedUsage }; hooks?: (JsonObject)[]; guardrail?: JsonObject; steps?: (StepResult)[]; treeUsage?: AggregatedUsage; success: boolean; outputText: string; hasMedia: boolean; mediaTypes: (string)[]; maxIterations: number; turn: number; firstStep: number; unanswered?: (string)[]; call?: string };

export type TurnRunning = { sessionId: string; turn: number; receipt?: MessageReceipt; session?: StatusView };

export type TurnsPage = { sessionId: string; turns: (TurnEntry)[]; next?: number };

export type UiMessageChunk = { type: string };

export type UnreadRun = { runId: string; code: string; message: string };

export type UsageStats = { promptTokens: number; completionTokens: number; totalTokens: number; cachedTokens?: number; cacheWriteTokens?: number; reasoningTokens?: number; costUsd?: number };

export type UserExportLine = { type: "user" | "run" | "archive" | "execution" | "event" | "step" | "usage" | "result" | "failure" | "details" | "spilled" | "summary" | "memory" | "unread" | "end" };

/** The operations of the service, by method and path. */
export interface Operations {

  /** Start a run of an agent. */
  'POST /v1/runs': {
    params: {  };
    body: StartRun;
    answer: RunStarted;
  };
  /** List runs. */
  'GET /v1/runs': {
    params: {  };
    query: { agent?: string; status?: "running" | "pending_confirmation" | "paused" | "idle" | "completed" | "max_iterations_reached" | "limit_reached" | "error" | "cancelled"; tag?: string; startedAfter?: string; startedBefore?: string; tenant?: string; user?: string; waitingFor?: string; waiting?: "true" | "false"; amounts?: "true" | "false"; sort?: "started" | "duration" | "tokens" | "cost"; limit?: number; cursor?: string };
    answer: RunsPage;
  };
  /** Count runs by their status or their agent. */
  'GET /v1/runs/counts': {
    params: {  };
    query: { by: "agent" | "status"; agent?: string; status?: "running" | "pending_confirmation" | "paused" | "idle" | "completed" | "max_iterations_reached" | "limit_reached" | "error" | "cancelled"; tag?: string; startedAfter?: string; startedBefore?: string; tenant?: string; user?: string };
    answer: RunCounts;
  };
  /** List sessions. */
  'GET /v1/sessions': {
    params: {  };
    query: { agent?: string; status?: "running" | "pending_confirmation" | "paused" | "idle" | "completed" | "max_iterations_reached" | "limit_reached" | "error" | "cancelled"; tag?: string; startedAfter?: string; startedBefore?: string; tenant?: string; user?: string; limit?: number; cursor?: string };
    answer: SessionsPage;
  };
  /** Open a session: it waits for its first message. */
  'POST /v1/sessions': {
    params: {  };
    body: OpenSession;
    answer: SessionOpened;
  };
  /** List the calls of all runs that wait for a decision. */
  'GET /v1/approvals': {
    params: {  };
    query: { agent?: string; tool?: string; tenant?: string; user?: string; limit?: number; cursor?: string };
    answer: ApprovalsPage;
  };
  /** Follow all runs: which start, wait for a decision, wait no more, and end. */
  'GET /v1/feed': {
    params: {  };
    query: { agent?: string; waiting?: "true" | "false"; cursor?: string };
    answer: FeedItem;
  };
  /** Read the status of a run. */
  'GET /v1/runs/{runId}': {
    params: { runId: string };
    answer: StatusView;
  };
  /** Delete a run that has ended, and all runs below it. */
  'DELETE /v1/runs/{runId}': {
    params: { runId: string };
    query: { end?: "true" | "false"; grace?: string };
    answer: DeleteReceipt;
  };
  /** Read the result of a run, or wait for it. */
  'GET /v1/runs/{runId}/result': {
    params: { runId: string };
    query: { wait?: string; steps?: "true" | "false"; trace?: "true" | "false" };
    answer: RunResult | StatusView;
  };
  /** Read the context of a run, with a page of its events. */
  'GET /v1/runs/{runId}/context': {
    params: { runId: string };
    query: { from?: number };
    answer: ContextPage;
  };
  /** Read the steps of a run. */
  'GET /v1/runs/{runId}/steps': {
    params: { runId: string };
    answer: Steps;
  };
  /** Read the trace of a run. */
  'GET /v1/runs/{runId}/trace': {
    params: { runId: string };
    answer: Trace;
  };
  /** Read a run with all runs below it. */
  'GET /v1/runs/{runId}/tree': {
    params: { runId: string };
    answer: RunTree;
  };
  /** Read a page of the events of a run. */
  'GET /v1/runs/{runId}/events': {
    params: { runId: string };
    query: { from?: number; limit?: number };
    answer: EventsPage;
  };
  /** Read the events of a run and of all runs below it. */
  'GET /v1/runs/{runId}/tree/events': {
    params: { runId: string };
    answer: TreeEvent;
  };
  /** Export the complete run. */
  'GET /v1/runs/{runId}/export': {
    params: { runId: string };
    answer: ExportLine;
  };
  /** Read the context of a run as a document, from which another run can start. */
  'GET /v1/runs/{runId}/save': {
    params: { runId: string };
    answer: SavedContext;
  };
  /** Read the agent of a run as it is pinned. */
  'GET /v1/runs/{runId}/snapshot': {
    params: { runId: string };
    query: { at?: number };
    answer: PinnedAgent;
  };
  /** Read one call of a run, whole. */
  'GET /v1/runs/{runId}/calls/{callId}': {
    params: { runId: string; callId: string };
    answer: CallDetails;
  };
  /** Read what the model was asked in a step. */
  'GET /v1/runs/{runId}/steps/{step}/request': {
    params: { runId: string; step: number };
    query: { diff?: "previous" };
    answer: StepRequest;
  };
  /** Read where the time of a run went. */
  'GET /v1/runs/{runId}/timeline': {
    params: { runId: string };
    query: { from?: number; limit?: number };
    answer: Timeline;
  };
  /** Read the whole content of a tool result that was spilled, or of a file that a model has made. */
  'GET /v1/runs/{runId}/spilled/{sha256}': {
    params: { runId: string; sha256: string };
    answer: SpilledResult;
  };
  /** Read the bytes of a file that a model has made. */
  'GET /v1/runs/{runId}/files/{sha256}': {
    params: { runId: string; sha256: string };
    query: { token?: string };
    answer: unknown;
  };
  /** Send a message to a run. */
  'POST /v1/runs/{runId}/messages': {
    params: { runId: string };
    body: SendMessage;
    answer: MessageReceipt;
  };
  /** Pause a run after its current step. */
  'POST /v1/runs/{runId}/pause': {
    params: { runId: string };
    body: Empty;
    answer: PauseReceipt;
  };
  /** Resume a paused run. */
  'POST /v1/runs/{runId}/resume': {
    params: { runId: string };
    body: Empty;
    answer: PauseReceipt;
  };
  /** Cancel a run. */
  'POST /v1/runs/{runId}/cancel': {
    params: { runId: string };
    body: CancelRun;
    answer: CancelReceipt;
  };
  /** Raise limits of a run. */
  'POST /v1/runs/{runId}/limits': {
    params: { runId: string };
    body: RaiseLimits;
    answer: RaiseReceipt;
  };
  /** Set the permissions of a run. */
  'PUT /v1/runs/{runId}/permissions': {
    params: { runId: string };
    body: SetPermissions;
    answer: SetPermissionsReceipt;
  };
  /** Let a run that has ended continue from a step. */
  'POST /v1/runs/{runId}/retry': {
    params: { runId: string };
    body: RetryRun;
    answer: RetryReceipt;
  };
  /** Follow a run as it happens. */
  'GET /v1/runs/{runId}/stream': {
    params: { runId: string };
    query: { cursor?: string; token?: string };
    answer: StreamItem;
  };
  /** Follow a session as it happens, over all its turns. */
  'GET /v1/sessions/{sessionId}/stream': {
    params: { sessionId: string };
    query: { cursor?: string; token?: string };
    answer: StreamItem;
  };
  /** List the calls of a run, and of those below it, that wait for a decision. */
  'GET /v1/runs/{runId}/approvals': {
    params: { runId: string };
    answer: RunApprovals;
  };
  /** Approve or reject a waiting call, or answer it. */
  'POST /v1/runs/{runId}/approvals/{callId}': {
    params: { runId: string; callId: string };
    body: DecideCall;
    answer: DecisionReceipt;
  };
  /** End a remembered decision. */
  'DELETE /v1/runs/{runId}/remembered/{decisionId}': {
    params: { runId: string; decisionId: string };
    answer: RevokeReceipt;
  };
  /** Send a message to a session, and do not wait for the answer. */
  'POST /v1/sessions/{sessionId}/messages': {
    params: { sessionId: string };
    body: SendSessionMessage;
    answer: NoticedReceipt;
  };
  /** Send a message to a session, and wait for the answer. */
  'POST /v1/sessions/{sessionId}/ask': {
    params: { sessionId: string };
    query: { wait?: string };
    body: SendSessionMessage;
    answer: TurnResult | TurnRunning;
  };
  /** Read the result of a turn, or wait for it. */
  'GET /v1/sessions/{sessionId}/turns/{turn}': {
    params: { sessionId: string; turn: "newest" | number };
    query: { wait?: string };
    answer: TurnResult | TurnRunning;
  };
  /** List the turns of a session, the oldest first. */
  'GET /v1/sessions/{sessionId}/turns': {
    params: { sessionId: string };
    query: { from?: number; limit?: number };
    answer: TurnsPage;
  };
  /** Read the status of a session. */
  'GET /v1/sessions/{sessionId}': {
    params: { sessionId: string };
    answer: StatusView;
  };
  /** Read the context of a session as a document: `saved` of another one begins with it. */
  'GET /v1/sessions/{sessionId}/save': {
    params: { sessionId: string };
    answer: SavedContext;
  };
  /** Interrupt the current turn of a session. */
  'POST /v1/sessions/{sessionId}/interrupt': {
    params: { sessionId: string };
    body: InterruptTurn;
    answer: InterruptReceipt;
  };
  /** Empty the conversation of a session after the current turn. */
  'POST /v1/sessions/{sessionId}/reset': {
    params: { sessionId: string };
    body: Empty;
    answer: BeforeTurnReceipt;
  };
  /** Have the agent of a session resolved again before the next turn. */
  'POST /v1/sessions/{sessionId}/refresh': {
    params: { sessionId: string };
    body: Empty;
    answer: BeforeTurnReceipt;
  };
  /** Close a session after the current turn. */
  'POST /v1/sessions/{sessionId}/close': {
    params: { sessionId: string };
    body: Empty;
    answer: CloseReceipt;
  };
  /** Raise limits of a whole session. */
  'POST /v1/sessions/{sessionId}/limits': {
    params: { sessionId: string };
    body: RaiseSessionLimits;
    answer: RaiseReceipt;
  };
  /** List the programs that the service knows and the caller may start. */
  'GET /v1/programs': {
    params: {  };
    answer: Programs;
  };
  /** Start a program. */
  'POST /v1/programs': {
    params: {  };
    body: StartProgram;
    answer: RunStarted;
  };
  /** List the agents that the service knows and the caller may start. */
  'GET /v1/agents': {
    params: {  };
    answer: Agents;
  };
  /** Read about an agent that the service knows. */
  'GET /v1/agents/{agent}': {
    params: { agent: string };
    answer: AgentDetails;
  };
  /** Read a program that the service knows, with its document. */
  'GET /v1/programs/{program}': {
    params: { program: string };
    answer: ProgramDetails;
  };
  /** List the tools of the agents that the service knows and the caller may start. */
  'GET /v1/tools': {
    params: {  };
    answer: Tools;
  };
  /** Make a token for one run and some minutes. */
  'POST /v1/tokens': {
    params: {  };
    body: TokenRequest;
    answer: Token;
  };
  /** Read who the caller is, and what the service offers. */
  'GET /v1/me': {
    params: {  };
    answer: Me;
  };
  /** Export everything of a user. */
  'GET /v1/users/{user}/export': {
    params: { user: string };
    query: { tenant?: string; without?: "payloadStore" | "archive" | "memory" | "streams" | ("payloadStore" | "archive" | "memory" | "streams")[] };
    answer: UserExportLine;
  };
  /** Remove everything of a user. */
  'DELETE /v1/users/{user}': {
    params: { user: string };
    query: { tenant?: string; without?: "payloadStore" | "archive" | "memory" | "streams" | ("payloadStore" | "archive" | "memory" | "streams")[] };
    answer: Forgotten;
  };
  /** Send a message to a chat of the AI SDK, or answers to its approvals, and follow the answer. */
  'POST /v1/agents/{agent}/chat': {
    params: { agent: string };
    body: Chat;
    answer: UiMessageChunk;
  };
  /** Follow the answer that a chat of the AI SDK is giving, from its beginning. */
  'GET /v1/agents/{agent}/chat/{id}/stream': {
    params: { agent: string; id: string };
    answer: UiMessageChunk;
  };
  /** Read the messages of a chat of the AI SDK. */
  'GET /v1/agents/{agent}/chat/{id}': {
    params: { agent: string; id: string };
    query: { before?: number; limit?: number };
    answer: ChatMessages;
  };
  /** Interrupt the answer that a chat of the AI SDK is giving. */
  'POST /v1/agents/{agent}/chat/{id}/stop': {
    params: { agent: string; id: string };
    body: Empty;
    answer: ChatStopped;
  };
  /** Read how people log in. */
  'GET /v1/login': {
    params: {  };
    answer: LoginWays;
  };
  /** Exchange the code of an issuer for a token. */
  'POST /v1/login/oidc': {
    params: {  };
    body: LoginCode;
    answer: LoggedIn;
  };

}
