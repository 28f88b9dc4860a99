import { z } from 'zod';
import type { AnyAgent } from '../src/define/agent-definition.ts';
import { defineAgent } from '../src/define/define-agent.ts';
import { defineTool } from '../src/define/define-tool.ts';
import type { WindowOptions } from '../src/define/window-options.ts';
import { INSTRUCTIONS, pageText, TOOL_DESCRIPTION, TOOL_NAME } from './scripted-run.ts';

/** The agent of every run of Longhaul: one tool, whose results have so many characters; all else as it is by default. */
export function readerAgent(resultChars: number, window?: WindowOptions): AnyAgent {
  return defineAgent({
    name: 'reader',
    model: 'fake/pages',
    instructions: INSTRUCTIONS,
    tools: [
      defineTool({
        name: TOOL_NAME,
        description: TOOL_DESCRIPTION,
        parameters: z.object({ page: z.number() }),
        execute: ({ page }) => pageText(page, resultChars),
      }),
    ],
    ...(window === undefined ? {} : { window }),
  });
}
