import { buildChatMessages } from '../../../../activities/models/openai/chat-messages.ts';
import { fromDocument } from '../../../../src/client/saved-context.ts';
import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import { resultText } from '../../../../src/core/domain/tool-calls.ts';
import { emptyWindow, extendWindow } from '../../../../src/core/domain/window.ts';
import { newRunState, type RunState } from '../../../../src/core/kernel/run-state.ts';
import { contextOfRun, SAVED_VERSION, type SavedContext, type SavedMessage } from '../../../../src/core/saved/saved-context.ts';
import { newSnapshot } from '../../../fakes/snapshot.ts';
import type { Operation } from '../adapter.ts';
import { list, object, only, text } from '../fields.ts';
import { endOf } from '../kit-run.ts';
import { DESCRIPTION, INSTRUCTIONS, playReact } from './react-run.ts';

const STATE = ['name', 'description', 'system_instructions', 'max_iterations', 'messages', 'roles'];

/** The state of the ReAct agent of the seed between runs: in the product, a saved context and a run that begins from it. */
export const reactStateOperations: Readonly<Record<string, Operation>> = {
  'agent.save_state': { input: ['model', 'tools', 'max_iterations'], expect: ['state'], perform: save },
  'agent.load_state': { input: ['saved', 'agent_name'], expect: ['name', 'max_iterations', 'memory_roles'], perform: load },
  'agent.reset': { input: ['model', 'tools', 'max_iterations'], expect: ['memory_roles'], perform: reset },
};

async function save(input: JsonObject): Promise<JsonObject> {
  const played = await playReact(input);
  const { agentName, usage, toolCallsTotal, toolCallsNotRun, stepsUsed, limits, startTime } = endOf(played);
  const saved = contextOfRun({
    agent: { name: agentName, description: DESCRIPTION, instructions: INSTRUCTIONS },
    window: played.events.reduce(extendWindow, emptyWindow()),
    events: played.events,
    deps: {},
    usage,
    toolCallsTotal,
    toolCallsNotRun,
    currentStep: stepsUsed,
    maxIterations: limits.steps,
    startedAt: Date.parse(startTime ?? ''),
  });
  return { state: toTheirState(saved) };
}

/** In the seed, the first message of an agent's memory has its instructions. */
function toTheirState({ agent_name, agent_description, system_prompt, max_iterations, messages }: SavedContext): JsonObject {
  const whole = [{ role: 'system', content: system_prompt }, ...messages.map(toTheirMessage)];
  return {
    name: agent_name,
    description: agent_description ?? null,
    system_instructions: system_prompt,
    max_iterations,
    messages: whole,
    roles: whole.map(({ role }) => role ?? null),
  };
}

function toTheirMessage({ content, ...message }: SavedMessage): JsonObject {
  return { ...message, content: Array.isArray(content) ? resultText(content) : content };
}

/** After a run, if the case has a model. */
async function reset({ model, ...options }: JsonObject): Promise<JsonObject> {
  if (model !== undefined) endOf(await playReact({ model, ...options }));
  return { memory_roles: rolesOf(begin('agent')) };
}

function load({ saved, agent_name }: JsonObject): JsonObject {
  const agent = text(agent_name);
  const { messages, steps } = fromDocument(toDocument(saved), { agent });
  const state = begin(agent, { messages, ...(steps === undefined ? {} : { steps }) });
  return { name: state.snapshot.name, max_iterations: state.limits.steps, memory_roles: rolesOf(state) };
}

function toDocument(saved: JsonValue | undefined): JsonObject {
  const { name, description, system_instructions = null, max_iterations, messages } = only('A state', saved ?? {}, STATE);
  const said = list(messages).map(toDocumentMessage);
  const [first] = said;
  return {
    version: SAVED_VERSION,
    agent_name: name ?? null,
    agent_description: description ?? null,
    system_prompt: first?.['role'] === 'system' ? (first['content'] ?? null) : system_instructions,
    ...(max_iterations === undefined ? {} : { max_iterations }),
    messages: said,
  };
}

function toDocumentMessage(message: JsonValue): JsonObject {
  const { role, ...fields } = object(message);
  return { ...fields, role: role === 'tool_response' ? 'tool' : (role ?? null) };
}

const CLOCK = { now: () => 0, uuid: () => 'id' };

/** A run that has just begun. */
function begin(name: string, { messages = [], steps }: Partial<ReturnType<typeof fromDocument>> = {}): RunState {
  const snapshot = newSnapshot({ name, instructions: INSTRUCTIONS[0] ?? '', ...(steps === undefined ? {} : { limits: { steps } }) });
  return newRunState({ runId: 'r', snapshot, messages, startedAt: 0 }, CLOCK);
}

/** The roles of the messages that the model would see. */
function rolesOf({ snapshot, window }: RunState): string[] {
  return buildChatMessages(
    snapshot.instructions,
    window.events.flatMap(({ content }) => content),
  ).map(({ role }) => role);
}
