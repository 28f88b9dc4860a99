import { canonicalJson, type JsonObject } from '../json/json.ts';
import type { AnswerRules } from '../program/answer-rules.ts';
import type { AgentSnapshot, ModelSettings } from './agent-snapshot.ts';

/** An agent as plain data, in the input of its run: an `ask` with tools. No worker has it by its name. */
export interface AgentDocument extends AnswerRules {
  /** `provider/model`. */
  model: string;
  /** The system prompt, rendered. The worker adds the texts of the anchors. */
  instructions: string[];
  /** Names of tools that the worker has for programs. */
  tools: string[];
  settings?: ModelSettings;
  /** The JSON Schema of the answer. */
  output?: JsonObject;
}

/** Returns the checks that a document declares. */
export function rulesOf({ model: _, instructions: __, tools: ___, settings: ____, output: _____, ...rules }: AgentDocument): AnswerRules {
  return rules;
}

/** Returns a snapshot without everything that came with the document, which is in the history of the run already. */
export function withoutDocument(snapshot: AgentSnapshot, document: AgentDocument): AgentSnapshot {
  const { checks: _, output, ...others } = snapshot;
  const brief = { ...others, settings: {}, instructions: snapshot.instructions.slice(document.instructions.length) };
  if (output === undefined) return brief;
  const isSame = canonicalJson(output.providerSchema) === canonicalJson(output.schema);
  return { ...brief, output: { ...output, schema: {}, providerSchema: isSame ? {} : output.providerSchema } };
}

/** Adds to a snapshot what came with the document. */
export function withDocument(snapshot: AgentSnapshot, document: AgentDocument): AgentSnapshot {
  const { output, ...others } = snapshot;
  const { output: schema = {} } = document;
  const whole: AgentSnapshot = {
    ...others,
    settings: document.settings ?? {},
    instructions: [...document.instructions, ...snapshot.instructions],
    checks: rulesOf(document),
  };
  if (output === undefined) return whole;
  const isSame = Object.keys(output.providerSchema).length === 0;
  return { ...whole, output: { ...output, schema, providerSchema: isSame ? schema : output.providerSchema } };
}
