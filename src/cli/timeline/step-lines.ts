import { decider, type Decision } from '../../core/domain/approvals/approval.ts';
import type { StepResult, ToolCallRecord } from '../../core/domain/record/step.ts';
import { verifiedText } from '../../core/domain/content/tool-text.ts';
import { oneLine } from '../../core/domain/content/text.ts';
import { decisionText } from '../render/decision-text.ts';
import { printable, printableLine } from '../../core/domain/content/printable.ts';
import type { Output } from '../output.ts';

/** Bytes of arguments or of a result that a line shows; `--json` has all. */
const SHOWN_BYTES = 300;

/** What is known of a step beside itself. */
export interface StepSurroundings {
  /** What was decided about its calls. */
  decisions?: readonly Decision[];
  /** Of a step that is not complete: ids of calls that have no result yet. */
  unanswered?: readonly string[];
  /** Ids of calls that wait for a decision. */
  waiting?: ReadonlySet<string>;
}

/** A step for people: what the model thought, which tools it called, what was decided about the calls, and what came back. */
export function stepLines(step: StepResult, output: Pick<Output, 'look'>, around: StepSurroundings = {}): string[] {
  const finished = around.unanswered === undefined ? step.finishReason : 'not complete yet';
  const facts = [finished, ...(step.usage === null ? [] : [`${step.usage.totalTokens} tokens`])];
  const title = `Step ${step.step}${step.final ? ' (final attempt)' : ''}`;
  return [
    `${output.look('bold', title)} ${output.look('dim', `· ${printable(facts.join(' · '))}`)}`,
    ...(step.thought === null ? [] : indented(printable(step.thought))),
    ...step.toolCalls.flatMap((call) => [
      `  → ${output.look('cyan', printable(call.toolName))} ${shown(JSON.stringify(call.arguments))}`,
      ...(around.decisions ?? []).filter(({ callId }) => callId === call.callId).map((decision) => decisionLine(decision, output)),
      outcomeLine(call, output, around),
      ...verifiedLines(call, output),
    ]),
  ];
}

function decisionLine(decision: Decision, output: Pick<Output, 'look'>): string {
  const text = shown(decisionText(decision, `by ${decider(decision)}`));
  return decision.type === 'reject' ? `  ✗ ${output.look('red', text)}` : `  ✓ ${output.look('green', text)}`;
}

function outcomeLine(call: ToolCallRecord, output: Pick<Output, 'look'>, { unanswered = [], waiting }: StepSurroundings): string {
  if (waiting?.has(call.callId)) return `  … ${output.look('yellow', 'waits for a decision')}`;
  if (unanswered.includes(call.callId)) return `  … ${output.look('dim', 'no result yet')}`;
  const took = call.durationMs === null ? '' : output.look('dim', ` (${Math.round(call.durationMs)} ms)`);
  const result = shown(call.result);
  return `  ← ${call.isError ? output.look('red', `error: ${result}`) : result}${took}`;
}

/** How the outcome of a call is known whose answer was lost. */
function verifiedLines({ verified }: ToolCallRecord, output: Pick<Output, 'look'>): string[] {
  if (verified === undefined) return [];
  return [`  ✓ ${output.look('yellow', shown(verifiedText(verified)))}`];
}

/** The lines of a text, set off. */
export function indented(text: string): string[] {
  return text.split('\n').map((line) => `  ${line}`);
}

function shown(text: string): string {
  return printableLine(oneLine(text, SHOWN_BYTES));
}
