import { z } from 'zod';
import type { RunHandle } from '../../../../src/client/index.ts';
import type { AnyAgent } from '../../../../src/define/agent-definition.ts';
import { defineAgent, defineTool } from '../../../../src/index.ts';
import { callTool, say, together } from '../../../../src/testing/index.ts';
import { search } from '../../../server/testbed/agents.ts';
import { until } from '../../../server/testbed/until.ts';
import type { AgentScenario } from '../../scenario.ts';

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
