import type { StepResult, ToolCallRecord } from '../domain/step.ts';
import { oneLine } from '../domain/text.ts';
import { type Output, printable } from './output.ts';

/** Bytes of arguments or of a result that a line shows; `--json` has all. */
const SHOWN_BYTES = 300;

/** A step for people: what the model thought, which tools it called, and what came back. */
export function stepLines(step: StepResult, output: Pick<Output, 'look'>): string[] {
  const facts = [step.finishReason, ...(step.usage === null ? [] : [`${step.usage.totalTokens} tokens`])];
  const title = `Step ${step.step}${step.final ? ' (final attempt)' : ''}`;
  return [
    `${output.look('bold', title)} ${output.look('dim', `· ${printable(facts.join(' · '))}`)}`,
    ...(step.thought === null ? [] : indented(printable(step.thought))),
    ...step.toolCalls.flatMap((call) => toolCallLines(call, output)),
  ];
}

function toolCallLines(call: ToolCallRecord, output: Pick<Output, 'look'>): string[] {
  const took = call.durationMs === null ? '' : output.look('dim', ` (${Math.round(call.durationMs)} ms)`);
  const result = shown(call.result);
  return [
    `  → ${output.look('cyan', printable(call.toolName))} ${shown(JSON.stringify(call.arguments))}`,
    `  ← ${call.isError ? output.look('red', `error: ${result}`) : result}${took}`,
  ];
}

/** The lines of a text, set off. */
export function indented(text: string): string[] {
  return text.split('\n').map((line) => `  ${line}`);
}

function shown(text: string): string {
  return printable(oneLine(text, SHOWN_BYTES));
}
