import type { ToolCall } from '../domain/content/content.ts';
import type { JsonObject } from '../domain/json/json.ts';
import { summaryText } from '../domain/content/summary-text.ts';
import { oneLine } from '../domain/content/text.ts';
import type { ModelCall } from '../loop/ports.ts';

/** `step 2 · gpt-x · 3 messages new`. */
export function modelSummary(call: ModelCall, model: string): string {
  const what = call.newEvents === 1 ? '1 message new' : `${call.newEvents} messages new`;
  return summaryText(`step ${call.step}${call.final ? ' (final)' : ''} · ${model.slice(model.indexOf('/') + 1)} · ${what}`);
}

/** `compaction · gpt-x · 34 events summarised`. */
export function summaryOfSummary(events: number, model: string): string {
  return summaryText(`compaction · ${model.slice(model.indexOf('/') + 1)} · ${events} events summarised`);
}

/** Bytes of a thought, and of the arguments beside it: the rest is in the answer of the model, and in the call. */
const THOUGHT_BYTES = 80;
const ARGUMENTS_BYTES = 120;

/**
 * What a tool is called with and why, where the model said so: `Kipchoge marathon record · I need his pace first.` The
 * name is not in it: the activity bears it. Undefined where there is nothing to say.
 */
export function callSummary(args: JsonObject, thought: string | null): string | undefined {
  const why = thought === null ? '' : oneLine(thought.trimStart().slice(0, 4 * THOUGHT_BYTES), THOUGHT_BYTES);
  const what = why === '' ? argumentsText(args) : oneLine(argumentsText(args), ARGUMENTS_BYTES);
  const parts = [what, why].filter((part) => part !== '');
  return parts.length === 0 ? undefined : summaryText(parts.join(' · '));
}

/** `what became of pay: 42`: about a call, by an activity that bears another name. */
export function aboutCall(subject: string, args: JsonObject): string {
  const what = argumentsText(args);
  return summaryText(what === '' ? subject : `${subject}: ${what}`);
}

/** The text of the arguments says more to a person than their names. */
function argumentsText(args: JsonObject): string {
  return Object.values(args)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    .join(', ');
}

/** `what became of pay (answer lost: its worker gave no answer): 5`. The reason comes first: arguments may fill a summary. */
export function verifySummary({ name, arguments: args }: Pick<ToolCall, 'name' | 'arguments'>, reason: string): string {
  return aboutCall(`what became of ${name} (answer lost: ${reason})`, args);
}
