import { cutText } from './byte-budgets.ts';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue, sha256 } from './json.ts';
import type { LimitChanges } from './limits.ts';
import { RUN_SUBJECT } from './run.ts';
import * as s from './shape.ts';
import { shellCommand } from './text.ts';
import { isoTime } from './time.ts';

/** The decision that is applied to a call whose deadline passes without a decision. */
export type DeadlineAction = 'approve' | 'reject';

/** The time for which a call waits for a decision, and the decision that is applied then. Without a deadline, it waits indefinitely. */
export interface ApprovalDeadline {
  /** Milliseconds from the moment when the call begins to wait. */
  deadlineMs?: number;
  /** Default `reject`. */
  onDeadline?: DeadlineAction;
}

/**
 * The condition under which a tool's calls wait for a decision: always, or if a predicate in the tool's code returns true. Pinned in the
 * snapshot.
 */
export interface ApprovalPolicy extends ApprovalDeadline {
  /** The calls that wait: all of them, or those for which the tool's predicate says so. */
  when: 'always' | 'predicate';
}

/** The approval that a call requires, recorded by the activity that read the model's response. */
export interface ApprovalRequirement extends ApprovalDeadline {
  /** SHA-256 (base64url, shortened) over the call's name and arguments. A decision is bound to it. */
  digest: string;
  /** The reason given by the predicate. */
  reason?: string;
}

const OF_APPROVAL = {
  /** What waits: a tool call, a question to a person, a limit that was reached, or the outcome of a call whose answer was lost. */
  kind: s.oneOf('tool', 'question', 'limit', 'outcome'),
  /** The id of the call, used by `approve` and `reject`. */
  callId: s.TEXT,
  /** The name of the tool; `raise_limits` for a limit. */
  toolName: s.TEXT,
  /** SHA-256 (base64url, shortened) over the call's name and arguments: a decision about other arguments is refused. */
  digest: s.described(s.TEXT, 'A decision is bound to it.'),
  /** Unique in the run, and the same in all notifications about this approval. */
  key: s.TEXT,
  /** The waiting step. 1-based. In a program's run, it counts model calls, and `at` is the step. */
  step: s.NUMBER,
  /** In a program's run: the unit and the name of the waiting step, such as `write.Letter`. */
  at: s.optional(s.TEXT),
  /** The decision that is applied at the deadline if nobody has decided. Absent: `reject`. */
  onDeadline: s.optional(s.oneOf('approve', 'reject')),
  /** Why the call waits, according to its rule. Absent if the rule gives no reason. */
  reason: s.optional(s.TEXT),
  /** For a limit: the limits that an approval sets. */
  proposal: s.optional(s.anyObject<LimitChanges>()),
  /** True once `notify` has succeeded; false once it has failed permanently. Absent before that, and if the worker has no `notify`. */
  notified: s.optional(s.FLAG),
};

/** One pending approval: a tool call, a question to a person, a limit that was reached, or the outcome of a call whose answer was lost. */
export interface PendingApproval extends s.ObjectOf<typeof OF_APPROVAL> {
  /** Milliseconds since the epoch. */
  requestedAt: number;
  /** Milliseconds since the epoch. */
  deadlineAt?: number;
  /** For an outcome: how the answer of the call was lost. */
  lost?: string;
}

const VIEW_MEMBERS = {
  ...OF_APPROVAL,
  /** ISO 8601. */
  requestedAt: s.TIMESTAMP,
  /** ISO 8601. */
  deadlineAt: s.optional(s.TIMESTAMP),
  /** The run that waits: the run that lists the approval, or a descendant. Decisions go to it. Absent when a run answers about itself. */
  runId: s.optional(s.described(s.TEXT, 'The run that waits.')),
  /**
   * The information about that run that an approver needs, in a list of several runs. Absent: the same as the list says about the run
   * itself.
   */
  about: s.optional(RUN_SUBJECT),
  /** The arguments of the call; for a limit, the limits that an approval sets. */
  arguments: s.JSON_OBJECT,
  /** The arguments are too large for a list: only the beginning of their JSON is shown, under the key `text`. */
  argumentsCut: s.optional(s.TRUE),
  /** For a question: the schema of the answer. */
  answer: s.optional(s.JSON_OBJECT),
  /** The agent whose call waits. Absent for a limit. */
  agentName: s.optional(s.TEXT),
  /** The tool's description for the model. Absent for a limit. */
  description: s.optional(s.TEXT),
  /** The JSON Schema for editing the arguments. Absent for a limit, and if it is too large for a list: the details of the call have it. */
  schema: s.optional(s.JSON_OBJECT),
};

/** One pending approval with everything that an approver needs to decide it. */
export interface ApprovalView extends s.ObjectOf<typeof VIEW_MEMBERS> {}
export const APPROVAL_VIEW: s.Shape<ApprovalView> = s.object(VIEW_MEMBERS);

/** The tool name of a pending approval for a limit. */
export const RAISE_LIMITS = 'raise_limits';

/** Returns what a run waits for, in words of a person: the names of tools, and `a higher limit`. */
export function waitsText(waitingFor: readonly string[]): string {
  return waitingFor.map((name) => (name === RAISE_LIMITS ? 'a higher limit' : name)).join(', ');
}

export const REMEMBER = s.oneOf('tool', 'arguments');

/** The further calls to which a decision applies: all calls of the tool, or only those with equal arguments. @useDeclaredType */
export type Remember = s.ValueOf<typeof REMEMBER>;

const DECISION_MEMBERS = {
  /** The id that the caller chose: a decision sent again with the same id is the same decision. */
  id: s.TEXT,
  /** `approve`: the call runs. `reject`: it does not. `respond`: `content` is its result, and the tool does not run. */
  type: s.oneOf('approve', 'reject', 'respond'),
  /** The decided call. */
  callId: s.TEXT,
  /** The tool of the call. */
  toolName: s.TEXT,
  /** SHA-256 (base64url, shortened) over the call's name and arguments: the decision applies to exactly these. */
  digest: s.TEXT,
  /** For an approval: the arguments for running the call, if they differ from the model's. */
  arguments: s.optional(s.JSON_OBJECT),
  /** The arguments as the approver sent them, if the tool's schema has changed them since: filled in a default, trimmed a text. */
  sentArguments: s.optional(s.JSON_OBJECT),
  /** For a response: the result of the call, instead of running the tool. */
  content: s.optional(s.ANY_JSON),
  /** The approver's reason. Absent if none was given. */
  reason: s.optional(s.TEXT),
  /** The further calls to which the decision applies: all calls of the tool, or those with equal arguments. Absent: none. */
  remember: s.optional(REMEMBER),
  /** The approver, as claimed. */
  by: s.orNull(s.TEXT),
  /** The approver, as verified by `authorize`. */
  verifiedBy: s.optional(s.TEXT),
  /** The source of the decision: an Update, a Signal, the call's deadline, or a remembered decision. */
  source: s.oneOf('update', 'signal', 'deadline', 'remembered'),
  /** ISO 8601. */
  at: s.TIMESTAMP,
};

/** One decision about a call. */
export interface Decision extends s.ObjectOf<typeof DECISION_MEMBERS> {}
export const DECISION: s.Shape<Decision> = s.object(DECISION_MEMBERS);

/** A decision without its content. A run keeps this part in memory. */
export type DecidedCall = Omit<Decision, 'arguments' | 'sentArguments' | 'content'>;

/** Bytes of JSON of a reason that is kept in memory. */
const REASON_BYTES = 300;

/** Returns a decision without its content, and with a shortened reason. */
export function withoutContent({ arguments: _, sentArguments: __, content: ___, ...decision }: Decision): DecidedCall {
  return decision.reason === undefined ? decision : { ...decision, reason: cutText(decision.reason, REASON_BYTES) };
}

const REMEMBERED_MEMBERS = {
  /** The id of the decision. */
  id: s.TEXT,
  /** The decision for further calls of the tool: `approve` or `reject`. */
  type: s.oneOf('approve', 'reject'),
  /** The tool whose calls the decision applies to. */
  toolName: s.TEXT,
  /** The agent that owns the tool, if the run had been handed over. Absent: the agent that the run began with. */
  agent: s.optional(s.TEXT),
  /** The digest of the arguments, if the decision applies only to equal ones. */
  digest: s.optional(s.TEXT),
  /** The reason given with the decision. */
  reason: s.optional(s.TEXT),
  /** The approver, as claimed. */
  by: s.orNull(s.TEXT),
  /** The approver, as verified by the service or the `authorize` hook. */
  verifiedBy: s.optional(s.TEXT),
  /** ISO 8601. */
  at: s.TIMESTAMP,
};

/** A decision that applies to further calls. */
export interface RememberedDecision extends s.ObjectOf<typeof REMEMBERED_MEMBERS> {}
export const REMEMBERED_DECISION: s.Shape<RememberedDecision> = s.object(REMEMBERED_MEMBERS);

/** A refused request to a run whose sender received no answer, such as a Signal, or that `authorize` refused. */
export interface RefusedRequest {
  /** `approve`, `reject`, `respond`, `send`, `cancel`. */
  request: string;
  /** The id that the caller chose. */
  id?: string;
  /** The call that the refused request was about. */
  callId?: string;
  /** The caller's name, as claimed. */
  by?: string;
  /** The error code of the refusal. */
  code: string;
  /** The reason in words. */
  message: string;
}

/** Returns the decision that is applied to a pending approval at its deadline. */
export function decisionByDeadline({ callId, toolName, digest, onDeadline, key, proposal }: PendingApproval, now: number): Decision {
  return {
    id: `deadline of ${key}`,
    type: onDeadline === 'approve' ? 'approve' : 'reject',
    callId,
    toolName,
    digest,
    ...(onDeadline === 'approve' && proposal !== undefined ? { arguments: { ...proposal } } : {}),
    ...(onDeadline === 'approve' ? {} : { reason: 'nobody decided before the deadline' }),
    by: null,
    source: 'deadline',
    at: isoTime(now),
  };
}

/** Returns a readable author of a decision: the verified identity, else the claimed one. */
export function decider({ by, verifiedBy, source }: Pick<Decision, 'by' | 'verifiedBy' | 'source'>): string {
  if (source === 'deadline') return 'the deadline';
  return verifiedBy ?? by ?? 'somebody who gave no name';
}

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** 132 bits in base64url, as in the digest of a snapshot. */
const DIGEST_LENGTH = 22;

/**
 * Returns the digest that binds a decision to a call: equal calls have equal digests. It depends on nothing that only the workflow knows,
 * so a run read back from its history lists the same digest.
 */
export function callDigest(name: string, args: JsonObject): string {
  const words = sha256(canonicalJson({ name, arguments: args }));
  const bits = words.map((word) => word.toString(2).padStart(32, '0')).join('');
  return Array.from({ length: DIGEST_LENGTH }, (_, index) => BASE64URL[Number.parseInt(bits.slice(6 * index, 6 * index + 6), 2)]).join('');
}

/** Returns the place of a call in the record from the key of its approval: its event, whose id may have slashes, and its index there. */
export function placeOfKey(key: string): { eventId: string; index: number } {
  const parts = key.split('/');
  // A question about the outcome of a call has a third part.
  if (Number.isNaN(Number(parts.at(-1)))) parts.pop();
  return { index: Number(parts.pop()), eventId: parts.join('/') };
}

/** The digest for a call that does not wait: the run answers with the decision it has for the call, or refuses. */
export const NO_DIGEST = 'none';

/** Returns the refusal of a decision about a decided call: it was made on another call if its digest is another one. */
export function notOpen(
  runId: string,
  decided: DecidedCall,
  digest: string,
): { code: 'already_decided' | 'digest_mismatch'; message: string } {
  if (digest === NO_DIGEST || digest === decided.digest) return alreadyDecided(runId, decided);
  const message =
    `The decision has another digest than call "${decided.callId}" of "${decided.toolName}" in run "${runId}", which is already decided: ` +
    'take the id and the digest of the call from the pending approvals, and write "#" as "%23" in a URL';
  return { code: 'digest_mismatch', message };
}

/** Returns the refusal of a decision about an already decided call, with the earlier decision, its author and its time. */
export function alreadyDecided(
  runId: string,
  { type, callId, toolName, id, at, ...who }: Omit<DecidedCall, 'digest'>,
): { code: 'already_decided'; message: string } {
  const what = { approve: 'approved', reject: 'rejected', respond: 'answered' }[type];
  const message = `Call "${callId}" of "${toolName}" in run "${runId}" was ${what} by ${quotedName(decider(who))} at ${at} (decision "${id}")`;
  return { code: 'already_decided', message };
}

/** Quotes a name, but not a description that replaces one. */
function quotedName(name: string): string {
  return name.includes(' ') ? name : `"${name}"`;
}

/**
 * Returns shell commands that decide a pending approval. `options` are added to each; `program` is the name of the command line program.
 */
export function decisionHints(
  runId: string,
  { kind, callId, answer }: Pick<ApprovalView, 'kind' | 'callId' | 'answer'>,
  { options: more = [], program }: { options?: readonly string[]; program?: string | undefined } = {},
): string[] {
  const hint = (command: string, ...options: string[]): string =>
    shellCommand(command, { operands: [runId, callId], options: [...options, ...more], program });
  if (kind === 'outcome') return [hint('respond', '--text', '…'), hint('reject', '--reason', '…')];
  if (kind === 'question') return [hint('respond', ...answerOptions(answer))];
  return [hint('approve'), hint('reject', '--reason', '…')];
}

/** Returns the options for an answer: text, or JSON with its member names if the schema requires an object. */
function answerOptions(schema: JsonObject | undefined): [string, string] {
  const type = schema?.['type'];
  if (type === undefined || type === 'string') return ['--text', '…'];
  const template = answerTemplate(schema);
  return ['--value', typeof template === 'string' ? template : JSON.stringify(template)];
}

/** Returns a template of an answer: an object with its member names, or a text. */
function answerTemplate(schema: JsonObject | undefined): JsonValue {
  const members = schema?.['properties'];
  if (schema?.['type'] !== 'object' || !isJsonObject(members)) return '…';
  return Object.fromEntries(Object.keys(members).map((name) => [name, '…']));
}

/** The maximum length of a request id. */
const ID_LENGTH = 64;

/** The values for the "Send an Update" form of the Temporal UI. */
interface UpdateForm {
  /** The Updates that accept the input. */
  names: string[];
  input: JsonObject;
}

/**
 * Returns the form that decides a pending approval. It can be sent unchanged, once an answer is filled in. Its id is fixed, so that a form
 * sent twice is one decision.
 */
export function updateForm({
  kind,
  callId,
  digest,
  key,
  answer,
}: Pick<ApprovalView, 'kind' | 'callId' | 'digest' | 'key' | 'answer'>): UpdateForm {
  const decision = { callId, id: `ui-${key}`.slice(-ID_LENGTH), digest };
  if (kind === 'tool' || kind === 'limit') return { names: ['approve', 'reject'], input: decision };
  return { names: ['respond'], input: { ...decision, content: answerTemplate(kind === 'question' ? answer : undefined) } };
}

// The approvals of a run: pending and past decisions.

/** The pending approvals of a run, and its decisions. */
export interface Approvals {
  /** The pending approvals, in the order of their requests. */
  pending: PendingApproval[];
  /** The approved calls of the current response, with their arguments if the approver edited them. */
  approved: ApprovedCall[];
  /** The newest decisions, the last one last. The record of events has all of them. */
  decided: DecidedCall[];
  /** Decisions that apply to further calls. */
  remembered: RememberedDecision[];
}

/** A call that was approved and has no result yet. */
interface ApprovedCall {
  callId: string;
  arguments?: JsonObject;
}

/** Returns the approvals of a run that has not requested any. */
export function noApprovals(): Approvals {
  return { pending: [], approved: [], decided: [], remembered: [] };
}

/** Returns the deadline of a call that begins to wait at `now`, and the decision that applies when it passes. */
export function deadlineOf({ deadlineMs, onDeadline }: ApprovalDeadline, now: number): Pick<PendingApproval, 'deadlineAt' | 'onDeadline'> {
  return deadlineMs === undefined ? {} : { deadlineAt: now + deadlineMs, onDeadline: onDeadline ?? 'reject' };
}

export function pendingOf({ pending }: Approvals, callId: string): PendingApproval | undefined {
  return pending.find((one) => one.callId === callId);
}

/**
 * Returns how the answer of a call was lost, if it has a pending question about its outcome. Such a call has started, in this execution or an
 * earlier one.
 */
export function lostAnswer(pending: readonly PendingApproval[], toolCallId: string): string | undefined {
  const waiting = pending.find(({ kind, callId }) => kind === 'outcome' && callId === toolCallId);
  return waiting && (waiting.lost ?? 'its worker gave no answer');
}

/** Returns the decision about a call, or the newest one if call ids repeat. */
export function decidedOf({ decided }: Approvals, callId: string): DecidedCall | undefined {
  return decided.findLast((one) => one.callId === callId);
}

/** Returns the newest remembered decision for a call with that digest. Another agent's tool of the same name is a different tool. */
export function rememberedFor(
  { remembered }: Approvals,
  toolName: string,
  { digest, agent }: { digest: string; agent?: string | undefined },
): RememberedDecision | undefined {
  return remembered.findLast(
    (one) => one.toolName === toolName && one.agent === agent && (one.digest === undefined || one.digest === digest),
  );
}

/** Removes a remembered decision. Returns false if no decision has that id. */
export function revoke(approvals: Approvals, id: string): boolean {
  const left = approvals.remembered.filter((one) => one.id !== id);
  const isRevoked = left.length < approvals.remembered.length;
  approvals.remembered = left;
  return isRevoked;
}
