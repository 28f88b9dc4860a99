import type { ToolCall } from '../domain/content/content.ts';
import type { JsonObject } from '../domain/json/json.ts';
import { summaryText } from '../domain/content/summary-text.ts';
import { oneLine } from '../domain/content/text.ts';
import type { ModelCall } from '../loop/ports.ts';

/** Returns the summary of a model call: `step 2 · gpt-x · 3 messages new`. */
export function modelSummary(call: ModelCall, model: string): string {
  const messages = call.newEvents === 1 ? '1 message new' : `${call.newEvents} messages new`;
  return summaryText(`step ${call.step}${call.final ? ' (final)' : ''} · ${model.slice(model.indexOf('/') + 1)} · ${messages}`);
}

/** Returns the summary of a compaction: `compaction · gpt-x · 34 events summarised`. */
export function compactionSummary(events: number, model: string): string {
  return summaryText(`compaction · ${model.slice(model.indexOf('/') + 1)} · ${events} events summarised`);
}

/** The most bytes of a thought, and of the arguments beside it. The model's answer and the call have the whole. */
const THOUGHT_BYTES = 80;
const ARGUMENTS_BYTES = 120;

/**
 * Returns the summary of a tool call, with the label of the tool, the arguments and the model's thought: `Refund · 42 · It arrived broken.`
 * The name of the tool is that of the activity, and is not repeated. Undefined if there is none of the three.
 */
export function callSummary(args: JsonObject, thought: string | null, label = ''): string | undefined {
  const reason = thought === null ? '' : oneLine(thought.trimStart().slice(0, 4 * THOUGHT_BYTES), THOUGHT_BYTES);
  const values = reason === '' ? argumentsText(args) : oneLine(argumentsText(args), ARGUMENTS_BYTES);
  const parts = [label, values, reason].filter((part) => part !== '');
  return parts.length === 0 ? undefined : summaryText(parts.join(' · '));
}

/** Returns the summary of another activity that is about a call: `does pay need a decision: 42`. */
export function aboutCall(subject: string, args: JsonObject): string {
  const values = argumentsText(args);
  return summaryText(values === '' ? subject : `${subject}: ${values}`);
}

/** Joins the values of the arguments, which tell a person more than their names. */
function argumentsText(args: JsonObject): string {
  return Object.values(args)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    .join(', ');
}

/**
 * Returns the summary of a verification: `what became of pay (answer lost: its worker gave no answer): 5`. The reason comes first,
 * because arguments may fill a summary.
 */
export function verifySummary({ name, arguments: args }: Pick<ToolCall, 'name' | 'arguments'>, reason: string): string {
  return aboutCall(`what became of ${name} (answer lost: ${reason})`, args);
}
