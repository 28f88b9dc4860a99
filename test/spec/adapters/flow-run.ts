import { defineAgent } from '../../../src/define/define-agent.ts';
import { defineFlow } from '../../../src/define/flows.ts';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import { mergeBranches, mergeEvents } from '../../../src/core/domain/handoffs.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json.ts';
import { say, scriptedModel, testAgent } from '../../../src/testing/index.ts';
import type { Operation } from './adapter.ts';
import { CaseProblem, list, number, only, text } from './fields.ts';

/** A team of agents, each with a fixed answer. */
export const flowRun: Operation = {
  input: ['kind', 'agents', 'input', 'max_iterations'],
  expect: ['output', 'authors'],
  perform: ({ kind, agents, input, max_iterations }) => {
    const team = list(agents).map(agentOf);
    const question = text(input, 'Q');
    switch (kind) {
      case 'sequential':
        return inTurns(defineFlow({ name: 'flow', kind, agents: team.map(({ agent }) => agent) }), team, question);
      case 'loop': {
        const rounds = max_iterations === undefined ? {} : { maxIterations: number(max_iterations, 1) };
        return inTurns(defineFlow({ name: 'flow', kind, agents: team.map(({ agent }) => agent), ...rounds }), team, question);
      }
      case 'parallel':
        return sideBySide(team, question);
      default:
        throw new CaseProblem(`The case has a kind that the adapter does not know: ${JSON.stringify(kind)}`);
    }
  },
};

interface Member {
  agent: AnyAgent;
  output: string;
}

/** The name of the agent is also the name of its model: it finds the answer of the case. */
function agentOf(given: JsonValue): Member {
  const { name, output } = only('An agent', given, ['name', 'output']);
  return { agent: defineAgent({ name: text(name), model: `scripted/${text(name)}`, instructions: [] }), output: text(output) };
}

async function inTurns(flow: AnyAgent, team: readonly Member[], input: string): Promise<JsonObject> {
  const { capabilities } = scriptedModel([]);
  const model = {
    capabilities,
    call: async ({ model: name }: { model: string }) => {
      const member = team.find(({ agent }) => agent.name === name);
      if (member === undefined) throw new CaseProblem(`The case has no agent "${name}"`);
      return { content: member.output, toolCalls: [], usage: null, finishReason: 'stop' };
    },
  };
  const { result, events } = await testAgent(flow, { input, model });
  return { output: result.success ? (result.output as JsonValue) : null, authors: authorsOf(events) };
}

async function sideBySide(team: readonly Member[], input: string): Promise<JsonObject> {
  const runs = await Promise.all(team.map(({ agent, output }) => testAgent(agent, { input, model: scriptedModel([say(output)]) })));
  const merged = mergeBranches(
    runs.map(({ result }) => ({ ...result.toJSON(), name: result.agentName, output: result.output as JsonValue })),
  );
  return { output: merged.problem === undefined ? merged.output : null, authors: authorsOf(mergeEvents(runs.map(({ events }) => events))) };
}

function authorsOf(events: readonly Event[]): string[] {
  return events.map(({ author }) => author);
}
