import type { RecordPage } from '../protocol.ts';
import { jsonBytes } from '../domain/json/payload-limit.ts';
import { page } from './pages.ts';
import type { QueriedRun } from './queried-run.ts';

/** Argument of the `record` query. Any other value means the beginning. */
export interface RecordQuestion {
  /** Offset of the first event to return. */
  from?: unknown;
  /** Index of the first step to return. */
  step?: unknown;
}

/** Bytes of events and steps in one answer, which is one payload of at most 2 MiB. */
const ANSWER_BYTES = 1_800_000;

/** Answers the `record` query with events and steps of this execution. A page that would begin before them begins with the first. */
export function recordPage({ state }: QueriedRun, question: RecordQuestion): RecordPage {
  const { events = [], currentStep: counted = 0 } = state?.context ?? {};
  // A program counts its model calls, and has no steps of an agent.
  const currentStep = state?.program === undefined ? counted : 0;
  const { steps = [], firstOffset = 0, status = 'running' } = state ?? {};
  const firstStep = currentStep - steps.length;
  const paged = page(events, index(question.from) - firstOffset);
  return {
    version: 1,
    status,
    firstOffset,
    events: paged,
    total: firstOffset + events.length,
    firstStep,
    steps: page(steps, index(question.step) - firstStep, ANSWER_BYTES - jsonBytes(paged)),
    totalSteps: currentStep,
  };
}

function index(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.floor(value) : 0;
}
