import { type Anchor, BUILT_IN_ANCHORS, builtInAnchor, checkAnchors, severityOf } from '../../../../src/anchors/anchors.ts';
import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import type { Operation } from '../adapter.ts';
import { CaseProblem, text } from '../fields.ts';

/** Suite `axon.anchors`: the built-in anchors. */
export const axonAnchorOperations: Readonly<Record<string, Operation>> = {
  'anchor.list': { input: [], expect: ['names'], perform: () => ({ names: BUILT_IN_ANCHORS.map(({ name }) => name) }) },
  'anchor.check': { input: ['anchor', 'content'], expect: ['passed', 'violations'], perform: check },
  'anchor.meta': {
    input: ['anchor'],
    expect: ['require', 'reject', 'confidence_floor', 'unknown_response', 'on_violation', 'severity'],
    perform: ({ anchor }) => declared(named(anchor)),
  },
};

/** An anchor of a case warns or stops; there, both are a check that is not passed. */
async function check({ anchor, content }: JsonObject): Promise<JsonObject> {
  const { breaches, warnings } = await checkAnchors(text(content), [named(anchor)], { step: 'step' });
  const violations = [...breaches, ...warnings].flatMap((breach) => breach.violations);
  return { passed: violations.length === 0, violations };
}

function declared(anchor: Anchor): JsonObject {
  const { require = '', reject = [], confidenceFloor = null, unknownResponse = '', onViolation } = anchor;
  return {
    require,
    reject: [...reject],
    confidence_floor: confidenceFloor,
    unknown_response: unknownResponse,
    on_violation: onViolation,
    severity: severityOf(anchor),
  };
}

function named(name: JsonValue | undefined): Anchor {
  const anchor = builtInAnchor(text(name));
  if (anchor === undefined) throw new CaseProblem(`There is no anchor "${text(name)}"`);
  return anchor;
}
