import { CHAT, type Dialect, type Item, listOf, RESPONSES } from './message-order.ts';
import type { Api, Body } from './request-rules.ts';

/** OpenAI takes breakpoints from this version on. */
const FIRST_VERSION = 5.6;

/** True for a model that takes breakpoints. */
function takesBreakpoints(model: unknown): boolean {
  const version = /(?:^|[/:])gpt-(\d+(?:\.\d+)?)/.exec(String(model))?.[1];
  return version !== undefined && Number(version) >= FIRST_VERSION;
}

/**
 * Marks the parts of a request that the provider is to cache: up to the last instruction, up to the end of the request before the last
 * answer, and to its end. Of at most four marks, one is left to the user. All texts of the request become parts, whether they are marked
 * or not: the next request must begin with the same ones.
 */
export function withBreakpoints(api: Api, body: Body): Body {
  if (!takesBreakpoints(body['model'])) return body;
  const name = api === 'chat' ? 'messages' : 'input';
  const dialect = api === 'chat' ? CHAT : RESPONSES;
  const items = listOf(body[name]);
  const isOfModel = (item: Item): boolean => dialect.sideOf(item) === 'assistant';
  const instructed = items.findIndex((item) => dialect.sideOf(item) !== 'system') - 1;
  const answered = items.findLastIndex(isOfModel);
  // An answer of Responses is several items.
  const before = answered < 0 ? -1 : items.slice(0, answered).findLastIndex((item) => !isOfModel(item));
  const marked = new Set([instructed, before, items.length - 1]);
  return { ...body, [name]: items.map((item, index) => withParts(item, api, dialect, marked.has(index))) };
}

const MARK = { prompt_cache_breakpoint: { mode: 'explicit' } };

/** Returns a message that no model gave with its text as parts, the last of which may be marked. */
function withParts(item: Item, api: Api, dialect: Dialect, isMarked: boolean): Item {
  if (dialect.sideOf(item) === 'assistant') return item;
  const field = item['type'] === 'function_call_output' ? 'output' : 'content';
  const given = item[field];
  const text = { type: api === 'chat' ? 'text' : 'input_text' };
  const parts: Item[] = typeof given === 'string' ? [{ ...text, text: given }] : listOf(given);
  const last = parts.at(-1);
  if (last === undefined) return item;
  return { ...item, [field]: isMarked ? [...parts.slice(0, -1), { ...last, ...MARK }] : parts };
}
