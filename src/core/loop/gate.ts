import type { ToolSnapshot } from '../domain/agent.ts';
import { type ApprovalRequirement, callDigest } from '../domain/approvals.ts';
import type { ToolCall } from '../domain/content.ts';
import { defined } from '../domain/defined.ts';
import { refusalIn } from '../domain/guardrails.ts';
import type { JsonObject } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/model.ts';
import {
  FINAL_ANSWER,
  INTERRUPTED_CALL,
  notExecutable,
  type NotRun,
  OVER_CALL_LIMIT,
  RUN_CODE,
  unknownTool,
  UNUSABLE_REPLY,
} from '../domain/tool-calls.ts';
import { withoutTransfer } from './handoffs.ts';
import { rewrittenArguments } from './hooks.ts';
import { permissionVerdict } from './permissions.ts';
import { pendingOf } from './state/approval-state.ts';
import type { RunState } from './state/run-state.ts';

// Tool phase: the gate that every call passes before it may start, whether a model, code, or a step of a program makes it.

/**
 * Calls that are made together, and what was found out about them where they were made: by the activity that asked the model or ran the
 * code, which also calls the functions of the user (hooks, guardrails, predicates), or by the step of a program.
 */
export type MadeCalls = Pick<RecordedResponse, 'content' | 'problems' | 'rewrites' | 'approvals' | 'hooks' | 'guardrails'>;

/** A call that asks to start. */
export interface AskedCall {
  call: ToolCall;
  made: MadeCalls;
  /** The place of the call in the record, `event/index`: the digest of its decision, if nothing else gives one. */
  place: string;
  /** The call is one of the attempt after the step limit. */
  final?: boolean;
  /** The calls are the last ones of the run. */
  isLast?: boolean;
  /** The limits have no room for the call. */
  hasNoRoom?: boolean;
}

/** A call that does not start, with the text for the model. */
export interface Denial {
  type: 'deny';
  reason: NotRun;
  text: string;
  /** Null for a call that was not looked at, because nothing could start. */
  durationMs: 0 | null;
}

/** The answer of one gate. Undefined lets the call pass as it is. */
type GateAnswer =
  | Denial
  /** The call waits for a decision. */
  | { type: 'ask'; requirement: ApprovalRequirement }
  /** The call runs with other arguments, which the gates after this one see. */
  | { type: 'change'; arguments: JsonObject }
  | undefined;

/** The answer of all gates: the call may start as it is here, after a decision if one is required. Without a tool it is an answer. */
export type GateVerdict = Denial | { type: 'pass'; call: ToolCall; tool: ToolSnapshot | undefined; requirement?: ApprovalRequirement };

interface GatedCall extends AskedCall {
  run: RunState;
  tool: ToolSnapshot | undefined;
}

/**
 * The gates in their order. The first denial counts; of several questions the last one counts, so that the one of the tool itself
 * replaces the one of the permissions. Limits come after all other denials, so that a denied call takes no room, and before the
 * question, so that nobody decides about a call that could not start. After an approval, with edited arguments or without, only the
 * permissions are asked again (`permissionVerdict`): they alone may have changed.
 */
const GATES = {
  /** The attempt after the step limit offers no tools. */
  attempt: ({ final }: GatedCall) => (final === true ? deny('not_started', INTERRUPTED_CALL, null) : undefined),
  /** Where the call was made, its caller, its arguments, a hook, or a guardrail was a reason against it, in this order. */
  review: ({ run, call, made }: GatedCall) => {
    const problem = problemOf(made, call);
    return problem === undefined ? undefined : deny(reasonOf(run, made, call), problem);
  },
  /** A hook has changed the arguments. */
  hooks: ({ call, made }: GatedCall) => {
    const args = rewrittenArguments(made, call.toolCallId);
    return args === undefined ? undefined : { type: 'change', arguments: args };
  },
  /** There is no such tool. */
  tools: ({ run, call, tool }: GatedCall) =>
    tool === undefined && !isFinalAnswer(run, call) ? deny('unknown', unknownTool(call.name)) : undefined,
  /** The active skills and the permissions of the run. */
  permissions: ({ run, call, tool }: GatedCall) => {
    const { denied, asked } = tool === undefined ? {} : permissionVerdict(run, tool, call.arguments);
    if (denied !== undefined) return deny('refused', denied);
    if (asked === undefined) return undefined;
    return { type: 'ask', requirement: { digest: callDigest(call.name, call.arguments), reason: asked } };
  },
  /** The call would hand the run over, and another one does so already, or the run ends. */
  handoffs: ({ run, call, tool, made, isLast = false }: GatedCall) => {
    const text = tool?.handoff ? withoutTransfer(run, { made, isLast }, call) : undefined;
    return text === undefined ? undefined : deny('not_started', text);
  },
  /** The tool is a schema alone. */
  execution: ({ call, tool }: GatedCall) => (tool?.notExecutable ? deny('not_started', notExecutable(call.name)) : undefined),
  /** The limits of tool calls. */
  limits: ({ hasNoRoom }: GatedCall) => (hasNoRoom === true ? deny('not_started', OVER_CALL_LIMIT, null) : undefined),
  /** The tool itself, its predicate, or a hook requires a decision. */
  approval: ({ run, call, tool, made, place }: GatedCall) => {
    const requirement = tool && ownRequirement(run, { call, tool, made, place });
    return requirement === undefined ? undefined : { type: 'ask', requirement };
  },
} satisfies Record<string, (call: GatedCall) => GateAnswer>;

/** The names of the gates, in their order. */
export type GateName = keyof typeof GATES;

const CHECKS: readonly ((call: GatedCall) => GateAnswer)[] = Object.values(GATES);

/**
 * Returns whether a call may start, by recorded data alone and without any effect: what would need an activity was found out where the
 * call was made. A predicate that was not asked there, or that would see other deps now, is the caller's to ask.
 */
export function gate(run: RunState, asked: AskedCall): GateVerdict {
  const tool = isFinalAnswer(run, asked.call) ? undefined : run.snapshot.tools.find(({ name }) => name === asked.call.name);
  let gated: GatedCall = { ...asked, run, tool };
  let requirement: ApprovalRequirement | undefined;
  for (const check of CHECKS) {
    const answer = check(gated);
    if (answer === undefined) continue;
    if (answer.type === 'deny') return answer;
    if (answer.type === 'ask') ({ requirement } = answer);
    else gated = { ...gated, call: { ...gated.call, arguments: answer.arguments } };
  }
  return { type: 'pass', call: gated.call, tool, ...defined({ requirement }) };
}

function deny(reason: NotRun, text: string, durationMs: 0 | null = 0): Denial {
  return { type: 'deny', reason, text, durationMs };
}

/** Returns the reason why a call with a problem does not run: a hook or a guardrail refused it, there is no such tool, or it is invalid. */
function reasonOf({ snapshot }: RunState, { hooks = [], guardrails }: MadeCalls, { toolCallId, name }: ToolCall): NotRun {
  if (hooks.some(({ callId, answer, denied }) => callId === toolCallId && (answer === 'deny' || denied))) return 'refused';
  if (refusalIn({ findings: guardrails?.findings.filter(({ callId }) => callId === toolCallId) ?? [] }) !== undefined) return 'refused';
  const isKnown = [FINAL_ANSWER, RUN_CODE, UNUSABLE_REPLY].includes(name) || snapshot.tools.some((tool) => tool.name === name);
  return isKnown ? 'invalid' : 'unknown';
}

/**
 * Returns the requirement of a decision. A call of a tool that always needs a decision needs one even if the review has recorded none.
 * So does a call whose predicate was called again in the previous execution, and that has waited since then or has been approved.
 */
function ownRequirement(
  { approvals }: RunState,
  { call: { toolCallId }, tool, made, place }: Pick<AskedCall, 'call' | 'made' | 'place'> & { tool: ToolSnapshot },
): ApprovalRequirement | undefined {
  if (made.approvals !== undefined && Object.hasOwn(made.approvals, toolCallId)) return made.approvals[toolCallId];
  const waiting = pendingOf(approvals, toolCallId);
  if (waiting?.kind === 'tool') return { digest: waiting.digest };
  const isApproved = approvals.approved.some(({ callId }) => callId === toolCallId);
  return isApproved || tool.approval?.when === 'always' ? { digest: place } : undefined;
}

/** True for the call that carries a structured answer. */
export function isFinalAnswer({ snapshot }: Pick<RunState, 'snapshot'>, { name }: ToolCall): boolean {
  return snapshot.output?.mode === 'final_answer' && name === FINAL_ANSWER;
}

/** Returns the reason why a call must not run that was found where it was made. Call ids come from models: only own properties count. */
export function problemOf({ problems }: Pick<MadeCalls, 'problems'>, { toolCallId }: ToolCall): string | undefined {
  return problems !== undefined && Object.hasOwn(problems, toolCallId) ? problems[toolCallId] : undefined;
}
