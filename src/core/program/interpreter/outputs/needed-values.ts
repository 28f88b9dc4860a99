// Programs: the values that the run itself needs. Activities find those of prompts and of the memory by themselves.

import type { JsonValue } from '../../../domain/json.ts';
import type { StepDocument, UnitDocument } from '../../../domain/program-document.ts';
import type { ProgramState, StepProgress } from '../../../domain/program-run.ts';
import { shownOf } from '../approve.ts';
import { askTexts } from '../../prompt/ask-prompt.ts';
import { addressText, type StepAddress } from '../../state/address.ts';
import { indexOf } from '../../state/program-index.ts';
import { comparedValues } from '../../state/reusable.ts';

/** Returns a value with the references that decide if a step runs at all: those of its condition, and all if an earlier run has its output. */
export function neededBefore({ document, earlier }: ProgramState, address: StepAddress, { when }: StepDocument): JsonValue {
  const at = addressText(address);
  const isCompared = earlier?.outputs.some(([text]) => text === at) === true;
  return [
    when === undefined ? null : { of: when.of },
    isCompared ? comparedValues(indexOf(document).get(address.unit, address.step)) : null,
  ];
}

/** Returns a value with the references that the run resolves for a step, in the present position of the step. */
export function neededByRun(unit: UnitDocument, step: StepDocument, { held, child, approved }: StepProgress = {}): JsonValue {
  if (held !== undefined || child !== undefined) return null;
  // A person is shown what is about to happen.
  const shown = step.approval !== undefined && approved === undefined ? shownOf(step) : null;
  const { ask, tool, agent, program, human, sleep, branch, forEach } = step;
  if (branch !== undefined) return branch.cases.map(({ when }) => ({ of: when.of }));
  if (forEach !== undefined) return { in: forEach.in };
  if (tool !== undefined) return tool.arguments ?? null;
  // The input of the run of an `ask` with tools has its texts.
  if (ask?.tools !== undefined) return [{ ...askTexts(unit, ask) }, shown];
  if (agent !== undefined) return [agent.input, agent.deps ?? null, shown];
  return [program?.input ?? human?.question ?? sleep?.for ?? null, shown];
}
