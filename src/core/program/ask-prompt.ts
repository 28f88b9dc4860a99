import type { AskDocument, UnitDocument } from '../domain/program-document.ts';
import { interpolate, type Lookup } from './references.ts';

/** Returns the texts of an `ask` that may contain references: those of its unit, and its prompt. */
export function askPromptTexts(
  { persona, context, instructions = [] }: UnitDocument,
  { prompt }: AskDocument,
): { system: string[]; prompt: string } {
  const system = [persona ?? '', context ?? '', ...(typeof instructions === 'string' ? [instructions] : instructions)];
  return { system: system.filter((text) => text !== ''), prompt };
}

/** Returns the names of the anchors of an `ask`: those of its unit, and its own. */
export function anchorNames({ anchors: ofUnit = [] }: UnitDocument, { anchors = [] }: AskDocument): string[] {
  return [...new Set([...ofUnit, ...anchors])];
}

/** The texts of one model call of a program. */
export interface AskPrompt {
  /** The parts of the system prompt: persona, context, instructions, and the texts of the anchors. */
  instructions: string[];
  prompt: string;
}

/** The text between a prompt and its failure context. */
export const FAILURE_CONTEXT = '\n\nPrevious attempt failed: ';

/** A prompt with its failure context, or the problem of a reference. */
export type RenderedPrompt = ({ ok: true } & AskPrompt) | { ok: false; problem: string };

/** The parts of a prompt that its texts do not hold. */
export interface PromptParts {
  lookup: Lookup;
  /** Unknown references stay as written. */
  lenient: boolean;
  /** The texts of the anchors, in their order. */
  anchors: readonly string[];
  /** The text of the failure of the attempt before. */
  failure?: string;
  /** The prompt as a person has edited it. */
  edited?: string;
}

/** Renders the prompt of an `ask`. The same parts give the same bytes. */
export function renderAsk(
  unit: UnitDocument,
  ask: AskDocument,
  { lookup, lenient, anchors, failure, edited }: PromptParts,
): RenderedPrompt {
  const texts = askPromptTexts(unit, ask);
  const rendered: string[] = [];
  for (const text of [...texts.system, texts.prompt]) {
    const one = interpolate(text, lookup, { lenient });
    if (!one.ok) return { ok: false, problem: one.problem };
    rendered.push(one.value);
  }
  const own = edited ?? rendered.pop() ?? '';
  if (edited !== undefined) rendered.pop();
  const prompt = failure === undefined ? own : `${own}${FAILURE_CONTEXT}${failure}`;
  return { ok: true, instructions: [...rendered, ...anchors], prompt };
}
