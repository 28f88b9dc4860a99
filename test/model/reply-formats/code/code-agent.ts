import { z } from 'zod';
import type { AgentSnapshot } from '../../../../src/core/domain/agent.ts';
import { type CodeLanguage, type CodeSnapshot, DEFAULT_EXECUTION_LIMITS } from '../../../../src/core/domain/code.ts';
import { defineTool } from '../../../../src/define/define-tool.ts';
import { newSnapshot } from '../../../fakes/snapshot.ts';

const add = defineTool({
  name: 'add',
  description: 'Add two numbers.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});

/** The snapshot of an agent with one tool that answers with code. */
export function codeAgent(language: CodeLanguage = 'javascript', more: Pick<CodeSnapshot, 'prune'> = {}): AgentSnapshot {
  const kind = language === 'python' ? 'python' : 'quickjs';
  const executor = { kind, language, limits: DEFAULT_EXECUTION_LIMITS, allowedImports: ['math'] } as const;
  return {
    ...newSnapshot({ instructions: 'Be exact.', tools: [add] }),
    replyFormat: 'code',
    code: { executor: { ...executor, allowedImports: [...executor.allowedImports] }, tier: 'remote', ...more },
  };
}
