import { describe, expect, it } from 'vitest';
import { type Anchor, builtInAnchor, checkAnchors } from '../../src/anchors/anchors.ts';
import { exhaustionFailure, failureText, formatError } from '../../src/core/program/step-errors.ts';
import { anchorFailure } from '../../src/core/program/ask.ts';
import { defineAnchor } from '../../src/define/define-anchor.ts';

const STEP = { step: 'Read' };
const STEP_PLACE = { step: 'Read', unit: 'Review' };

function builtIn(...names: string[]): Anchor[] {
  return names.map((name) => builtInAnchor(name)).filter((anchor) => anchor !== undefined);
}

function custom(check: Anchor['check'], onViolation: 'raise' | 'warn' = 'raise'): Anchor {
  return defineAnchor({ name: 'Mine', onViolation, check });
}

describe('an answer', () => {
  it('passes if no anchor finds anything', async () => {
    expect(await checkAnchors('Fine.', builtIn('NoHallucination', 'NoBias'), STEP)).toEqual({
      passed: true,
      checked: ['NoHallucination', 'NoBias'],
      breaches: [],
      warnings: [],
      excused: [],
    });
    expect(await checkAnchors('Fine.', [], STEP)).toMatchObject({ passed: true, checked: [] });
  });

  it('is checked with all anchors, also after a breach', async () => {
    const anchors = builtIn('RequiresCitation', 'NoBias', 'NoHallucination', 'AuditTrail');
    const verdict = await checkAnchors('I think liberals are odd.', anchors, STEP);
    expect(verdict).toMatchObject({
      passed: false,
      breaches: [
        { anchor: 'RequiresCitation', violations: [expect.stringMatching(/^Citation Breach/)] },
        { anchor: 'NoHallucination', violations: ['Hedging without citation: i think'] },
      ],
      warnings: [
        { anchor: 'NoBias', violations: ['Potential bias detected: liberals are'] },
        { anchor: 'AuditTrail', violations: [expect.stringMatching(/^No reasoning trace/)] },
      ],
    });
  });

  it('passes with warnings if the anchors only warn', async () => {
    const verdict = await checkAnchors('Liberals are odd.', builtIn('NoBias'), STEP);
    expect(verdict.passed).toBe(true);
    expect(verdict.warnings).toHaveLength(1);
  });

  it('that admits that the model does not know needs no evidence, if AgnosticFallback is there', async () => {
    const honest = 'I do not know, but I think not.';
    expect(await checkAnchors(honest, builtIn('RequiresCitation', 'NoHallucination', 'AgnosticFallback'), STEP)).toMatchObject({
      passed: true,
      checked: ['AgnosticFallback'],
      excused: ['RequiresCitation', 'NoHallucination'],
    });
    expect((await checkAnchors(honest, builtIn('RequiresCitation'), STEP)).passed).toBe(false);
  });

  it('that merely does not guess needs evidence', async () => {
    const verdict = await checkAnchors('Paris is in France.', builtIn('RequiresCitation', 'AgnosticFallback'), STEP);
    expect(verdict.breaches.map(({ anchor }) => anchor)).toEqual(['RequiresCitation']);
  });
});

describe("an anchor of one's own", () => {
  it('learns the text and the step, and may answer later', async () => {
    const verdict = await checkAnchors('text', [custom((text, { step }) => Promise.resolve([`${text} of ${step}`]))], STEP);
    expect(verdict.breaches).toEqual([{ anchor: 'Mine', violations: ['text of Read'] }]);
  });

  it.each<[string, Anchor['check']]>([
    [
      'no connection',
      () => {
        throw new Error('no connection');
      },
    ],
    ['refused', () => Promise.reject(new Error('refused'))],
    [
      '[What was thrown cannot be shown as text]',
      () => {
        throw Object.create(null);
      },
    ],
    ['its check returned undefined, not a list of texts', () => undefined as never],
    ['its check returned true, not a list of texts', () => true as never],
    ['its check returned 1,2, not a list of texts', () => [1, 2] as never],
  ])('that cannot be checked is a breach: %s', async (reason, check) => {
    const verdict = await checkAnchors('text', [custom(check), ...builtIn('NoHallucination')], STEP);
    expect(verdict).toMatchObject({
      passed: false,
      checked: ['Mine', 'NoHallucination'],
      breaches: [{ anchor: 'Mine', violations: [`Mine could not be checked: ${reason}`] }],
    });
  });

  it('that warns and cannot be checked is a warning', async () => {
    const verdict = await checkAnchors('text', [custom(() => Promise.reject(new Error('x')), 'warn')], STEP);
    expect(verdict).toMatchObject({ passed: true, warnings: [{ violations: ['Mine could not be checked: x'] }] });
  });

  it('may find a lot, and the beginning is recorded', async () => {
    const many = Array.from({ length: 1_000 }, () => 'v'.repeat(100_000));
    const { breaches } = await checkAnchors('text', [custom(() => many)], STEP);
    expect(breaches[0]?.violations).toHaveLength(51);
    expect(breaches[0]?.violations.at(-1)).toBe('950 more violations');
    expect(JSON.stringify(breaches).length).toBeLessThan(110_000);
  });
});

describe('the failure of an attempt', () => {
  it('lists the breaches, and not the warnings', async () => {
    const verdict = await checkAnchors('I think liberals are odd.', builtIn('NoBias', 'NoHallucination', 'FactualOnly'), STEP);
    const failure = anchorFailure(verdict, STEP_PLACE);
    expect(failure.context.anchorName).toBe('NoHallucination');
    expect(failureText(failure)).toBe('The answer breaches the anchor "NoHallucination": Hedging without citation: i think');
    expect(formatError(failure)).toBe(
      [
        '[L3] AnchorBreachError: L3 Anchor breach detected:',
        'Hedging without citation: i think',
        '  step: Read',
        '  flow: Review',
        '  details: Hedging without citation: i think',
      ].join('\n'),
    );
  });

  it('is told in plain words once, even if the violations are long', async () => {
    const verdict = await checkAnchors('Personally, I think so.', builtIn('NoHallucination', 'FactualOnly'), STEP);
    const failure = anchorFailure(verdict, STEP_PLACE);
    const text = [
      'The answer breaches the anchors "NoHallucination", "FactualOnly":',
      'Hedging without citation: i think',
      'Opinion markers detected: personally',
    ].join('\n');
    expect(failureText(failure)).toBe(text);
    expect(failureText(exhaustionFailure(2, failure, STEP_PLACE))).toBe(
      `All 2 refine attempts exhausted for step 'Read'. The last one: ${text}`,
    );
    const long = anchorFailure({ ...verdict, breaches: [{ anchor: 'Mine', violations: ['v'.repeat(20_000)] }] }, STEP_PLACE);
    expect(failureText(long).length).toBeLessThan(8_100);
    expect(formatError(long)).toMatch(/^\[L3] AnchorBreachError: L3 Anchor breach detected:\nvvv/);
  });
});
