import type { AgentSnapshot, ReplyFormat } from '../../core/domain/agent/agent-snapshot.ts';
import type { ConversationEvent, ModelRequest } from '../../core/domain/model/model.ts';
import { codeInstructions } from './code/code-instructions.ts';
import { codeSteps } from './code/code-steps.ts';
import { jsonInstructions } from './json/json-instructions.ts';
import { jsonSteps } from './json/json-steps.ts';
import { jsonTemperature } from './json/json-temperature.ts';
import type { ReplyStep } from './reply-steps.ts';
import { stepEvents } from './step-events.ts';

/** The parts of a request that depend on the format. */
interface RequestFormat {
  instructions(snapshot: AgentSnapshot): string;
  steps(snapshot: AgentSnapshot, conversation: readonly ConversationEvent[]): ReplyStep[];
  temperature(snapshot: AgentSnapshot, conversation: readonly ConversationEvent[]): number | undefined;
}

const FORMATS: Record<ReplyFormat, RequestFormat> = {
  json: {
    instructions: jsonInstructions,
    steps: jsonSteps,
    temperature: ({ settings }, conversation) => jsonTemperature(conversation, settings.temperature),
  },
  code: {
    instructions: codeInstructions,
    steps: codeSteps,
    temperature: ({ settings }) => settings.temperature,
  },
};

/**
 * Returns a request to an agent that answers in a form of its own: the provider is told of no tools and no schema, an instruction
 * describes them instead, and the conversation is text alone.
 */
export function formattedRequest(request: ModelRequest, snapshot: AgentSnapshot, final: boolean): ModelRequest {
  if (snapshot.replyFormat === undefined) return request;
  const format = FORMATS[snapshot.replyFormat];
  const { conversation, instructions, output: _, settings, ...rest } = request;
  const { toolChoice: __, ...others } = settings;
  const temperature = final ? undefined : format.temperature(snapshot, conversation);
  return {
    ...rest,
    instructions: [...instructions, format.instructions(snapshot)],
    conversation: stepEvents(format.steps(snapshot, conversation), snapshot.name),
    tools: [],
    settings: { ...others, ...(temperature === undefined ? {} : { temperature }) },
  };
}
