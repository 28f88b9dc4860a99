// Tool phase: the final answer of a cell.

import { Finalizer, finalText, MultipleFinalAnswers } from '../../domain/code.ts';
import { errorMessage } from '../../domain/errors.ts';
import type { JsonValue } from '../../domain/json.ts';
import type { RunPorts, ToolOutcome } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';

type Outcomes = readonly (ToolOutcome | null)[];

/**
 * Returns the output of a run whose answers are code, if one of its cells has given a final answer: the value itself if the agent has
 * an output schema, otherwise its text, cut to the limit of output. In other runs a final answer is a result that the model reads.
 */
export function finalAnswerOfCode({ snapshot }: RunState, outcomes: Outcomes): { output: JsonValue } | undefined {
  if (snapshot.replyFormat !== 'code' || snapshot.code === undefined) return undefined;
  const found = givenAnswer(outcomes);
  if (found === undefined) return undefined;
  if (snapshot.output !== undefined) return { output: found.value };
  return { output: finalText(found.value, snapshot.code.executor) };
}

/**
 * Returns the outcome of a cell, which is an error if the cell has given a final answer, and another cell of the same response has
 * given that of the run.
 */
export function withOneFinalAnswer({ snapshot }: RunState, ports: RunPorts, outcomes: Outcomes, outcome: ToolOutcome): ToolOutcome {
  if (snapshot.replyFormat !== 'code' || outcome.type !== 'result' || outcome.finalAnswer === undefined) return outcome;
  const first = givenAnswer(outcomes);
  const finalizer = new Finalizer();
  try {
    if (first !== undefined) finalizer.set(first.value, { now: ports.now() });
    finalizer.set(outcome.finalAnswer.value, { now: ports.now() });
    return outcome;
  } catch (error) {
    if (!(error instanceof MultipleFinalAnswers)) throw error;
    const { finalAnswer: _, resultId: __, ...others } = outcome;
    return { ...others, status: 'error', content: [errorMessage(error), { first: error.first, attempted: error.attempted }] };
  }
}

function givenAnswer(outcomes: Outcomes): { value: JsonValue } | undefined {
  return outcomes.flatMap((outcome) => (outcome?.type === 'result' && outcome.finalAnswer !== undefined ? [outcome.finalAnswer] : []))[0];
}
