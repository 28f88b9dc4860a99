import type { ToolCall } from '../domain/content.ts';
import type { JsonObject } from '../domain/json.ts';
import { summaryText } from '../domain/summary-text.ts';
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

/** `search_web: Kipchoge marathon record`: the text of the arguments says more to a person than their names. */
export function toolSummary(name: string, args: JsonObject): string {
  const values = Object.values(args).map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  return summaryText(values.length === 0 ? name : `${name}: ${values.join(', ')}`);
}

/** `what became of pay (answer lost: its worker gave no answer): 5`. The reason comes first: arguments may fill a summary. */
export function verifySummary({ name, arguments: args }: Pick<ToolCall, 'name' | 'arguments'>, reason: string): string {
  return toolSummary(`what became of ${name} (answer lost: ${reason})`, args);
}
