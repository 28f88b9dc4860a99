import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { AnyAgent, WindowOptions } from '../../src/define/agent-definition.ts';
import { defineAgent } from '../../src/define/define-agent.ts';
import { defineTool } from '../../src/define/define-tool.ts';
import type { ModelName } from '../../src/core/domain/model.ts';
import type { Pace, Tier } from './side.ts';
import { INSTRUCTIONS, pageText, TOOL_DESCRIPTION, TOOL_NAME } from '../script/scripted-run.ts';

/** The options of an agent that are not the defaults. */
interface ReaderOptions {
  name?: string;
  model?: ModelName;
  tier?: Tier;
  pace?: Pace;
  /** Milliseconds that its tool takes. */
  readsMs?: number;
  /** Called when the tool begins. */
  begins?: (runId: string) => void;
  window?: WindowOptions;
}

/** The agent of every run of Longhaul: one tool, with results of `resultChars` characters, and defaults for everything else. */
export function readerAgent(resultChars: number, options: ReaderOptions = {}): AnyAgent {
  const { name = 'reader', model = 'fake/pages', tier = 'remote', pace = 'step', readsMs = 0, begins, window } = options;
  return defineAgent({
    name,
    model,
    instructions: INSTRUCTIONS,
    tools: [
      defineTool({
        name: TOOL_NAME,
        description: TOOL_DESCRIPTION,
        category: 'read',
        parameters: z.object({ page: z.number() }),
        tier,
        execute: async ({ page }, context) => {
          begins?.(context.runId);
          if (readsMs > 0) await sleep(readsMs, undefined, { signal: context.signal });
          return pageText(page, resultChars);
        },
      }),
    ],
    ...(window === undefined ? {} : { window }),
    ...(pace === 'burst' ? { burst: true as const } : {}),
  });
}
