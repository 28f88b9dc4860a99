import type { AnchorVerdict } from '../../domain/program/anchor-verdict.ts';
import type { ProgramDocument } from '../../domain/program/document.ts';
import type { AnswerVerdict } from '../../domain/program/verdict.ts';
import type { IndexedStep } from '../state/program-index.ts';
import { type EventPlace, type TraceEvent, traceEvent } from '../../domain/trace/trace-event.ts';

/** The step whose answer was checked, in its document. */
export interface AnsweredStep {
  indexed: IndexedStep;
  document: ProgramDocument;
}

/**
 * Returns the events of the checks of an answer: anchors in the order of the document, then the validation. The validator comes last,
 * and only if no anchor stops the answer.
 */
export function answerEvents(verdict: AnswerVerdict, step: AnsweredStep, place: EventPlace): TraceEvent[] {
  const { anchors } = verdict;
  if (verdict.empty) return [];
  const checks = anchors === undefined ? [] : anchorEvents(anchors, step.indexed, place);
  return anchors?.passed === false ? checks : [...checks, ...validationEvents(verdict, step, place)];
}

function anchorEvents(verdict: AnchorVerdict, { unit, step }: IndexedStep, place: EventPlace): TraceEvent[] {
  const names = [...new Set([...(unit.anchors ?? []), ...(step.ask?.anchors ?? [])])];
  return names.flatMap((anchor) => {
    if (verdict.excused.includes(anchor))
      return [traceEvent('anchor_pass', place, { anchor, passed: true, reason: 'bypassed_by_agnostic_fallback' })];
    if (!verdict.checked.includes(anchor)) return [];
    const check = traceEvent('anchor_check', place, { anchor_name: anchor });
    const breach = [...verdict.breaches, ...verdict.warnings].find((one) => one.anchor === anchor);
    if (breach === undefined) return [check, traceEvent('anchor_pass', place, { anchor, passed: true })];
    const severity = verdict.warnings.includes(breach) ? 'warning' : 'error';
    return [check, traceEvent('anchor_breach', place, { anchor, passed: false, severity, violations: breach.violations })];
  });
}

function validationEvents(
  { violations, misfit, confidence }: AnswerVerdict,
  { indexed, document }: AnsweredStep,
  place: EventPlace,
): TraceEvent[] {
  const { type, confidenceFloor: floor } = indexed.step.ask ?? {};
  const expected = type === undefined ? {} : { expected_type: type };
  if (misfit !== undefined) return [traceEvent('validation_fail', place, { ...expected, violations: [misfit] })];
  if (violations === undefined) return [];
  const messages = violations.map(({ message }) => message);
  const data = { ...expected, ...(messages.length === 0 ? {} : { violations: messages }) };
  const isValid = violations.every(({ severity }) => severity !== 'error');
  const validation = traceEvent(isValid ? 'validation_pass' : 'validation_fail', place, data);
  // AXON's executor has no event of its own for the confidence, which it validates with the rest.
  if (floor === undefined || confidence === undefined || document.lenient === true) return [validation];
  return [traceEvent('confidence_check', place, { score: confidence, floor, passed: confidence >= floor }), validation];
}
