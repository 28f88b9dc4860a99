// Retrieval by a tool: the model searches as often as it needs, and an answer may cite only what it has read.
import { defineAgent, defineGuardrail, defineTool, type RunContext } from 'longhaul';
import { z } from 'zod';

export interface Passage {
  source: string;
  text: string;
}

/** The `resources` of the worker: your vector store or full-text index. */
export interface Library {
  library: { search: (query: string, limit: number) => Promise<Passage[]> };
}

const search = defineTool({
  name: 'search',
  description: 'Searches the handbook. Returns passages with their sources.',
  parameters: z.object({ query: z.string().min(3) }),
  resources: ['library'],
  maxResultBytes: 12_000, // the rest of a long list is cut, and the model is told so
  execute: async ({ query }, { resources }: RunContext<object, Library>) => {
    const passages = await resources.library.search(query, 5);
    return passages.length === 0 ? 'Nothing found: try other words' : passages;
  },
});

/** An answer cites at least one source, and each of them is in a result of this run. */
const cited = defineGuardrail({
  name: 'cited',
  type: 'output',
  check: async ({ text, events }) => {
    const { events: recorded } = await events({ last: 50, bytes: 500_000 });
    const results = recorded.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'));
    const read = JSON.stringify(results).replaceAll('\\', '');
    const { sources } = JSON.parse(text) as { sources: string[] };
    const unread = sources.filter((source) => !read.includes(`"source":"${source}"`));
    return unread.length === 0 && sources.length > 0 ? { passed: true } : { passed: false, message: `no source: ${unread.join(', ')}` };
  },
});

export const librarian = defineAgent({
  name: 'librarian',
  model: 'openai/gpt-5-mini',
  instructions: 'Answer from the handbook alone. Search first, again if the passages do not answer. Cite the sources that you used.',
  tools: [search],
  output: z.object({ answer: z.string(), sources: z.array(z.string()) }),
  guardrails: [cited],
  limits: { toolCallsByName: { search: 6 } },
});
