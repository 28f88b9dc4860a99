import { openai } from '../../activities/models/openai/openai.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import type { ModelClient } from '../../src/core/domain/model.ts';
import { type AnyAgent, defineAgent } from '../../src/index.ts';
import { isUndecidedRun, testAgent } from '../../src/testing/index.ts';
import { type AgentChanges, type Conversation, type Outcome, QUESTION, type Stage } from './conversation.ts';
import { CELL_HEADER, CellProvider, type FakeServer } from './fake-provider.ts';
import type { Family } from './families/family.ts';
import { sessionInMemory } from './session-in-memory.ts';
import { toolKit } from './tool-kit.ts';
import { problemsOf } from './verdict.ts';

/** One cell of the table. */
export interface Cell {
  family: Family;
  conversation: Conversation;
}

let cells = 0;

/** Holds a conversation with a family. Returns what does not hold; nothing for a cell that passes. */
export async function play(server: FakeServer, { family, conversation }: Cell): Promise<string[]> {
  const id = `cell-${++cells}`;
  const script = typeof conversation.script === 'function' ? conversation.script(family) : conversation.script;
  const provider = new CellProvider(family, script, conversation.always);
  if (conversation.longest !== undefined) provider.longest = conversation.longest;
  const stage: Stage = { family, provider, ran: [], key: `key-of-${id}`, cleanUps: [], agent: (changes) => agentOf(stage, changes) };
  const { whileSlow } = conversation;
  if (whileSlow !== undefined) stage.whileSlow = () => whileSlow(stage);
  server.add(id, provider, family);
  try {
    const outcome = await hold(conversation, stage, clientOf(conversation, stage, id));
    return problemsOf(outcome, { family, conversation, provider, script });
  } catch (error) {
    return [isUndecidedRun(error) ? 'the run waits for a decision' : `it threw: ${errorMessage(error)}`];
  } finally {
    server.remove(id);
    for (const cleanUp of stage.cleanUps) await cleanUp();
  }
}

/** The client as its users make it: nothing is declared but what the family's own documents ask for. */
function clientOf({ client }: Conversation, stage: Stage, id: string): ModelClient {
  const { baseURL, options } = stage.family;
  const capabilities = { ...options?.capabilities, ...client?.capabilities };
  return openai({ ...options, ...client, capabilities, baseURL, apiKey: () => stage.key, headers: { [CELL_HEADER]: id } });
}

function agentOf(stage: Stage, changes: AgentChanges = {}): AnyAgent {
  return defineAgent({
    name: 'clerk',
    model: `openai/${stage.family.model}`,
    instructions: 'You answer customers.',
    tools: toolKit(stage),
    ...changes,
  });
}

async function hold(conversation: Conversation, stage: Stage, model: ModelClient): Promise<Outcome> {
  const { agent: changes = {}, input = QUESTION, messages, meanwhile, session } = conversation;
  const agent = stage.agent(typeof changes === 'function' ? await changes(stage) : changes);
  const { ran, provider } = stage;
  const { exchanged } = provider;
  if (session !== undefined) {
    const options = (one: AnyAgent): { agents: AnyAgent[]; providers: Record<string, ModelClient> } => ({
      agents: [one],
      providers: { openai: model },
    });
    const outcome = await sessionInMemory(agent, options, session(stage), (live) => (stage.session = live));
    return { ...outcome, steps: [], exchanged, ran };
  }
  const { result, events, steps } = await testAgent(agent, {
    input,
    model,
    ...(messages === undefined ? {} : { messages }),
    ...(meanwhile === undefined ? {} : { meanwhile }),
  });
  return { result, turns: [], events, steps, exchanged, ran };
}
