import type { AgentSnapshot, ModelSettings } from '../../src/core/domain/agent/agent-snapshot.ts';
import type { ModelCapabilities } from '../../src/core/domain/model/model.ts';
import type { AskDocument, UnitDocument } from '../../src/core/domain/program/document.ts';
import { portableSchema } from '../../src/schema/portable-schema.ts';
import { toStrictPart } from '../../src/schema/strict-json-schema.ts';

/** The parts of a model call of a program. */
export interface AskParts {
  unit: UnitDocument;
  ask: AskDocument;
  /** The system prompt, rendered. */
  instructions: string[];
  capabilities: ModelCapabilities;
}

/** Returns the snapshot of an agent that makes just this call, so that requests and answers are handled as those of agents. */
export function askSnapshot(snapshot: AgentSnapshot, { unit, ask, instructions, capabilities }: AskParts): AgentSnapshot {
  const effort = ask.effort ?? unit.effort;
  const settings: ModelSettings = { ...snapshot.settings, ...(effort === undefined ? {} : { reasoningEffort: effort }), ...ask.settings };
  const own: AgentSnapshot = { ...snapshot, instructions, model: ask.model ?? snapshot.model, tools: [], settings };
  if (ask.output === undefined) return own;
  const strict = toStrictPart(ask.output);
  const mode = capabilities.structuredOutput ? 'schema' : 'final_answer';
  const providerSchema = strict.strict ? strict.schema : portableSchema(ask.output);
  return { ...own, output: { mode, schema: ask.output, providerSchema, strict: strict.strict, maxRetries: 0 } };
}
