import { isJsonObject, type JsonObject } from '../../../../core/domain/json.ts';
import type { AnyAgent } from '../../../../define/agent-definition.ts';
import { unsupported } from '../errors/openai-refusal.ts';

/** The format of an answer that a request asks for. */
export interface AnswerFormat {
  type: 'text' | 'json_object' | 'json_schema';
  schema?: JsonObject | undefined;
}

/**
 * Throws unless the agent answers in that format. The schema of its output is its own: a request may only say that it knows it, by the same
 * names at the top. `param`: the name of the parameter.
 */
export function requireFormat(agent: AnyAgent | string, { type, schema }: AnswerFormat, param: string): void {
  if (type === 'text') return;
  const output = typeof agent === 'string' ? undefined : agent.output;
  if (output === undefined) throw unsupported(param, 'the agent answers with text. Give the agent an output schema, or leave it out');
  if (type === 'json_object') return;
  const [asked, own] = [namesOf(schema), namesOf(output.schema)];
  if (asked.length === own.length && asked.every((name) => own.includes(name))) return;
  throw unsupported(param, `the output of the agent has ${own.map((name) => `"${name}"`).join(', ')}. Ask for its own schema`);
}

function namesOf(schema: JsonObject | undefined): string[] {
  const { properties } = schema ?? {};
  return isJsonObject(properties) ? Object.keys(properties) : [];
}
