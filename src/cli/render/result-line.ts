import { callsText } from '../../core/domain/record/calls-not-run.ts';
import { printable } from '../../core/domain/content/printable.ts';
import { counted } from '../../core/domain/content/text.ts';
import { ProgramResult } from '../../core/domain/run/program-result.ts';
import type { RunResult } from '../../core/domain/run/result.ts';
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
