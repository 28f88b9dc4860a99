import { isResponse } from '../../../../core/domain/record/run-record.ts';
import { canonicalJson, type JsonValue } from '../../../../core/domain/json/json.ts';
import { outputText } from '../../../../core/domain/content/output-text.ts';
import { FINAL_ANSWER, resultText } from '../../../../core/domain/content/tool-text.ts';
import type { Event } from '../../../../core/domain/record/event.ts';

/** A part of the record that the output of a response shows. */
export type OutputEntry =
  /** The words of the model. `mayBeAnswer`: it has called nothing, so they may be the answer. */
  | { type: 'message'; eventId: string; text: string; mayBeAnswer: boolean; isInterrupted: boolean }
  | { type: 'call'; callId: string; name: string; arguments: string }
  | { type: 'result'; callId: string; output: string; isError: boolean }
  /** The conversation goes on: what the model has said before was not the answer. */
  | { type: 'input' };

/** Returns the parts of the output in an event. The calls that code makes are not for the model, and so not for its caller. */
export function entriesOf(event: Event): OutputEntry[] {
  if (event.given || event.caller === 'code' || event.compaction !== undefined || event.memory !== undefined) return [];
  const isOfModel = isResponse(event);
  const calls = event.content.some(({ type }) => type === 'tool_call');
  return event.content.flatMap((item): OutputEntry[] => {
    switch (item.type) {
      case 'message': {
        if (item.role !== 'assistant') return item.role === 'user' ? [{ type: 'input' }] : [];
        const text = outputText(item.content);
        const isInterrupted = event.interrupted === true;
        if (!isOfModel || text === '') return [];
        return [{ type: 'message', eventId: event.id, text, mayBeAnswer: !calls && !isInterrupted, isInterrupted }];
      }
      case 'tool_call':
        if (item.name === FINAL_ANSWER || !isOfModel) return [];
        return [{ type: 'call', callId: item.toolCallId, name: item.name, arguments: JSON.stringify(item.arguments) }];
      case 'tool_result':
        if (item.name === FINAL_ANSWER) return [];
        return [{ type: 'result', callId: item.toolCallId, output: resultText(item.content), isError: item.status === 'error' }];
    }
  });
}

/** True if a text of the model is the output of its run: as it stands, or as the JSON of a value. */
export function isOutput(text: string, output: unknown): boolean {
  if (outputText(output) === text) return true;
  if (typeof output === 'string' || output === null || output === undefined) return false;
  try {
    return canonicalJson(JSON.parse(text) as JsonValue) === canonicalJson(JSON.parse(JSON.stringify(output)) as JsonValue);
  } catch {
    return false;
  }
}
