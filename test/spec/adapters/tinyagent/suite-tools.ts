import { z } from 'zod';
import { defineTool } from '../../../../src/define/define-tool.ts';
import type { ToolDefinition } from '../../../../src/define/tool-definition.ts';
import type { JsonObject } from '../../../../src/core/domain/json.ts';
import { CaseProblem } from '../fields.ts';

/** The tools of the suite. Upstream does not try a call again. */
const TOOLS: readonly ToolDefinition<never, JsonObject>[] = [
  defineTool({
    name: 'add',
    description: 'Add two numbers.',
    parameters: z.strictObject({ a: z.number(), b: z.number() }),
    maxAttempts: 1,
    execute: ({ a, b }) => a + b,
  }),
  defineTool({
    name: 'bad',
    description: 'Fails.',
    parameters: z.strictObject({ a: z.int() }),
    maxAttempts: 1,
    execute: () => {
      throw new Error('nope');
    },
  }),
  defineTool({
    name: 'big',
    description: 'Gives a long text.',
    parameters: z.strictObject({ n: z.int() }),
    maxAttempts: 1,
    execute: ({ n }) => 'x'.repeat(n),
  }),
];

/** Returns the tools of the suite with the given names. */
export function suiteTools(names: readonly string[]): ToolDefinition<never, JsonObject>[] {
  return names.map((name) => {
    const tool = TOOLS.find((one) => one.name === name);
    if (tool === undefined) throw new CaseProblem(`The case uses a tool that the adapter does not know: "${name}"`);
    return tool;
  });
}
