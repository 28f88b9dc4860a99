import { textIn } from '../../activities/models/openai/message-order.ts';
import type { Answer, Body, Family } from './families.ts';
import { halves, list, PAGE, signatureOf } from './families.ts';

/** The items of an answer that a package has sent back, in the words of the API. */
export function openaiItems({ input }: Body): string[] {
  const items = list(input);
  const isOfModel = ({ type, role }: Body): boolean => role === 'assistant' || ['reasoning', 'function_call'].includes(String(type));
  const first = items.findIndex(isOfModel);
  const after = items.findIndex((item, index) => index > first && !isOfModel(item));
  return items.slice(first, after < 0 ? items.length : after).map(({ type, role }) => String(type ?? role));
}

/** OpenAI's Responses. Nothing is stored: encrypted reasoning comes back unchanged, before the items that followed it. */
export const OPENAI: Family = {
  path: '/openai/v1',
  usage: { promptTokens: 1_000, completionTokens: 50, cachedTokens: 800, cacheWriteTokens: 100, reasoningTokens: 30 },
  thinks: true,
  contentType: 'text/event-stream',
  id: (index) => `call_${index}`,
  failure: (status, message, type = 'invalid_request_error') => ({ status, body: { error: { message, type, param: null, code: null } } }),
  refusal: ({ input, store }) => {
    const items = list(input);
    if (store !== false) return 'This organization has to set "store" to false';
    const reference = items.find(({ type }) => type === 'item_reference');
    if (reference !== undefined)
      return `Item with id '${String(reference['id'])}' not found. Items are not persisted when \`store\` is set to false.`;
    for (const [index, { type, summary, encrypted_content: encrypted }] of items.entries()) {
      if (type !== 'reasoning') continue;
      const text = list(summary)
        .map((part) => String(part['text']))
        .join('');
      if (encrypted !== signatureOf(text)) return 'The encrypted content for item rs_1 could not be verified.';
      const next = items[index + 1];
      if (next === undefined || next['role'] === 'user')
        return "Item 'rs_1' of type 'reasoning' was provided without its required following item.";
    }
    const ids = (kind: string): string[] => items.flatMap(({ type, call_id: id }) => (type === kind ? [textIn(id)] : []));
    const open = ids('function_call').find((id) => !ids('function_call_output').includes(id));
    if (open !== undefined) return `No tool output found for function call ${open}.`;
    const stray = ids('function_call_output').find((id) => !ids('function_call').includes(id));
    return stray === undefined ? undefined : `No tool call found for function call output with call_id ${stray}.`;
  },
  chunks: ({ parts, finish, fails }: Answer, { model }) => {
    let sequence_number = 0;
    const event = (type: string, more: object): string =>
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence_number++, ...more })}\n\n`;
    const items = parts.flatMap((part, output_index): string[] => {
      const id = `item_${output_index}`;
      const at = { item_id: id, output_index };
      const around = (begun: object, done: object, ...between: string[]): string[] => [
        event('response.output_item.added', { output_index, item: { id, ...begun } }),
        ...between,
        event('response.output_item.done', { output_index, item: { id, ...done } }),
      ];
      if ('thinking' in part) {
        const pieces = halves(part.thinking).map((delta) =>
          event('response.reasoning_summary_text.delta', { ...at, summary_index: 0, delta }),
        );
        const summary = [{ type: 'summary_text', text: part.thinking }];
        return around(
          { type: 'reasoning', summary: [] },
          { type: 'reasoning', summary, encrypted_content: signatureOf(part.thinking) },
          event('response.reasoning_summary_part.added', { ...at, summary_index: 0 }),
          ...pieces,
          event('response.reasoning_summary_part.done', { ...at, summary_index: 0 }),
        );
      }
      if ('redacted' in part) return [];
      if ('image' in part) return [];
      if ('search' in part) {
        const action = { type: 'search', query: part.search, sources: [{ type: 'url', url: PAGE.url }] };
        return around({ type: 'web_search_call', status: 'in_progress' }, { type: 'web_search_call', status: 'completed', action });
      }
      if ('text' in part) {
        const content = [{ type: 'output_text', text: part.text, annotations: [] }];
        const pieces = halves(part.text).map((delta) => event('response.output_text.delta', { ...at, content_index: 0, delta }));
        return around({ type: 'message', role: 'assistant', content: [] }, { type: 'message', role: 'assistant', content }, ...pieces);
      }
      const call = { type: 'function_call', call_id: part.id, name: part.call };
      const pieces = halves(part.input).map((delta) => event('response.function_call_arguments.delta', { ...at, delta }));
      return around({ ...call, arguments: '' }, { ...call, arguments: part.input, status: 'completed' }, ...pieces);
    });
    const response = { id: 'resp_1', object: 'response', created_at: 1, model, status: 'in_progress', output: [] };
    const begins = event('response.created', { response });
    if (fails !== undefined) {
      const code = fails === 'overloaded' ? 'server_error' : 'rate_limit_exceeded';
      return [begins, ...items, event('error', { error: { type: code, code, message: 'Try later', param: null } })];
    }
    const usage = {
      input_tokens: 1_000,
      input_tokens_details: { cached_tokens: 800, cache_write_tokens: 100 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 30 },
      total_tokens: 1_050,
    };
    const reason = finish === 'length' ? 'max_output_tokens' : finish;
    const ended = reason === undefined ? 'response.completed' : 'response.incomplete';
    const details = reason === undefined ? {} : { incomplete_details: { reason } };
    return [begins, ...items, event(ended, { response: { ...response, status: ended.slice('response.'.length), usage, ...details } })];
  },
};
