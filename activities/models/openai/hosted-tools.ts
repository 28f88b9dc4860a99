import type { HostedCall, HostedTool } from '../../../src/core/domain/content.ts';

/** The hosted tools of the Responses API by the `type` of their calls. */
const TOOL_OF_ITEM: Readonly<Record<string, string>> = {
  web_search_call: 'web_search',
  file_search_call: 'file_search',
  code_interpreter_call: 'code_interpreter',
  image_generation_call: 'image_generation',
};

/** What each tool needs, if the agent does not say. */
const DEFAULT_ARGS: Readonly<Record<string, object>> = {
  web_search: {},
  web_search_preview: {},
  file_search: {},
  code_interpreter: { container: { type: 'auto' } },
  image_generation: {},
};

/** Returns the id of the first tool that the API does not have; undefined if it has all. */
export function unknownTool(hosted: readonly HostedTool[] = [], api: 'chat' | 'responses'): string | undefined {
  return hosted.find(({ id }) => api === 'chat' || !id.startsWith('openai.') || !Object.hasOwn(DEFAULT_ARGS, typeOf(id)))?.id;
}

function typeOf(id: string): string {
  return id.slice('openai.'.length);
}

/** Returns a hosted tool as the Responses API takes it. */
export function responsesTool({ id, args }: HostedTool): Record<string, unknown> {
  const type = typeOf(id);
  return { type, ...DEFAULT_ARGS[type], ...args };
}

/** Returns the name of the tool whose call an item of an answer is; undefined for any other item. */
export function hostedToolOf(item: Readonly<Record<string, unknown>>): string | undefined {
  const type = item['type'];
  return typeof type === 'string' && Object.hasOwn(TOOL_OF_ITEM, type) ? TOOL_OF_ITEM[type] : undefined;
}

/** Returns the input of a hosted call as JSON: what the API shows of it. */
export function hostedInput({ action, queries, code, revised_prompt: prompt }: Readonly<Record<string, unknown>>): string {
  if (action !== undefined && action !== null) return JSON.stringify(action);
  const shown = { ...(queries ? { queries } : {}), ...(code ? { code } : {}), ...(prompt ? { prompt } : {}) };
  return Object.keys(shown).length === 0 ? '' : JSON.stringify(shown);
}

/** Returns the hosted calls among the items of an answer. */
export function hostedCalls(items: readonly Readonly<Record<string, unknown>>[]): HostedCall[] {
  return items.flatMap((item): HostedCall[] => {
    const name = hostedToolOf(item);
    if (name === undefined) return [];
    const input = hostedInput(item);
    const failed = item['status'] === 'failed' || item['status'] === 'incomplete';
    return [{ name, ...(input === '' ? {} : { input }), ...(failed ? { isError: true } : {}) }];
  });
}
