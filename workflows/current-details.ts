import { oneLine } from '../src/domain/text.ts';
import type { RunState } from '../src/loop/run-state.ts';

/** The details travel in a URL in the Temporal UI, so they are kept short. Bytes. */
const THOUGHT_BYTES = 600;

/** The panel of the UI is as high as its content less two lines: what it cuts off should be blank (a no-break space). */
const BLANK_LINE = '\u00a0';

/** What the Temporal UI shows of a run under "Current Details", in Markdown. */
export function currentDetails(state: RunState): string {
  const { snapshot, context, usage, status, thought } = state;
  const lines = [
    `### ${snapshot.name}: ${status}`,
    '',
    `- **Step** ${context.currentStep} of ${snapshot.limits.maxIterations}`,
    `- **Tool calls** ${state.toolCallsTotal}`,
    `- **Tokens** ${usage.totalTokens} (${usage.promptTokens} prompt, ${usage.completionTokens} completion)`,
  ];
  if (thought !== '') lines.push('', '**Last thought**', '', oneLine(thought, THOUGHT_BYTES));
  return [...lines, '', BLANK_LINE].join('\n');
}
