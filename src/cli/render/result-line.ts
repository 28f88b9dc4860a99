import { callsText } from '../../core/domain/tool-calls.ts';
import { counted, printable } from '../../core/domain/text.ts';
import { ProgramResult, type RunResult } from '../../core/domain/result.ts';
import { unitsText } from './facts.ts';

/**
 * Returns a result as one line: `[completed] clerk | 2/10 steps | 1 tool call (look_up_order ×1), 1 refused (refund) | 30 tokens |
 * 2.50s`.
 */
export function resultLine(result: RunResult<unknown>): string {
  const { status, agentName, turns, stepsUsed, limits, usage, durationSeconds, mediaTypes } = result;
  return [
    `[${status}] ${agentName}`,
    ...(result instanceof ProgramResult
      ? [`units: ${unitsText(result.units, { isOver: true })}`, counted(usage.llmCalls, 'model call')]
      : [turns === undefined ? `${stepsUsed}/${limits.steps} steps` : `${counted(turns, 'turn')} | ${counted(stepsUsed, 'step')}`]),
    callsText(result, { times: ' ×', name: printable }),
    counted(usage.totalTokens, 'token'),
    ...(durationSeconds === null ? [] : [`${durationSeconds.toFixed(2)}s`]),
    ...(result.hasMedia ? [`media: ${mediaTypes.join('+')}`] : []),
  ].join(' | ');
}
