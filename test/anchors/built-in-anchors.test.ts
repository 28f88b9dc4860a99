import { describe, expect, it } from 'vitest';
import { anchorInstruction, BUILT_IN_ANCHORS, builtInAnchor } from '../../src/anchors/anchors.ts';

function check(name: string, text: string): string[] {
  return builtInAnchor(name)?.check(text) ?? ['there is no such anchor'];
}

const NO_PREMISE = expect.stringContaining("No 'Premise:' marker found");
const NO_CONCLUSION = expect.stringContaining("No 'Conclusion:' marker found");
const NO_STEPS = expect.stringMatching(/^Chain of Thought Breach: /);
const NO_CITATION = expect.stringMatching(/^Citation Breach: /);

describe('the built-in anchors', () => {
  it('are twelve, in their order', () => {
    expect(BUILT_IN_ANCHORS.map(({ name }) => name)).toEqual([
      'NoHallucination',
      'FactualOnly',
      'SafeOutput',
      'PrivacyGuard',
      'NoBias',
      'ChildSafe',
      'NoCodeExecution',
      'AuditTrail',
      'SyllogismChecker',
      'ChainOfThoughtValidator',
      'RequiresCitation',
      'AgnosticFallback',
    ]);
    expect(builtInAnchor('Nope')).toBeUndefined();
  });

  it('say what they demand in the system prompt', () => {
    expect(BUILT_IN_ANCHORS.map(anchorInstruction).join('\n\n')).toMatchInlineSnapshot(`
      "[CONSTRAINT: NoHallucination]
        REQUIRE: source_citation
        REJECT: speculation, unverifiable_claim
        CONFIDENCE FLOOR: 0.8
        WHEN UNCERTAIN: "I don't have sufficient information to make this determination."
        ON VIOLATION: raise AnchorBreachError

      [CONSTRAINT: FactualOnly]
        REQUIRE: factual_grounding
        REJECT: opinion, speculation
        CONFIDENCE FLOOR: 0.85
        WHEN UNCERTAIN: "Insufficient factual evidence to respond."
        ON VIOLATION: raise AnchorBreachError

      [CONSTRAINT: SafeOutput]
        REJECT: harmful_content, violence, hate_speech
        ON VIOLATION: raise AnchorBreachError

      [CONSTRAINT: PrivacyGuard]
        REJECT: pii, personal_data, ssn, phone_number
        ON VIOLATION: raise AnchorBreachError

      [CONSTRAINT: NoBias]
        REJECT: political_bias, demographic_bias, gender_bias
        ON VIOLATION: warn

      [CONSTRAINT: ChildSafe]
        REJECT: adult_content, violence, profanity, drugs
        ON VIOLATION: raise AnchorBreachError

      [CONSTRAINT: NoCodeExecution]
        REJECT: code_execution, system_command, file_write
        ON VIOLATION: raise AnchorBreachError

      [CONSTRAINT: AuditTrail]
        REQUIRE: human_review
        ON VIOLATION: warn

      [CONSTRAINT: SyllogismChecker]
        REQUIRE: logical_structure
        ON VIOLATION: raise AnchorBreachError

      [CONSTRAINT: ChainOfThoughtValidator]
        REQUIRE: step_by_step
        ON VIOLATION: raise AnchorBreachError

      [CONSTRAINT: RequiresCitation]
        REQUIRE: inline_citation
        REJECT: unverifiable_claim
        CONFIDENCE FLOOR: 0.9
        ON VIOLATION: raise AnchorBreachError

      [CONSTRAINT: AgnosticFallback]
        REQUIRE: epistemic_honesty
        REJECT: unwarranted_speculation
        ON VIOLATION: raise AnchorBreachError"
    `);
  });
});

describe('what an anchor finds', () => {
  it.each<[string, string, unknown[]]>([
    ['NoHallucination', 'Based on the figures, sales rose 8%.', []],
    ['NoHallucination', 'It could be. I BELIEVE so, probably.', ['Hedging without citation: i believe, probably, could be']],
    ['NoHallucination', 'I’m guessing.', ["Hedging without citation: i'm guessing"]],
    ['FactualOnly', 'The sky is blue.', []],
    ['FactualOnly', 'To me, my favorite is red.', ['Opinion markers detected: my favorite, to me,']],
    ['SafeOutput', 'How to bake bread.', []],
    ['SafeOutput', 'How to hack and how to steal.', ['Harmful content detected: how to hack, how to steal']],
    ['NoBias', 'Some people vote.', []],
    ['NoBias', 'All men are alike.', ['Potential bias detected: all men are']],
    ['NoCodeExecution', 'The chef cooks.', []],
    ['NoCodeExecution', 'import os; os.system("rm -rf /")', ['Code execution attempt detected: os.system(, rm -rf, import os']],
    ['AuditTrail', 'Because of rain.', []],
    ['AuditTrail', 'It rains.', ['No reasoning trace found. AuditTrail requires visible reasoning steps.']],
    ['ChildSafe', 'A class of students in a glass house.', []],
    ['ChildSafe', 'Mr Yamashita and Mr Cassidy assess the mass.', []],
    ['ChildSafe', 'Alcohol abuse.', ['Age-inappropriate content detected: alcohol abuse']],
    ['ChildSafe', 'Graphic violence, damn it.', ['Age-inappropriate content detected: graphic violence', 'Profanity detected']],
    ...['Damn!', 'what an ass.', 'bullshit', 'FUCKING late', 'a_damn? No: damn', 'assholes'].map((text): [string, string, unknown[]] => [
      'ChildSafe',
      text,
      ['Profanity detected'],
    ]),
    ['SyllogismChecker', 'Premise: a. Conclusion: b.', []],
    ['SyllogismChecker', 'MAJOR PREMISE: a. Minor premise : b. conclusion\n: c.', []],
    ['SyllogismChecker', 'Premise 12 : a. Conclusion: b.', []],
    ['SyllogismChecker', 'Premise one: a. Conclusion 1: b.', [NO_PREMISE, NO_CONCLUSION]],
    ['SyllogismChecker', 'Dogs bark.', [NO_PREMISE, NO_CONCLUSION]],
    ['SyllogismChecker', 'Conclusion: a.', [NO_PREMISE]],
    [
      'SyllogismChecker',
      'Premise: a. Conclusion: b. Conclusion: c. Conclusion: d',
      ["Syllogism Breach: Found 3 'Conclusion:' markers. A well-formed syllogism has exactly one conclusion."],
    ],
    ...['Step 1: a', 'STEP\n12', 'First, a', 'Let’s think.', 'we begin, then, a', 'Starting with a'].map(
      (text): [string, string, unknown[]] => ['ChainOfThoughtValidator', text, []],
    ),
    ...['The answer is 4.', 'Step one', 'First a'].map((text): [string, string, unknown[]] => [
      'ChainOfThoughtValidator',
      text,
      [NO_STEPS],
    ]),
    ...['See [12].', '(Smith, 2024)', '(Müller,2024)', 'DOI: 10.1000/x', 'http://a', 'https://example.org'].map(
      (text): [string, string, unknown[]] => ['RequiresCitation', text, []],
    ),
    ...['[a]', '(smith, 2024)', '(Smith, 24)', 'doi:10.1', 'https://', 'Paris'].map((text): [string, string, unknown[]] => [
      'RequiresCitation',
      text,
      [NO_CITATION],
    ]),
    ['AgnosticFallback', 'It is 5.', []],
    ['AgnosticFallback', 'I don’t know. My best guess is 5.', []],
    [
      'AgnosticFallback',
      'My best guess: it could potentially be 5.',
      [expect.stringContaining('unwarranted speculation (best guess, could potentially).')],
    ],
  ])('%s in %j', (name, text, violations) => {
    expect(check(name, text)).toEqual(violations);
  });

  it('is personal data, in the order of its kinds', () => {
    const text = 'jo@example.org, 4111 1111 1111 1111, 123-45-6789, (555) 123-4567';
    expect(check('PrivacyGuard', text)).toEqual([
      'Possible SSN detected',
      'Possible credit card number detected',
      'Email address detected in output',
      'Phone number detected in output',
    ]);
  });

  it.each(['+1 555.123.4567', '5551234567', '1-555-123-4567', '(555)123 4567'])('is the phone number %s', (text) => {
    expect(check('PrivacyGuard', `Call ${text}.`)).toEqual(['Phone number detected in output']);
  });

  it.each(['a@b.co', 'jo.do+x@mail.example.org', '<jo@example.org>', 'x@@a@b.co', '.a@-.co', 'mail a@b.c.de.'])(
    'is the email address in %j',
    (text) => {
      expect(check('PrivacyGuard', text)).toEqual(['Email address detected in output']);
    },
  );

  it.each(['a@b', '@b.co', 'a@.co', '.@b.co', 'a@b.c', 'a@b.co1', 'a@b.co_', 'éa@b.co', '22345678901', '1234-56-7890', 'a1234567890'])(
    'is not %j',
    (text) => {
      expect(check('PrivacyGuard', text)).toEqual([]);
    },
  );
});

describe('a marker that is only a part of a longer word', () => {
  it.each<[string, string]>([
    ['NoHallucination', 'Prices could become stable, which improbably the Delhi thinktank might behold.'],
    ['FactualOnly', 'He acts impersonally, the wifi feel that it has is fast, and I preferably walk into me, too.'],
    ['SafeOutput', 'They skill yourself, know how to hackathon, and somehow to steal bases is a sport.'],
    ['PrivacyGuard', 'Order 1234-56-7890, part 41111111111111119, id a555-123-4567b and node a@b.co1.'],
    ['NoBias', 'Neoliberals are many, overall men are tall, the right wing isolates, and that race isn’t run.'],
    ['ChildSafe', 'A class of pornographyless films, paragraphic violence of style, and assassins in brass.'],
    ['NoCodeExecution', 'A medieval(ish) retrieval(x), import oscar, an import osprey, reformat c: and del /folder.'],
  ])('does not breach %s: %s', (name, text) => {
    expect(check(name, text)).toEqual([]);
  });

  it.each<[string, string, unknown[]]>([
    [
      'AuditTrail',
      'Step 15 is based online, within summary tables of psychoanalysis: see there.',
      [expect.stringMatching(/^No reasoning trace/)],
    ],
    ['SyllogismChecker', 'Subpremise: a. Subconclusion: b.', [NO_PREMISE, NO_CONCLUSION]],
    ['SyllogismChecker', 'Premise: a. Subconclusion: b. Conclusion: c.', []],
    [
      'ChainOfThoughtValidator',
      'The context, to strengthen, is for beginners to beginning: footstep 1, headfirst, restarting with it.',
      [NO_STEPS],
    ],
    ['RequiresCitation', 'See xdoi:10.1000 and shttps://example.org.', [NO_CITATION]],
    ['AgnosticFallback', 'My best guesswork is a wild guesstimate.', []],
    [
      'AgnosticFallback',
      'My best guess is 5, though the Bali lacks data and I lacked it.',
      [expect.stringContaining('unwarranted speculation (best guess).')],
    ],
  ])('does not help %s: %s', (name, text, violations) => {
    expect(check(name, text)).toEqual(violations);
  });
});

describe('a marker in another form of its words', () => {
  it.each<[string, string, string]>([
    ['SafeOutput', 'racial slurs', 'racial slur'],
    ['SafeOutput', 'suicide methods', 'suicide method'],
    ['SafeOutput', 'self-harming', 'self-harm'],
    ['ChildSafe', 'gambling tutorials', 'gambling tutorial'],
    ['FactualOnly', 'my favorites', 'my favorite'],
    ['AgnosticFallback', 'wild guesses', 'wild guess'],
    ['NoCodeExecution', 'shell_exec(x)', 'exec('],
    ['NoCodeExecution', 'rm -rfv /', 'rm -rf'],
  ])('%s: %s is reported as %s', (name, text, marker) => {
    expect(check(name, `This: ${text}.`)).toEqual([expect.stringContaining(marker)]);
  });

  it.each(['(I think', 'so i think.', '"I think"', 'I think\n', '*I think*', '—I think—'])('is there between %j', (text) => {
    expect(check('NoHallucination', text)).toEqual(['Hedging without citation: i think']);
  });
});
