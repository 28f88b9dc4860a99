import { z } from 'zod';
import { errorMessage } from '../../../../src/core/domain/errors.ts';
import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import { quickjs } from '../../../../src/define/code.ts';
import { defineAgent } from '../../../../src/define/define-agent.ts';
import { defineTool } from '../../../../src/define/define-tool.ts';
import type { ToolDefinition } from '../../../../src/define/tool-definition.ts';
import type { Operation } from '../adapter.ts';
import { CaseProblem, list, only, text } from '../fields.ts';

/** The definition of an agent, and the error that it throws. */
export const agentConstruct: Operation = {
  input: ['kind', 'tools'],
  expect: ['error'],
  perform: ({ kind, tools }) => {
    const format = formatOf(kind);
    const described = list(tools).map(toolName);
    try {
      defineAgent({ name: 'a', model: 'scripted/model', tools: described.map(toTool), ...format });
      return { error: null };
    } catch (error) {
      return { error: errorMessage(error) };
    }
  },
};

function formatOf(
  kind: JsonValue | undefined,
): { replyFormat: 'json' } | { replyFormat: 'code'; code: { executor: ReturnType<typeof quickjs> } } {
  if (kind === 'react' || kind === 'json') return { replyFormat: 'json' };
  if (kind === 'code') return { replyFormat: 'code', code: { executor: quickjs() } };
  throw new CaseProblem(`The case has an agent of a kind that the adapter does not know: ${JSON.stringify(kind)}`);
}

/** A tool of a case is its name, or an object with it. */
function toolName(tool: JsonValue): string {
  return typeof tool === 'string' ? tool : text(only('A tool', tool, ['name'])['name']);
}

function toTool(name: string): ToolDefinition<never, JsonObject> {
  return defineTool({ name, description: 'Does nothing.', parameters: z.looseObject({}), execute: () => null });
}

const DUPLICATE = /^Duplicate tool name(?: '(.+?)')?.*$/;

/** Returns a text about a tool that is there twice in the words of the product. */
export function keptDuplicate(said: string): string {
  const [, name] = DUPLICATE.exec(said) ?? [said];
  return DUPLICATE.test(said) ? `two tools named${name === undefined ? '' : ` "${name}"`}` : said;
}
