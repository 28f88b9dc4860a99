import type { ToolCall } from '../../src/core/domain/content/content.ts';
import type { ApprovalRequirement } from '../../src/core/domain/approvals/approval.ts';
import type { ReviewedCalls } from '../../src/core/domain/hooks/hook-messages.ts';
import { blockedText, type GuardrailReport, refusalIn } from '../../src/core/domain/guardrails/guardrail.ts';
import type { HookRecord } from '../../src/core/domain/hooks/hook-record.ts';
import type { JsonObject } from '../../src/core/domain/json/json.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import { callDigest } from '../model-calls/approval-requirements.ts';

/** The verdict on one call. */
export interface CallVerdict {
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
export class Review {
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
      ...field('problems', this.problems),
      ...field('rewrites', this.#rewrites),
      ...field('injections', this.#injections),
      ...field('approvals', approvals),
      ...(this.#records.length === 0 ? {} : { hooks: this.#records }),
    };
  }
}

function field<Name extends string, Value>(name: Name, map: ReadonlyMap<string, Value>): { [Key in Name]?: Record<string, Value> } {
  return (map.size === 0 ? {} : { [name]: Object.fromEntries(map) }) as { [Key in Name]?: Record<string, Value> };
}
