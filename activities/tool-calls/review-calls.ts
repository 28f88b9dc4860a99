import type { AgentSnapshot } from '../../src/core/domain/agent.ts';
import type { ApprovalRequirement } from '../../src/core/domain/approvals.ts';
import { jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { cellCode } from '../../src/core/domain/execution.ts';
import { isToolCall, type ToolCall } from '../../src/core/domain/content.ts';
import { FINAL_ANSWER, RUN_CODE } from '../../src/core/domain/tool-calls.ts';
import type { ReviewedCalls } from '../../src/core/domain/activity-messages.ts';
import { canonicalJson, type JsonObject } from '../../src/core/domain/json.ts';
import type { RecordedResponse } from '../../src/core/domain/model.ts';
import { WORKER_PARTS } from '../all-parts.ts';
import { approvalRequirements, callDigest } from '../approvals/approvals.ts';
import type { CallVerdict, ReviewScope } from '../worker-part.ts';
import { parsedArguments, problemInOwnWords } from './parse-arguments.ts';

/** The maximum bytes of JSON of the parsed arguments of one response: they are recorded in addition to the arguments as written. */
const PARSED_BYTES = 400_000;

/**
 * Reviews the calls of one model response, or of one segment of code, before any of them starts. Each capability in order sees the calls
 * that earlier ones have not refused, with the arguments as changed so far; then the approval predicates are asked. All of them see the
 * arguments that the tool runs with: as parsed by its schema, also after a change. Returns all problems and decisions, including earlier
 * ones.
 */
export async function reviewCalls(
  scope: ReviewScope,
  { content, problems = {}, approvals }: Pick<RecordedResponse, 'content' | 'problems' | 'approvals'>,
): Promise<ReviewedCalls> {
  const review = new Review(problems);
  const calls = content.filter(isToolCall).filter(({ name }) => isTool(scope.snapshot, name));
  const records: Partial<ReviewedCalls> = {};
  // A separate review gets the arguments that the first one has parsed.
  if (!scope.isSeparate) {
    await Promise.all(calls.map((call) => tellInOwnWords(scope, review, call)));
    await parseCalls(scope, review, calls);
  }
  for (const part of WORKER_PARTS) {
    if (part.review === undefined) continue;
    const open = calls.filter((call) => !review.isRefused(call)).map((call) => review.rewritten(call));
    const shown = open.map((call) => ({ ...call, arguments: shownArguments(content, call) }));
    const pending = part.review(scope, shown);
    const reviewed = pending === undefined ? undefined : await pending;
    if (reviewed === undefined) continue;
    for (const [callId, verdict] of reviewed.verdicts) review.add(callId, verdict);
    const changed = calls.filter(({ toolCallId }) => reviewed.verdicts.get(toolCallId)?.rewrite !== undefined);
    if (changed.length > 0) await parseCalls(scope, review, changed);
    Object.assign(records, reviewed.record);
  }
  const rewritten = content.map((item) => (isToolCall(item) ? review.rewritten(item) : item));
  const asked = await approvalRequirements(scope, { content: rewritten, problems: Object.fromEntries(review.problems) });
  return { ...review.result(rewritten.filter(isToolCall), { asked, before: approvals }), ...records };
}

/** Puts the words of a tool's author in place of those of the check of its JSON Schema. */
async function tellInOwnWords({ runtime, snapshot }: ReviewScope, review: Review, call: ToolCall): Promise<void> {
  const problem = review.problems.get(call.toolCallId);
  if (problem !== undefined) review.problems.set(call.toolCallId, await problemInOwnWords(runtime, snapshot, call, problem));
}

/** Replaces the arguments of calls by those that their tools run with. A call has a problem if its schema refuses them. */
async function parseCalls(scope: ReviewScope, review: Review, calls: readonly ToolCall[]): Promise<void> {
  const { runtime, snapshot } = scope;
  const open = calls
    .filter((call) => !review.isRefused(call) && changesArguments(snapshot, call.name))
    .map((call) => review.rewritten(call));
  if (open.length === 0) return;
  const parsed = await Promise.all(open.map(async ({ name, arguments: args }) => parsedArguments(runtime, snapshot, name, args)));
  let bytes = 0;
  for (const [index, call] of open.entries()) {
    const { args = call.arguments, problem } = parsed[index] ?? {};
    const isChanged = canonicalJson(args) !== canonicalJson(call.arguments);
    if (isChanged) bytes += jsonBytes(args);
    if (problem !== undefined) review.add(call.toolCallId, { problem });
    else if (bytes > PARSED_BYTES) review.add(call.toolCallId, { problem: tooManyBytes(call.name) });
    else if (isChanged) review.add(call.toolCallId, { rewrite: args });
  }
}

function tooManyBytes(name: string): string {
  return `The arguments of the calls of this response are too long together: '${name}' was not called. Ask for fewer calls at once.`;
}

function changesArguments({ tools }: AgentSnapshot, name: string): boolean {
  return tools.some((tool) => tool.name === name && tool.changesArguments);
}

/** True for a name that runs something: a final answer is not a call, and an unknown tool is refused anyway. */
function isTool({ tools, code }: AgentSnapshot, name: string): boolean {
  return name !== FINAL_ANSWER && ((name === RUN_CODE && code !== undefined) || tools.some((tool) => tool.name === name));
}

/** Returns the arguments for capabilities. A cell's code may be in the text of the response. */
function shownArguments(content: RecordedResponse['content'], call: ToolCall): ToolCall['arguments'] {
  return call.name === RUN_CODE ? { ...call.arguments, code: cellCode(content, call) ?? '' } : call.arguments;
}

/** The decisions that a response's calls need. */
interface Decisions {
  asked: Record<string, ApprovalRequirement> | undefined;
  before: Record<string, ApprovalRequirement> | undefined;
}

/** The review of the calls of one response so far. Call ids come from models and may be `__proto__`: so they are kept in maps. */
class Review {
  readonly problems: Map<string, string>;
  readonly #rewrites = new Map<string, JsonObject>();
  readonly #injections = new Map<string, string>();
  readonly #questions = new Map<string, string>();

  constructor(problems: Record<string, string>) {
    this.problems = new Map(Object.entries(problems));
  }

  isRefused({ toolCallId }: ToolCall): boolean {
    return this.problems.has(toolCallId);
  }

  /** Adds the verdict of a capability on a call. */
  add(callId: string, { problem, rewrite, injection, question }: CallVerdict): void {
    if (problem !== undefined) {
      this.problems.set(callId, problem);
      return;
    }
    if (rewrite !== undefined) this.#rewrites.set(callId, rewrite);
    if (injection !== undefined) this.#injections.set(callId, injection);
    if (question !== undefined) this.#questions.set(callId, question);
  }

  /** Returns a call with its final arguments. */
  rewritten(call: ToolCall): ToolCall {
    const args = this.#rewrites.get(call.toolCallId);
    return args === undefined ? call : { ...call, arguments: args };
  }

  /**
   * Returns the whole review. `calls` are rewritten; `asked`: the decisions that their tools require, `before`: the decisions of an earlier
   * review.
   */
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
    };
  }
}

function mapField<Name extends string, Value>(name: Name, map: ReadonlyMap<string, Value>): { [Key in Name]?: Record<string, Value> } {
  return (map.size === 0 ? {} : { [name]: Object.fromEntries(map) }) as { [Key in Name]?: Record<string, Value> };
}
