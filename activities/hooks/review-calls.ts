import type { AgentSnapshot, ToolSnapshot } from '../../src/core/domain/agent.ts';
import type { ApprovalRequirement } from '../../src/core/domain/approvals.ts';
import { defined } from '../../src/core/domain/defined.ts';
import { cellCode } from '../../src/core/domain/execution.ts';
import { isToolCall, type ToolCall } from '../../src/core/domain/content.ts';
import { FINAL_ANSWER, RUN_CODE } from '../../src/core/domain/tool-calls.ts';
import { blockedText, type GuardrailReport, refusalIn } from '../../src/core/domain/guardrails.ts';
import { CALL_EVENTS, deniedByHook, type HookEvent, type HookRecord, hooksFor } from '../../src/core/domain/hooks.ts';
import type { HookedCalls, ReviewedCalls } from '../../src/core/domain/activity-messages.ts';
import { BYTE_BUDGETS, jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { canonicalJson, isJsonObject, type JsonObject } from '../../src/core/domain/json.ts';
import type { RecordedResponse } from '../../src/core/domain/model.ts';
import { checkArguments } from '../../src/core/json-schema/read-by-schema.ts';
import { type DataView, QUERIES } from '../../src/core/protocol.ts';
import { approvalRequirements, callDigest, type PredicateScope } from '../approvals/approval-requirements.ts';
import { GuardrailModels, pinnedGuardrails, runGuardrails } from '../guardrails/run-guardrails.ts';
import { queryRun } from '../run-queries/query-run.ts';
import { type HookScope, runEventHooks } from './hooks.ts';

/**
 * Reviews the calls of one response of a model, or of one segment of code, before any of them starts: hooks first, those of one call
 * one after the other, the calls in parallel; rewritten arguments are checked like those of the model, and guardrails and
 * predicates of approval see the rewritten ones. Returns all problems and decisions, those before
 * included.
 */
export async function reviewCalls(scope: PredicateScope, { content, problems = {}, approvals }: HookedCalls): Promise<ReviewedCalls> {
  const review = new Review(problems);
  if (hooksFor(scope.snapshot, ...CALL_EVENTS).length > 0) {
    const calls = content.filter(isToolCall).filter((call) => !review.isRefused(call) && isTool(scope.snapshot, call.name));
    const verdicts = await Promise.all(calls.map((call) => reviewCall(scope, { ...call, arguments: shownArguments(content, call) })));
    for (const [index, call] of calls.entries()) review.add(call, verdicts[index]);
  }
  const rewritten = content.map((item) => (isToolCall(item) ? review.rewritten(item) : item));
  const checked = rewritten.filter(isToolCall).filter((call) => !review.isRefused(call) && isTool(scope.snapshot, call.name));
  const guardrails = await checkCalls(
    scope,
    checked.map((call) => ({ ...call, arguments: shownArguments(content, call) })),
  );
  for (const call of checked) review.block(call, guardrails);
  const asked = await approvalRequirements(scope, { content: rewritten, problems: Object.fromEntries(review.problems) });
  return {
    ...review.result(rewritten.filter(isToolCall), { asked, before: approvals }),
    ...defined({ guardrails }),
  };
}

/** True for a name that runs something: the answer of a run is no call, and an unknown tool is refused in any case. */
function isTool({ tools, code }: AgentSnapshot, name: string): boolean {
  return name !== FINAL_ANSWER && ((name === RUN_CODE && code !== undefined) || tools.some((tool) => tool.name === name));
}

/** Returns the arguments as hooks see them. A cell may be in the text of the response. */
function shownArguments(content: RecordedResponse['content'], call: ToolCall): ToolCall['arguments'] {
  return call.name === RUN_CODE ? { ...call.arguments, code: cellCode(content, call) ?? '' } : call.arguments;
}

/** The run whose calls are reviewed. */
interface ReviewScope extends HookScope {
  snapshot: AgentSnapshot;
}

/**
 * Calls the hooks about one call: those of the tool, then those of the agent that the call starts, or hands the run over to. Each
 * sees the arguments as those before have left them.
 */
async function reviewCall(scope: ReviewScope, call: ToolCall): Promise<CallVerdict> {
  const tool = scope.snapshot.tools.find(({ name }) => name === call.name);
  const verdict: CallVerdict = { records: [] };
  const injected: string[] = [];
  let args = call.arguments;
  for (const { on, about } of eventsOf(scope.snapshot, call, tool)) {
    const { result, changes, ...answers } = await runEventHooks(scope, {
      on,
      payload: { ...about(args), callId: call.toolCallId, arguments: args },
      callId: call.toolCallId,
      problemOf: (asked) => rewriteProblem(call.name, asked),
    });
    verdict.records.push(...answers.records);
    if (result.type === 'deny') return { records: verdict.records, problem: deniedByHook(call.name, result.text) };
    const rewritten = changes?.['arguments'];
    if (isJsonObject(rewritten)) {
      const checked = tool === undefined ? { args: rewritten } : checkArguments(tool, rewritten);
      if ('problem' in checked && checked.problem !== undefined)
        return { records: verdict.records, problem: `A hook rewrote the arguments. ${checked.problem}` };
      args = verdict.rewrite = checked.args;
    }
    injected.push(...answers.injected);
    if (answers.ask !== undefined) verdict.question ??= answers.ask.text;
  }
  return { ...verdict, ...(injected.length === 0 ? {} : { injection: injected.join('\n') }) };
}

/** An event that a call causes, with what is in its payload beside the call. */
interface CallEvent {
  on: HookEvent;
  about: (args: JsonObject) => JsonObject;
}

/** Returns the events that a call causes, in order. */
function eventsOf({ name: from }: AgentSnapshot, { name: toolName }: ToolCall, tool: ToolSnapshot | undefined): CallEvent[] {
  const { agent, handoff } = tool ?? {};
  return [
    { on: 'pre_tool_use', about: () => ({ toolName }) },
    ...(agent === undefined ? [] : [{ on: 'subagent_start' as const, about: () => ({ agent: agent.name }) }]),
    ...(handoff ? [{ on: 'handoff' as const, about: (args: JsonObject) => ({ from, agent: args['agent'] ?? '' }) }] : []),
  ];
}

/** Returns why a rewrite cannot be used. The arguments are recorded, and those of a cell are its code. */
function rewriteProblem(toolName: string, changes: JsonObject): string | undefined {
  const other = Object.keys(changes).find((key) => key !== 'arguments');
  if (other !== undefined) return `it changes "${other}": only "arguments" can be changed before a call`;
  if (!isJsonObject(changes['arguments'])) return 'it changes "arguments" to something else than an object';
  if (toolName === RUN_CODE) return 'code cannot be rewritten: deny the call, and say why';
  const bytes = jsonBytes(changes['arguments']);
  return bytes > BYTE_BUDGETS.decision ? `the arguments have ${bytes} bytes of JSON, over ${BYTE_BUDGETS.decision}` : undefined;
}

interface CallVerdict {
  /** The reason why the call must not run, for the model. */
  problem?: string;
  /** The arguments that it runs with. */
  rewrite?: JsonObject;
  /** Text that the model reads with its result. */
  injection?: string;
  /** The reason of the decision that it waits for. */
  question?: string;
  records: HookRecord[];
}

/** Bytes of JSON that the verdicts on one response may have: they are recorded beside it, in the same payload. */
const REVIEW_BYTES = 200_000;

/** The decisions that the calls of a response need. */
interface Decisions {
  asked: Record<string, ApprovalRequirement> | undefined;
  before: Record<string, ApprovalRequirement> | undefined;
}

/** The review of the calls of one response so far. Call ids come from models and may be `__proto__`: maps keep them apart from other keys. */
class Review {
  readonly problems: Map<string, string>;
  readonly #rewrites = new Map<string, JsonObject>();
  readonly #injections = new Map<string, string>();
  readonly #questions = new Map<string, string>();
  readonly #records: HookRecord[] = [];
  #bytes = 0;

  constructor(problems: Record<string, string>) {
    this.problems = new Map(Object.entries(problems));
  }

  isRefused({ toolCallId }: ToolCall): boolean {
    return this.problems.has(toolCallId);
  }

  /** Adds the verdict on a call. One that does not fit any more refuses the call. */
  add({ toolCallId: callId, name }: ToolCall, verdict: CallVerdict = { records: [] }): void {
    this.#bytes += jsonBytes(verdict);
    if (this.#bytes > REVIEW_BYTES) {
      this.problems.set(
        callId,
        `The hooks answered too much about the calls of this response: '${name}' was not called. Ask for fewer calls at once.`,
      );
      return;
    }
    const { problem, rewrite, injection, question, records } = verdict;
    this.#records.push(...records);
    if (problem !== undefined) {
      this.problems.set(callId, problem);
      return;
    }
    if (rewrite !== undefined) this.#rewrites.set(callId, rewrite);
    if (injection !== undefined) this.#injections.set(callId, injection);
    if (question !== undefined) this.#questions.set(callId, question);
  }

  /** Refuses a call that a guardrail has blocked. */
  block({ toolCallId: callId }: ToolCall, report: GuardrailReport = { findings: [] }): void {
    const refusal = refusalIn({ findings: report.findings.filter((finding) => finding.callId === callId) });
    if (refusal !== undefined) this.problems.set(callId, blockedText(refusal));
  }

  /** Returns a call with the arguments that it runs with. */
  rewritten(call: ToolCall): ToolCall {
    const args = this.#rewrites.get(call.toolCallId);
    return args === undefined ? call : { ...call, arguments: args };
  }

  /** Returns the whole review. `calls` are rewritten; `asked` are the decisions that their tools want, `before` those of an earlier review. */
  result(calls: readonly ToolCall[], { asked = {}, before = {} }: Decisions): ReviewedCalls {
    const approvals = new Map(Object.entries(asked));
    for (const call of calls.filter((one) => !this.isRefused(one))) {
      const id = call.toolCallId;
      const question = this.#questions.get(id);
      const earlier = Object.hasOwn(before, id) ? before[id] : undefined;
      const known = approvals.get(id) ?? (earlier && { ...earlier, digest: callDigest(call) });
      if (question === undefined && known === undefined) continue;
      const reason = [question, known?.reason].filter((text) => text !== undefined && text !== '').join(' ');
      approvals.set(id, { ...(known ?? { digest: callDigest(call) }), ...(reason === '' ? {} : { reason }) });
    }
    return {
      ...mapField('problems', this.problems),
      ...mapField('rewrites', this.#rewrites),
      ...mapField('injections', this.#injections),
      ...mapField('approvals', approvals),
      ...(this.#records.length === 0 ? {} : { hooks: this.#records }),
    };
  }
}

function mapField<Name extends string, Value>(name: Name, map: ReadonlyMap<string, Value>): { [Key in Name]?: Record<string, Value> } {
  return (map.size === 0 ? {} : { [name]: Object.fromEntries(map) }) as { [Key in Name]?: Record<string, Value> };
}

/**
 * Checks calls with the guardrails of the run for calls, all at once. Undefined if all pass without a cost. Throws `unknown_guardrail` if
 * this worker lacks one.
 */
async function checkCalls(
  { runtime, run, snapshot, signal, data = () => queryRun<DataView>(run, QUERIES.data, null) }: PredicateScope,
  calls: readonly ToolCall[],
): Promise<GuardrailReport | undefined> {
  const guardrails = pinnedGuardrails(runtime, snapshot, 'tool_call');
  if (guardrails.length === 0 || calls.length === 0) return undefined;
  const models = new GuardrailModels(runtime, snapshot);
  const scope = { runtime, run, snapshot, signal, models, data: await data(), resources: await runtime.resourcePool.use() };
  const findings = await Promise.all(
    calls.map(({ toolCallId: id, name, arguments: args }) =>
      runGuardrails(scope, guardrails, { type: 'tool_call', call: { id, name, arguments: args }, text: canonicalJson(args) }),
    ),
  );
  const { spent } = models;
  if (findings.flat().length === 0 && spent === undefined) return undefined;
  return { findings: findings.flat(), ...defined({ spent }) };
}
