import { expect, test } from 'vitest';
import { ATTRIBUTES, CONVENTIONS, METRICS } from '../../src/telemetry/names.ts';

// The names of the conventions of OpenTelemetry for generative AI that were read from its pages, each at a commit.

interface ReadPage {
  commit: string;
  path: string;
  names: string[];
  /** Older names, with their new ones. */
  renamed?: Record<string, string>;
}

const READ_CONVENTIONS: { repository: string; read: ReadPage[] } = {
  repository: 'open-telemetry/semantic-conventions-genai',
  read: [
    {
      commit: '32c328e85013588c6fe32ebc30934ab5b1752b6a',
      path: 'docs/gen-ai/non-normative/migration.md',
      names: [
        'gen_ai.client.inference.duration',
        'gen_ai.client.inference.time_to_first_chunk',
        'gen_ai.client.inference.time_per_output_chunk',
        'gen_ai.client.inference.usage.input_tokens',
        'gen_ai.client.inference.usage.output_tokens',
        'gen_ai.client.inference.usage.cache_read.input_tokens',
        'gen_ai.client.inference.usage.cache_write.input_tokens',
        'gen_ai.client.inference.usage.reasoning.output_tokens',
        'gen_ai.client.inference.operation.input_tokens',
        'gen_ai.client.inference.operation.output_tokens',
        'gen_ai.invoke_agent.duration',
        'gen_ai.invoke_agent.inference_calls',
        'gen_ai.invoke_agent.tool_calls',
        'gen_ai.execute_tool.duration',
        'gen_ai.invoke_workflow.duration',
      ],
      renamed: {
        'gen_ai.usage.cache_creation.input_tokens': 'gen_ai.usage.cache_write.input_tokens',
      },
    },
    {
      commit: '024a4f944a1291fcb627c9c47da69e79868dd15e',
      path: 'docs/gen-ai/client-inference.md',
      names: [
        'gen_ai.operation.name',
        'gen_ai.provider.name',
        'error.type',
        'gen_ai.conversation.id',
        'gen_ai.request.model',
        'gen_ai.response.finish_reasons',
        'gen_ai.response.model',
        'gen_ai.input.messages',
        'gen_ai.output.messages',
        'gen_ai.usage.input_tokens',
        'gen_ai.usage.output_tokens',
        'gen_ai.usage.cache_read.input_tokens',
        'gen_ai.usage.cache_write.input_tokens',
        'gen_ai.usage.reasoning.output_tokens',
      ],
    },
    {
      commit: '002c8a6ea1c8a42b14a4527db83b3cabcded610a',
      path: 'docs/registry/attributes/gen-ai.md',
      names: [
        'gen_ai.agent.name',
        'gen_ai.workflow.name',
        'gen_ai.tool.name',
        'gen_ai.tool.type',
        'gen_ai.tool.call.id',
        'gen_ai.tool.call.arguments',
        'gen_ai.tool.call.result',
      ],
    },
  ],
};

const NAMES: readonly string[] = [...Object.values(ATTRIBUTES), ...Object.values(METRICS)].filter((name) =>
  /^(?:gen_ai|error)\./.test(name),
);
const KNOWN = new Set(READ_CONVENTIONS.read.flatMap(({ names }) => names));
const RENAMED: ReadonlyMap<string, string> = new Map(READ_CONVENTIONS.read.flatMap(({ renamed = {} }) => Object.entries(renamed)));

test('every name of the conventions is one of the list that was read from them, or the older name next to its new one', () => {
  expect(NAMES.length).toBeGreaterThan(25);
  expect(NAMES.filter((name) => !KNOWN.has(name) && !RENAMED.has(name))).toEqual([]);
  for (const older of NAMES.filter((name) => RENAMED.has(name))) expect(NAMES).toContain(RENAMED.get(older));
});

test('the code names the commit that the list was read from', () => {
  expect(CONVENTIONS).toEqual({ repository: READ_CONVENTIONS.repository, commit: READ_CONVENTIONS.read[0]?.commit });
  for (const { commit } of READ_CONVENTIONS.read) expect(commit).toMatch(/^[0-9a-f]{40}$/);
});
