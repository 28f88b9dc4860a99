import { shownValue } from '../core/domain/text.ts';
import { type Anchor, type AnchorConstraint, builtInAnchor } from '../anchors/anchors.ts';
import { UsageError } from '../core/domain/errors.ts';
import { nonEmpty, type OptionTable, requireKnown } from './option-checks.ts';

/** The options of `defineAnchor`. */
export interface AnchorOptions extends Omit<AnchorConstraint, 'onViolation'> {
  /** `raise`: a breach fails the attempt (default). `warn`: a breach is recorded, and the answer passes. */
  onViolation?: AnchorConstraint['onViolation'];
  /** Returns the violations in an answer, as sentences, or an empty list. Runs in the worker. If it throws, the anchor is breached. */
  check: Anchor['check'];
}

const ANCHOR_OPTIONS: OptionTable<AnchorOptions> = {
  name: true,
  require: true,
  reject: true,
  enforce: true,
  confidenceFloor: true,
  unknownResponse: true,
  onViolation: true,
  check: true,
};

const ANCHOR_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Defines an anchor: a named check of a model's answers that programs refer to. Its constraint is added to the system prompt of the
 * steps that use it. Throws a UsageError for options that cannot work, and for the name of a built-in anchor.
 *
 * @example
 * ```ts
 * const noPrices = defineAnchor({
 *   name: 'NoPrices',
 *   reject: ['prices'],
 *   check: (text) => (text.includes('€') ? ['The answer names a price'] : []),
 * });
 * ```
 */
export function defineAnchor(options: AnchorOptions): Anchor {
  const owner = `anchor "${checkName(options.name)}"`;
  requireKnown(owner, options, ANCHOR_OPTIONS);
  const { name, require, reject, enforce, confidenceFloor, unknownResponse, onViolation = 'raise', check } = options;
  if (typeof check !== 'function') throw new UsageError(`${owner}: "check" is missing: write (text) => [...] with the violations`);
  if (onViolation !== 'raise' && onViolation !== 'warn') {
    throw new UsageError(`${owner}: "onViolation" is ${JSON.stringify(onViolation)}: write "raise" or "warn"`);
  }
  return Object.freeze({
    name,
    ...(require === undefined ? {} : { require: nonEmpty(`${owner}: "require"`, require) }),
    ...(reject === undefined ? {} : { reject: checkReject(owner, reject) }),
    ...(enforce === undefined ? {} : { enforce: nonEmpty(`${owner}: "enforce"`, enforce) }),
    ...(confidenceFloor === undefined ? {} : { confidenceFloor: checkFloor(owner, confidenceFloor) }),
    ...(unknownResponse === undefined ? {} : { unknownResponse: nonEmpty(`${owner}: "unknownResponse"`, unknownResponse) }),
    onViolation,
    check,
  });
}

function checkName(name: unknown): string {
  if (typeof name !== 'string' || !ANCHOR_NAME.test(name)) {
    throw new UsageError(`anchor ${JSON.stringify(name) ?? 'without a name'}: use 1 to 64 letters, digits, "_" or "-" as "name"`);
  }
  if (builtInAnchor(name) === undefined) return name;
  throw new UsageError(`anchor "${name}": this is the name of a built-in anchor: give yours another one`);
}

function checkReject(owner: string, reject: unknown): readonly string[] {
  if (!Array.isArray(reject)) throw new UsageError(`${owner}: "reject" is ${JSON.stringify(reject)}: write a list of texts`);
  return reject.map((one, index) => nonEmpty(`${owner}: "reject[${index}]"`, one));
}

function checkFloor(owner: string, floor: number): number {
  if (floor >= 0 && floor <= 1) return floor;
  throw new UsageError(`${owner}: "confidenceFloor" is ${shownValue(floor)}: write a number from 0 to 1`);
}
