import type { ToolSnapshot } from '../domain/agent.ts';
import type { ApprovalRequirement } from '../domain/approvals.ts';
import type { ToolCall } from '../domain/content.ts';
import { defined } from '../domain/defined.ts';
import type { JsonObject } from '../domain/json.ts';
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
import { type AskedCall, type Denial, deny, type Gate, type GatedCall, type MadeCalls } from './capability.ts';
import { points } from './points.ts';
import { pendingOf, type RunState } from './run-state.ts';

// Tool phase: the gate that every call passes before it may start, whether a model, code, or a step of a program makes it.

/** The answer of all gates: the call may start as it is here, after a decision if one is required. Without a tool it is an answer. */
export type GateVerdict = Denial | { type: 'pass'; call: ToolCall; tool: ToolSnapshot | undefined; requirement?: ApprovalRequirement };

/** A gate of the loop itself, or a place for those of capabilities. */
type Place = Pick<Gate, 'name' | 'check'> | Gate['place'];

/**
 * The gates in their order. The first denial counts; of several questions the last one counts, so that the one of the tool itself
 * replaces the one of a rule. Limits come after all other denials, so that a denied call takes no room, and before the question, so that
 * nobody decides about a call that could not start. After an approval, with edited arguments or without, only the rules are asked again
 * that may have changed (`deniedAgain`).
 */
const ORDER: readonly Place[] = [
  /** The attempt after the step limit offers no tools. */
  { name: 'attempt', check: ({ final }) => (final === true ? deny('not_started', INTERRUPTED_CALL, null) : undefined) },
  /** Where the call was made, its caller, its arguments, or a function of the user was a reason against it, in this order. */
  {
    name: 'review',
    check: ({ run, call, made }) => {
      const problem = problemOf(made, call);
      return problem === undefined ? undefined : deny(reasonOf(run, made, call), problem);
    },
  },
  'arguments',
  /** There is no such tool. */
  {
    name: 'tools',
    check: ({ run, call, tool }) => (tool === undefined && !isFinalAnswer(run, call) ? deny('unknown', unknownTool(call.name)) : undefined),
  },
  'rules',
  /** The tool is a schema alone. */
  { name: 'execution', check: ({ call, tool }) => (tool?.notExecutable ? deny('not_started', notExecutable(call.name)) : undefined) },
  /** The limits of tool calls. */
  { name: 'limits', check: ({ hasNoRoom }) => (hasNoRoom === true ? deny('not_started', OVER_CALL_LIMIT, null) : undefined) },
  /** The tool itself, its predicate, or a function of the user requires a decision. */
  {
    name: 'approval',
    check: ({ run, call, tool, made, place }) => {
      const requirement = tool && ownRequirement(run, { call, tool, made, place });
      return requirement === undefined ? undefined : { type: 'ask', requirement };
    },
  },
];

/** All gates in their order, once the capabilities are composed. */
let ordered: readonly Pick<Gate, 'name' | 'check'>[] | undefined;

/** Returns all gates in their order. */
export function gatesInOrder(): readonly Pick<Gate, 'name' | 'check'>[] {
  return (ordered ??= ORDER.flatMap((place) =>
    typeof place === 'string' ? points.gates().filter((one) => one.place === place) : [place],
  ));
}

/**
 * Returns whether a call may start, by recorded data alone and without any effect: what would need an activity was found out where the
 * call was made. A predicate that was not asked there, or that would see other deps now, is the caller's to ask.
 */
export function gate(run: RunState, asked: AskedCall): GateVerdict {
  const tool = isFinalAnswer(run, asked.call) ? undefined : run.snapshot.tools.find(({ name }) => name === asked.call.name);
  let gated: GatedCall = { ...asked, run, tool };
  let requirement: ApprovalRequirement | undefined;
  for (const one of gatesInOrder()) {
    const answer = one.check(gated);
    if (answer === undefined) continue;
    if (answer.type === 'deny') return answer;
    if (answer.type === 'ask') ({ requirement } = answer);
    else gated = { ...gated, call: { ...gated.call, arguments: answer.arguments } };
  }
  return { type: 'pass', call: gated.call, tool, ...defined({ requirement }) };
}

/** Returns the text for the model about an approved call that must not start any more; undefined if it may. */
export function deniedAgain(run: RunState, asked: AskedCall): string | undefined {
  const tool = run.snapshot.tools.find(({ name }) => name === asked.call.name);
  if (tool === undefined) return undefined;
  for (const one of points.gates()) {
    const answer = one.again ? one.check({ ...asked, run, tool }) : undefined;
    if (answer?.type === 'deny') return answer.text;
  }
  return undefined;
}

// Tool phase: the arguments that a gate has changed.

/** Returns the arguments that a call of the present response runs with instead of those of the model. Call ids come from models: only own properties count. */
export function rewrittenArguments({ rewrites }: Rewritten, callId: string): JsonObject | undefined {
  return rewrites !== undefined && Object.hasOwn(rewrites, callId) ? rewrites[callId] : undefined;
}

/** Returns the call with the arguments that it runs with, unless an approver edits them. */
export function asRewritten(rewritten: Rewritten, call: ToolCall): ToolCall {
  const args = rewrittenArguments(rewritten, call.toolCallId);
  return args === undefined ? call : { ...call, arguments: args };
}

/** Keeps the rewritten arguments of a response while its calls run: approvers and activities ask the run for them. */
export function noteRewrites(state: RunState, { rewrites }: Rewritten): void {
  if (rewrites === undefined) delete state.rewrites;
  else state.rewrites = rewrites;
}

type Rewritten = Pick<RunState, 'rewrites'>;

// Tool phase: what was found out about a call where it was made.

/** Returns the reason why a call with a problem does not run: it was refused, there is no such tool, or it is invalid. */
function reasonOf({ snapshot }: RunState, made: MadeCalls, call: ToolCall): NotRun {
  if (points.refuses(made, call)) return 'refused';
  const isKnown = [FINAL_ANSWER, RUN_CODE, UNUSABLE_REPLY].includes(call.name) || snapshot.tools.some(({ name }) => name === call.name);
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
