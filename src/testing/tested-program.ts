import type { JsonObject } from '../core/domain/json.ts';
import type { ExecutionTrace } from '../core/domain/trace.ts';
import type { ProgramResult } from '../core/domain/result.ts';
import type { Anchor } from '../anchors/anchors.ts';
import type { AnyProgram, GivenInputOf } from '../define/program/program-definition.ts';
import type { Resources } from '../define/context.ts';
import type { MemoryStore } from '../memory/memory-store.ts';
import type { EffectsLedger } from './effects-ledger.ts';
import type { TestCircumstances, TestedRecord } from './tested-run.ts';

/** The options of a test of a program. */
export interface ProgramTestOptions<Program = AnyProgram> extends Omit<TestCircumstances, 'input' | 'settings'> {
  input?: GivenInputOf<Program>;
  /** Data of the run for its tools. */
  deps?: JsonObject;
  /** Anchors of one's own that the program names. */
  anchors?: readonly Anchor[];
  /** The memory of the program. Default: a new one in the process. */
  memory?: MemoryStore;
  /** The live objects that its tools use. */
  resources?: Resources;
}

/** The outcome of a test of a program. */
export interface TestedProgram<Output> extends Omit<TestedRecord, 'steps'> {
  readonly result: ProgramResult<Output>;
  /** The trace of the run. */
  readonly trace: ExecutionTrace;
  readonly ledger: EffectsLedger;
}
