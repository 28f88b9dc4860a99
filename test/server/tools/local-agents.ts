import { z } from 'zod';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import { contextUpdate, defineAgent, defineTool, ModelRetry, ToolFailure, withUpdate } from '../../../src/index.ts';

const QUICK = { initial: '1ms', max: '1ms' } as const;

const deps = z.object({ userId: z.string(), note: z.string(), seen: z.array(z.string()) });
type Deps = z.output<typeof deps>;

/** The same agent with tools of one tier, which run sequentially. They use everything that a tool can use, except effects. */
export function reader(tier: 'local' | 'remote'): AnyAgent {
  const base = { tier, backoff: QUICK, description: 'Does' };
  const look = defineTool({
    ...base,
    name: 'look',
    parameters: z.object({ at: z.string() }),
    execute: ({ at }, { deps: given, state, setState, step, callId, retry, usage, userId }: LookContext) => {
      setState('looks', Number(state['looks'] ?? 0) + 1);
      const told = {
        length: at.length,
        note: given.note.length,
        seen: given.seen,
        looks: state['looks'] ?? 0,
        step,
        callId,
        retry,
        userId,
      };
      return withUpdate({ ...told, llmCalls: usage.llmCalls }, contextUpdate<Deps>().append('seen', at.slice(0, 3)));
    },
  });
  const flaky = defineTool({
    ...base,
    name: 'flaky',
    parameters: z.object({}),
    execute: (_, { retry }) => {
      if (retry < 2) throw new Error('not yet');
      return [{ attempts: retry + 1 }];
    },
  });
  const broken = defineTool({ ...base, name: 'broken', parameters: z.object({}), execute: () => fail(new Error('out of order')) });
  const final = defineTool({ ...base, name: 'final', parameters: z.object({}), execute: () => fail(new ToolFailure('there is no such')) });
  const picky = defineTool({ ...base, name: 'picky', parameters: z.object({}), execute: () => fail(new ModelRetry('a city, please')) });
  const tools = [look, flaky, broken, final, picky];
  return defineAgent({ name: 'reader', model: 'scripted/m', deps, tools, parallel: false });
}

interface LookContext {
  deps: Readonly<Deps>;
  state: Record<string, unknown>;
  setState: (key: string, value: number) => void;
  step: number;
  callId: string;
  retry: number;
  usage: { llmCalls: number };
  userId: string | undefined;
}

function fail(error: Error): never {
  throw error;
}
