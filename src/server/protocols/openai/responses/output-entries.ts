import { type Event, isResponse } from '../../../../core/domain/record.ts';
import { canonicalJson, type JsonValue } from '../../../../core/domain/json.ts';
import { outputText } from '../../../../core/domain/content.ts';
import { FINAL_ANSWER, resultText, RUN_CODE } from '../../../../core/domain/tool-calls.ts';

/** A part of the record that the output of a response shows. */
export type OutputEntry =
  /**
   * The words of the model. `mayBeAnswer`: it has called nothing, so they may be the answer. `isGuarded`: nothing of it is shown before
   * guardrails have passed it.
   */
  | { type: 'message'; eventId: string; text: string; mayBeAnswer: boolean; isInterrupted: boolean; isGuarded: boolean }
  | { type: 'call'; callId: string; name: string; arguments: string }
  | { type: 'result'; callId: string; output: string; isError: boolean }
  /** The conversation goes on: what the model has said before was not the answer. */
  | { type: 'input' };

/** Returns the parts of the output in an event. The calls that code makes are not for the model, and so not for its caller. */
export function entriesOf(event: Event): OutputEntry[] {
  if (event.given || event.caller === 'code' || event.compaction !== undefined || event.memory !== undefined) return [];
  const isOfModel = isResponse(event);
  const isGuarded = event.guarded === true;
  const calls = event.content.some((item) => item.type === 'tool_call' && !(isGuarded && mayGiveAnswer(item.name)));
  return event.content.flatMap((item): OutputEntry[] => {
    switch (item.type) {
      case 'message': {
        if (item.role !== 'assistant') return item.role === 'user' ? [{ type: 'input' }] : [];
        const text = outputText(item.content);
        const isInterrupted = event.interrupted === true;
        // No guardrail passes the part of an answer that had arrived.
        if (!isOfModel || text === '' || (isGuarded && isInterrupted)) return [];
        return [{ type: 'message', eventId: event.id, text, mayBeAnswer: !calls && !isInterrupted, isInterrupted, isGuarded }];
      }
      case 'tool_call':
        if (item.name === FINAL_ANSWER || (isGuarded && mayGiveAnswer(item.name)) || !isOfModel) return [];
        return [{ type: 'call', callId: item.toolCallId, name: item.name, arguments: JSON.stringify(item.arguments) }];
      case 'tool_result':
        if (item.name === FINAL_ANSWER) return [];
        return [{ type: 'result', callId: item.toolCallId, output: resultText(item.content), isError: item.status === 'error' }];
    }
  });
}

/** True for a call that may hold the answer: code may return it. */
function mayGiveAnswer(name: string): boolean {
  return name === FINAL_ANSWER || name === RUN_CODE;
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
