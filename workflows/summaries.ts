import type { JsonObject } from '../src/domain/json.ts';
import { oneLine } from '../src/domain/text.ts';
import type { ModelCall } from '../src/loop/ports.ts';

/** The server takes 400 bytes of payload for a summary, and the JSON around the text is part of it. */
const SUMMARY_BYTES = 360;

/** `step 2 · gpt-x · 3 messages new`. */
export function modelSummary(call: ModelCall, model: string): string {
  const what = call.newEvents === 1 ? '1 message new' : `${call.newEvents} messages new`;
  return fit(`step ${call.step}${call.final ? ' (final)' : ''} · ${model.slice(model.indexOf('/') + 1)} · ${what}`);
}

/** `compaction · gpt-x · 34 events summarised`. */
export function summaryOfSummary(events: number, model: string): string {
  return fit(`compaction · ${model.slice(model.indexOf('/') + 1)} · ${events} events summarised`);
}

/** `search_web: Kipchoge marathon record`: the text of the arguments says more to a person than their names. */
export function toolSummary(name: string, args: JsonObject): string {
  const values = Object.values(args).map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  return fit(values.length === 0 ? name : `${name}: ${values.join(', ')}`);
}

/** Quotes and control characters grow when the text becomes JSON, so the limit is applied to that form. */
function fit(text: string): string {
  let limit = SUMMARY_BYTES;
  let line = oneLine(text, limit);
  while (JSON.stringify(line).length > SUMMARY_BYTES && limit > 40) {
    limit = Math.floor(limit * 0.8);
    line = oneLine(text, limit);
  }
  return line;
}
