// Programs: the agent of an `ask` with tools, as the input of its run.

import type { AgentDocument } from '../../../domain/agent/agent-document.ts';
import { oneLine } from '../../../domain/content/text.ts';
import type { AskDocument, StepDocument, UnitDocument } from '../../../domain/program/document.ts';
import type { RunInput } from '../../../domain/run/run-input.ts';
import { failureText } from '../../errors/failure-text.ts';
import { anchorNames, type RenderedPrompt, renderAsk } from '../../prompt/ask-prompt.ts';
import { indexOf } from '../../state/program-index.ts';
import type { ProgramRun } from '../program-run.ts';
import type { RunningStep } from '../record.ts';
import { lookupAt } from '../values.ts';

/** The most characters of the name of an agent. */
const MAX_NAME = 100;

/** The part of the input of a run that describes an `ask` with tools, and the length of its prompt. */
export type AskAgent = { ok: true; input: RunInput; promptLength: number } | Extract<RenderedPrompt, { ok: false }>;

/** Renders the prompt of an `ask` with tools, and describes its agent. Its tools get the deps of the program. */
export function askAgent(run: ProgramRun, running: RunningStep, step: StepDocument & { ask: AskDocument }): AskAgent {
  const { document } = run.program;
  const { unit } = indexOf(document).get(running.address.unit, step.name);
  const rendered = renderedPrompt(run, running, { unit, step });
  if (!rendered.ok) return rendered;
  const { deps } = run.state;
  const input: RunInput = {
    agent: oneLine(`${document.name}/${unit.name}.${step.name}`, MAX_NAME),
    document: agentDocument(run, { unit, step, instructions: rendered.instructions }),
    input: rendered.prompt,
    ...(Object.keys(deps).length === 0 ? {} : { deps }),
  };
  return { ok: true, input, promptLength: rendered.prompt.length };
}

/** A step that asks, in its unit. */
interface Asking {
  unit: UnitDocument;
  step: StepDocument & { ask: AskDocument };
}

function renderedPrompt({ program }: ProgramRun, { address, state }: RunningStep, { unit, step }: Asking): RenderedPrompt {
  const { failure, approved } = state.progress ?? {};
  const edited = approved?.arguments?.['prompt'];
  const isTold = failure !== undefined && step.refine?.passFailureContext !== false;
  return renderAsk(unit, step.ask, {
    lookup: lookupAt(program, address),
    lenient: program.document.lenient === true,
    anchors: [],
    ...(isTold ? { failure: failureText(failure.error) } : {}),
    ...(typeof edited === 'string' ? { edited } : {}),
  });
}

function agentDocument(
  { program: { document } }: ProgramRun,
  { unit, step, instructions }: Asking & { instructions: string[] },
): AgentDocument {
  const { ask, name } = step;
  const { model = document.model ?? '', tools = [], output, type, confidenceFloor, requiredFields, range } = ask;
  const anchors = anchorNames(unit, ask);
  const effort = ask.effort ?? unit.effort;
  const settings = { ...(effort === undefined ? {} : { reasoningEffort: effort }), ...ask.settings };
  return {
    step: name,
    model,
    instructions,
    tools,
    ...(anchors.length === 0 ? {} : { anchors }),
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
    ...(output === undefined ? {} : { output }),
    ...(type === undefined ? {} : { type }),
    ...(confidenceFloor === undefined ? {} : { confidenceFloor }),
    ...(requiredFields === undefined ? {} : { requiredFields }),
    ...(range === undefined ? {} : { range }),
    ...(document.lenient === true ? { lenient: true } : {}),
  };
}
