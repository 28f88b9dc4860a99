import type { AnchorConstraint } from './anchor.ts';

/** Returns the text that an anchor adds to the system prompt: its name, then a line for each thing that it declares. */
export function anchorInstruction(anchor: AnchorConstraint): string {
  const { name, require, reject = [], enforce, confidenceFloor, unknownResponse, onViolation } = anchor;
  return [
    `[CONSTRAINT: ${name}]`,
    ...(require ? [`  REQUIRE: ${require}`] : []),
    ...(reject.length > 0 ? [`  REJECT: ${reject.join(', ')}`] : []),
    ...(enforce ? [`  ENFORCE: ${enforce}`] : []),
    ...(confidenceFloor === undefined ? [] : [`  CONFIDENCE FLOOR: ${confidenceFloor}`]),
    ...(unknownResponse ? [`  WHEN UNCERTAIN: "${unknownResponse}"`] : []),
    `  ON VIOLATION: ${onViolation === 'raise' ? 'raise AnchorBreachError' : onViolation}`,
  ].join('\n');
}
