import { z } from 'zod';
import type { RunHandle } from '../../../../src/client/index.ts';
import type { AnyAgent } from '../../../../src/define/agent-definition.ts';
import { defineAgent, defineTool } from '../../../../src/index.ts';
import { memoryNamespace } from '../../../../src/memory/memory-store.ts';
import { callTool, say, together } from '../../../../src/testing/index.ts';
import { fakeMemory } from '../../../fakes/fake-memory.ts';
import { search } from '../../../server/testbed/agents.ts';
import { until } from '../../../server/testbed/until.ts';
import type { AgentScenario } from '../../scenario.ts';

/** Runs whose messages, calls and answers guardrails check. */
export const guardrails: Record<string, AgentScenario> = {
  'checked-over-executions': {
    agent: 'checked',
    script: [
      together(callTool('search', { query: 'a' }, 'g1'), callTool('search', { query: 'forbidden' }, 'g2')),
      callTool('search', { query: 'b' }, 'g3'),
      say('done'),
    ],
    continueAt: 30,
  },
  'checked-answer-blocked': { agent: 'checked', script: [callTool('search', { query: 'c' }, 'g4'), say('a secret')] },
};

/** Runs whose model loads skills. */
export const skills: Record<string, AgentScenario> = {
  'skills-that-narrow': {
    agent: 'skilled',
    script: [callTool('load_skill', { skill: 'refunds' }, 's6'), callTool('search', { query: 'b' }, 's7'), say('done')],
  },
  'skills-over-executions': {
    agent: 'skilled',
    script: [
      together(callTool('load_skill', { skill: 'refunds' }, 's1'), callTool('search', { query: 'a' }, 's2')),
      callTool('read_skill_file', { skill: 'refunds', path: 'limits.md' }, 's3'),
      together(callTool('search', { query: 'b' }, 's4'), callTool('load_skill', { skill: 'none' }, 's5')),
      say('done'),
    ],
    continueAt: 24,
  },
};

const principal = { tenant: 'acme', user: 'ada' };
const entry = { namespace: memoryNamespace({ principal, agent: 'mindful' }), key: 'Q', value: 'The letter after P' };
const long = 'x'.repeat(2_500);

/** Runs of an agent that has a memory. */
export const memory: Record<string, AgentScenario> = {
  'memory-recalled': {
    agent: 'mindful',
    start: { principal },
    worker: { memory: fakeMemory([entry]) },
    script: [
      together(callTool('remember', { key: 'R', value: 'The letter after Q' }, 'm1'), callTool('search', { query: 'a' }, 'm2')),
      callTool('recall', { query: 'letter' }, 'm3'),
      callTool('forget', { key: 'Q' }, 'm4'),
      say('done'),
    ],
  },
  'memory-dropped-over-executions': {
    agent: 'mindful',
    start: { principal },
    worker: { memory: fakeMemory([entry]) },
    script: [
      callTool('remember', { key: 'R', value: long }, 'm5'),
      callTool('remember', { key: 'S', value: long }, 'm6'),
      callTool('remember', { key: 'T', value: long }, 'm7'),
      say('the summary'),
      say('done'),
    ],
    continueAt: 20,
  },
  'memory-not-available': {
    agent: 'mindful',
    worker: { memory: { ...fakeMemory(), recall: () => Promise.reject(new Error('no connection')) } },
    script: [callTool('search', { query: 'a' }, 'm8'), say('done')],
  },
};

const text = defineTool({
  name: 'text',
  description: 'Sends a text',
  parameters: z.object({}),
  category: 'communicate',
  execute: () => 'sent',
});

const MINUTE = 60_000;

/** Returns a time of the clock in UTC, such as `07:00`. */
function clock(at: number): string {
  return new Date(at).toISOString().slice(11, 16);
}

/** An agent whose quiet hours have begun. They end in this many milliseconds, with the minute that is running then. */
function quiet(ms: number): AnyAgent {
  const quietHours = { from: clock(Date.now() - MINUTE), to: clock(Date.now() + ms + MINUTE), zone: 'UTC' };
  return defineAgent({ name: 'quiet', model: 'scripted/m', tools: [text, search], quietHours });
}

const script = [together(callTool('text', {}, 't1'), callTool('search', { query: 'a' }, 's1')), say('done'), say('done')];

async function postponed(run: RunHandle): Promise<void> {
  await until(async () => ((await run.status()).postponed ?? []).length === 1, 'a call to wait for the end of the quiet hours', 30);
}

/** Runs whose calls wait for the end of quiet hours. The agent is made as the scenario is played, by its clock. */
export const quietHours: Record<string, AgentScenario> = {
  'text-in-quiet-hours': {
    agent: 'quiet',
    script,
    get worker() {
      return { agents: [quiet(5_000)] };
    },
    meanwhile: async (run) => {
      await postponed(run);
      await run.send('and a greeting', { id: 'm1' });
    },
  },
  'text-in-quiet-hours-over-executions': {
    agent: 'quiet',
    script,
    continueAt: 12,
    get worker() {
      return { agents: [quiet(5_000)] };
    },
    meanwhile: postponed,
  },
  'steered-in-quiet-hours': {
    agent: 'quiet',
    script,
    get worker() {
      return { agents: [quiet(60 * MINUTE)] };
    },
    meanwhile: async (run) => {
      await postponed(run);
      await run.send('rather not', { id: 'm1', mode: 'steer' });
    },
  },
};
