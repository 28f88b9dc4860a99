import type { JsonObject } from '../../core/domain/json.ts';
import type { StepDocument, StepKind, StepKinds, StepOptions, UnitDocument } from '../../core/domain/program-document.ts';
import type { ProgramUses } from './program-definition.ts';
import { NO_USES } from './program-uses.ts';

/** A step as the functions of `longhaul/program` return it. */
export interface ProgramStep {
  readonly kind: 'longhaul.step';
  readonly document: StepDocument;
  /** The definitions that it, and the steps inside it, were given. */
  readonly uses: readonly ProgramUses[];
}

/** A unit as `unit` returns it. */
export interface ProgramUnit {
  readonly kind: 'longhaul.unit';
  readonly document: UnitDocument;
  readonly uses: readonly ProgramUses[];
}

/** A step, or the part of a document that describes one. */
export type AnyStep = ProgramStep | StepDocument;

/** A unit, or the part of a document that describes one. */
export type AnyUnit = ProgramUnit | UnitDocument;

/** The options of a step that do not depend on its kind. */
export type CommonOptions = Omit<StepOptions, 'name'>;

/** The options of a step that holds other steps. */
export type BlockOptions = Pick<CommonOptions, 'when'>;

/** Every common option by its name. The compiler reports one that is missing here. */
const COMMON: Record<keyof CommonOptions, true> = { when: true, refine: true, timeout: true, approval: true, review: true };

/** Splits the options of a step into the common ones and those of its kind. */
export function splitOptions(options: object): { common: CommonOptions; own: JsonObject } {
  const entries = Object.entries(options);
  return {
    common: Object.fromEntries(entries.filter(([key]) => Object.hasOwn(COMMON, key))),
    own: Object.fromEntries(entries.filter(([key]) => !Object.hasOwn(COMMON, key))),
  };
}

/** Makes a step of a kind. The document is checked as a whole by `defineProgram`. */
export function makeStep<Kind extends StepKind>(
  name: string,
  { kind, body, common, uses = [] }: { kind: Kind; body: StepKinds[Kind]; common: CommonOptions; uses?: readonly ProgramUses[] },
): ProgramStep {
  return { kind: 'longhaul.step', document: { name, [kind]: body, ...common } as StepDocument, uses };
}

/** Returns the document of a step. */
export function stepDocument(step: AnyStep): StepDocument {
  return isMade(step, 'longhaul.step') ? step.document : step;
}

/** Returns the documents of steps. A value that is no list stays as it is, so that the check of the program finds it. */
export function stepDocuments(steps: readonly AnyStep[]): StepDocument[] {
  return Array.isArray(steps) ? steps.map(stepDocument) : (steps as StepDocument[]);
}

/** Returns the document of a unit. */
export function unitDocument(unit: AnyUnit): UnitDocument {
  return isMade(unit, 'longhaul.unit') ? unit.document : unit;
}

/** Lists what steps or units use. */
export function usesOf(parts: readonly (AnyStep | AnyUnit)[]): ProgramUses[] {
  if (!Array.isArray(parts)) return [NO_USES];
  return parts.flatMap((part: AnyStep | AnyUnit) => (isMade(part, 'longhaul.step') || isMade(part, 'longhaul.unit') ? part.uses : []));
}

function isMade<Kind extends string>(part: object, kind: Kind): part is Extract<ProgramStep | ProgramUnit, { kind: Kind }> {
  return typeof part === 'object' && part !== null && 'kind' in part && part.kind === kind;
}
