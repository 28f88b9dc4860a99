import { oneLine } from '../src/domain/text.ts';
import { lastThought, type RunState } from '../src/loop/run-state.ts';

/** What the Temporal UI shows of a run under "Current Details", in Markdown. It travels in a URL there: short. */
export function currentDetails(state: RunState): string {
  const { snapshot, context, usage, status } = state;
  const lines = [
    `### ${snapshot.name}: ${status}`,
    '',
    '| step | tool calls | tokens | prompt | completion |',
    '| --- | --- | --- | --- | --- |',
    `| ${context.currentStep} of ${snapshot.limits.maxIterations} | ${state.toolCallsTotal} | ${usage.totalTokens} | ${usage.promptTokens} | ${usage.completionTokens} |`,
  ];
  const thought = lastThought(state);
  if (thought !== '') lines.push('', `**Last thought:** ${oneLine(thought, 600)}`);
  return lines.join('\n');
}
