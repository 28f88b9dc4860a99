import type { Ending, Minted, Said } from './answer.ts';
import { event } from './chat-stream.ts';

/** What an answer of the Responses API is made with. */
export interface ResponsesMaking {
  model: string;
  minted: Minted;
  /** Counts the calls of the cell. */
  nextCall: () => number;
}

type Item = Record<string, unknown>;

/** Returns the events of an answer of the Responses API. */
export function responsesBody(said: Said, { model, minted, nextCall }: ResponsesMaking): string {
  const id = `resp_${minted.signature}`;
  const ending = said.ending ?? 'stop';
  const cut = isCut(ending);
  const items = itemsOf(said, minted, nextCall);
  const response = { id, object: 'response', created_at: 1_764_000_000, model, status: 'in_progress', output: [] as Item[] };
  const events: Item[] = [{ type: 'response.created', response }, ...items.flatMap(eventsOf)];
  // The protocol has no answer without an end: a stream that stops before it is cut.
  if (ending !== 'none') {
    const usage = said.dialect?.usage === 'absent' ? {} : { usage: { input_tokens: 40, output_tokens: 12, total_tokens: 52 } };
    const ended = { ...response, status: cut === undefined ? 'completed' : 'incomplete', output: items, ...usage };
    const details = cut === undefined ? {} : { incomplete_details: { reason: cut } };
    events.push({ type: cut === undefined ? 'response.completed' : 'response.incomplete', response: { ...ended, ...details } });
  }
  if (said.dialect?.whole === true) {
    const last = events.at(-1)?.['response'];
    return JSON.stringify(last ?? response);
  }
  return events.map((one, sequence) => `event: ${String(one['type'])}\n${event({ ...one, sequence_number: sequence })}`).join('');
}

/** Returns the events of a response that fails after its text. */
export function failedResponse(text: string | undefined, error: Item, model: string): string {
  const response = { id: 'resp_failed', object: 'response', model, status: 'failed', output: [], error };
  const events: Item[] = [
    { type: 'response.created', response: { ...response, status: 'in_progress', error: null } },
    ...(text === undefined ? [] : [{ type: 'response.output_text.delta', item_id: 'msg_1', delta: text }]),
    { type: 'response.failed', response },
  ];
  return events.map((one) => `event: ${String(one['type'])}\n${event(one)}`).join('');
}

function isCut(ending: Ending): string | undefined {
  if (ending === 'length') return 'max_output_tokens';
  return ending === 'filtered' ? 'content_filter' : undefined;
}

function itemsOf(said: Said, { thought, signature }: Minted, nextCall: () => number): Item[] {
  const { text, refusal, calls = [], reasoning } = said;
  const parts = [
    ...(text === undefined ? [] : [{ type: 'output_text', text, annotations: [] }]),
    ...(refusal === undefined ? [] : [{ type: 'refusal', refusal }]),
  ];
  const summary = [{ type: 'summary_text', text: reasoning ?? thought }];
  return [
    { id: `rs_${signature}`, type: 'reasoning', summary, encrypted_content: signature },
    ...(parts.length === 0 ? [] : [{ id: `msg_${signature}`, type: 'message', role: 'assistant', status: 'completed', content: parts }]),
    ...calls.map(({ name, arguments: args, id }) => {
      const n = nextCall();
      const whole = typeof args === 'string' ? args : JSON.stringify(args);
      return { id: `fc_${n}`, type: 'function_call', status: 'completed', call_id: id ?? `call_${n}`, name, arguments: whole };
    }),
  ];
}

function eventsOf(item: Item, output_index: number): Item[] {
  const at = { output_index, item_id: item['id'] };
  const middle: Item[] = [];
  if (item['type'] === 'function_call') {
    const text = String(item['arguments']);
    for (const delta of [text.slice(0, text.length / 2), text.slice(text.length / 2)]) {
      middle.push({ type: 'response.function_call_arguments.delta', ...at, delta });
    }
    middle.push({ type: 'response.function_call_arguments.done', ...at, arguments: text });
  }
  const content: unknown = item['content'];
  for (const part of Array.isArray(content) ? (content as Item[]) : []) {
    const type = part['type'] === 'refusal' ? 'response.refusal.delta' : 'response.output_text.delta';
    middle.push({ type, ...at, delta: part['refusal'] ?? part['text'] });
  }
  const begun = item['type'] === 'function_call' ? { ...item, arguments: '', status: 'in_progress' } : item;
  return [
    { type: 'response.output_item.added', output_index, item: begun },
    ...middle,
    { type: 'response.output_item.done', output_index, item },
  ];
}
